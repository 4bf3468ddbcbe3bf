/** Page for operators: whether the node is ready, why not, whether blocks come at their pace, and what can be examined from here. */

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
import { type Finding, findings } from '../findings.js';
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
  const peers = useResource('peers', (signal) => node.getDebug({}, { signal }), `${version}/${state}/${tip}`);
  const clock = useResource('clock', clockAhead, version);
  const age = blocks[0] && Date.now() / 1_000 - Number(blocks[0].time) + (clock.value ?? 0);
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
          <Fact name="Version">{PROGRAM_VERSION}</Fact>
        </Facts>
      </section>
      <Findings
        role={facts?.node_type.toLowerCase() ?? ''}
        found={findings({
          health: health.value,
          clock: clock.value,
          peers: peers.value?.node_peers,
          version: PROGRAM_VERSION,
          age,
          usual,
          waiting: mempool?.transactions,
          index,
        })}
      />
      {health.error !== undefined && <Failed error={health.error} retry={health.reload} />}
      {blocks.length > 1 && <ChainCharts blocks={blocks} />}
    </Page>
  );
}

const VERDICTS = { ok: 'good', warn: 'wait', fail: 'bad' } as const;

function Findings({ found, role }: { readonly found: readonly Finding[]; readonly role: string }) {
  return (
    <section class="panel" aria-labelledby="findings">
      <h2 id="findings">Findings</h2>
      <ul class="lines findings">
        {found.map(({ check, verdict, found: text, advice }) => (
          <li key={`${check}/${text}`}>
            <span class={`tag ${VERDICTS[verdict]}`}>{verdict}</span>
            <span class="line-main">
              <bdi>{check}</bdi>: <bdi>{text}</bdi>
              {advice !== undefined && <span class="hint advice">→ {advice}</span>}
            </span>
          </li>
        ))}
      </ul>
      <p class="hint">
        This is what can be seen from this browser. On the machine of the node,{' '}
        <code>tessera doctor{/^[a-z]+$/.test(role) && ` --role ${role}`}</code> also examines its disk, files,
        certificates, configuration and ports.
      </p>
    </section>
  );
}

/** The clock of the node minus that of this browser, in seconds. */
async function clockAhead(signal: AbortSignal): Promise<number> {
  const asked = Date.now();
  const { headers } = await fetch('/livez', { signal, credentials: 'omit', cache: 'no-store' });
  // The date has whole seconds; ours is taken in the middle of the request.
  return (Date.parse(headers.get('date') ?? '') + 500 - (asked + Date.now()) / 2) / 1_000;
}
