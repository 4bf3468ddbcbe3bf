/** Charts of the whole chain, or of its end. */

import { grouped } from '../../shared/amounts.js';
import { Loaded } from '../../shared/components/notice.js';
import { Page } from '../../shared/components/page.js';
import { node } from '../../shared/node.js';
import { usePlace } from '../../shared/router.js';
import { useResource } from '../../shared/use-resource.js';
import { useChain, useThrottled } from '../chain/use-chain.js';
import { ChainCharts } from '../chain-charts.js';
import { NeedsIndex } from '../parts.js';

/** Points of a chart, at most. */
const POINTS = 300;
const AT_MOST_EVERY_MS = 5_000;
const SPANS = [300, 3_000, 30_000, 300_000] as const;

export function ChartsPage() {
  const { source, height } = useChain();
  const { query } = usePlace();
  const tip = useThrottled(height, AT_MOST_EVERY_MS);
  const span = SPANS.find((one) => String(one) === query.get('last'));
  const step = tip === undefined ? undefined : Math.max(1, Math.ceil(Math.min(span ?? tip, tip + 1) / POINTS));
  const blocks = useResource(
    source === 'index' && step !== undefined ? `charts/${span}/${step}` : undefined,
    async (signal) => (await node.getChainBlocks({ limit: POINTS, step: step ?? 1 }, { signal })).blocks,
    tip,
  );
  const spans = SPANS.filter((one) => one <= (tip ?? 0));
  return (
    <Page title="Charts">
      {source === 'stored' ? (
        <NeedsIndex what="Charts" />
      ) : (
        <>
          <nav class="tabs" aria-label="Blocks in the charts">
            {spans.map((one) => (
              <a key={one} href={`/charts?last=${one}`} aria-current={one === span ? 'page' : undefined}>
                Last {grouped(one)} blocks
              </a>
            ))}
            <a href="/charts" aria-current={span === undefined ? 'page' : undefined}>
              All blocks
            </a>
          </nav>
          <Loaded resource={blocks} what="blocks">
            {(found) => <ChainCharts blocks={found} />}
          </Loaded>
          <p class="hint">
            {step !== undefined && step > 1 && `Each point stands for ${grouped(step)} blocks. `}
            Choose a point with the pointer, or with the arrow keys.
          </p>
          <p>
            <a href="/richest">The richest addresses</a>
          </p>
        </>
      )}
    </Page>
  );
}
