/** Page for operators: whether the node is ready, why not, and whether blocks come at their pace. */

import { grouped } from '../../shared/amounts.js';
import { Fact, Facts } from '../../shared/components/facts.js';
import { Failed } from '../../shared/components/notice.js';
import { Page } from '../../shared/components/page.js';
import { When } from '../../shared/components/when.js';
import { node } from '../../shared/node.js';
import { useNode } from '../../shared/use-node.js';
import { useResource } from '../../shared/use-resource.js';
import { useStream } from '../../shared/use-stream.js';
import { useChain, useThrottled } from '../chain/use-chain.js';
import { useRecentBlocks } from '../chain/use-recent-blocks.js';
import { ChainCharts } from '../chain-charts.js';
import { byteSize, duration, intervals, median } from '../figures.js';
import { useMempool } from '../use-mempool.js';
import { PROGRAM_VERSION } from '../version.js';
import { HealthView } from './network.js';

const AT_MOST_EVERY_MS = 2_000;
const BLOCKS = 60;

export function StatusPage() {
  const { height, index } = useChain();
  const { state, version } = useStream();
  const tip = useThrottled(height, AT_MOST_EVERY_MS);
  const health = useResource('status', (signal) => node.getReadiness({}, { signal }), `${version}/${state}/${tip}`);
  const { value: blocks = [] } = useRecentBlocks(BLOCKS, false);
  const { value: mempool } = useMempool();
  const facts = useNode();
  const times = intervals(blocks).map(({ y }) => y);
  const usual = median(times);
  const role = facts?.node_type.toLowerCase() ?? 'ROLE';
  return (
    <Page title="Status">
      <section class="panel" aria-label="Status of this node">
        <Facts>
          <Fact name="Ready">{health.value === undefined ? '…' : <HealthView health={health.value} />}</Fact>
          <Fact name="Last block">
            {blocks[0] === undefined ? (
              '…'
            ) : (
              <>
                {grouped(blocks[0].block_num)}, <When seconds={blocks[0].time} hasAge />
              </>
            )}
          </Fact>
          <Fact name="Pace">
            {usual === undefined ? (
              <span class="none">not known yet</span>
            ) : (
              `${duration(usual)} between blocks (median of ${grouped(times.length)}), ${duration(Math.max(...times))} at most`
            )}
          </Fact>
          {mempool !== undefined && (
            <Fact name="Waiting">
              <a href="/mempool">{grouped(mempool.transactions)} transactions</a>, {byteSize(mempool.bytes)}
            </Fact>
          )}
          <Fact name="Index of the chain">
            {index === undefined ? 'none' : index.state}
            {index?.problem != null && <bdi>: {index.problem}</bdi>}
          </Fact>
          <Fact name="Version">{PROGRAM_VERSION}</Fact>
          <Fact name="On its machine">
            <code>tessera doctor --role {role}</code> examines disk, memory, clock, configuration and links, and says
            what to do.
          </Fact>
        </Facts>
      </section>
      {health.error !== undefined && <Failed error={health.error} retry={health.reload} />}
      {blocks.length > 1 && <ChainCharts blocks={blocks} />}
    </Page>
  );
}
