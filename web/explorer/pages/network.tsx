/** Page of this node and its links: what it is, whether it is well, whom it knows. */

import type { HealthResponse } from '../../../src/sdk/client.js';
import { grouped } from '../../shared/amounts.js';
import { Fact, Facts } from '../../shared/components/facts.js';
import { Failed, Loaded } from '../../shared/components/notice.js';
import { Page } from '../../shared/components/page.js';
import { node } from '../../shared/node.js';
import { useResource } from '../../shared/use-resource.js';
import { useStream } from '../../shared/use-stream.js';
import { useChain, useThrottled } from '../chain/use-chain.js';
import { PROGRAM_VERSION } from '../version.js';

/** Time between readings without news of blocks. */
const AT_MOST_EVERY_MS = 5_000;

export function NetworkPage() {
  const { height, index } = useChain();
  const { state, version } = useStream();
  const tip = useThrottled(height, AT_MOST_EVERY_MS);
  const stamp = `${version}/${state}/${tip}`;
  const health = useResource('health', (signal) => node.getReadiness({}, { signal }), stamp);
  const facts = useResource('network', (signal) => node.getDebug({}, { signal }), stamp);
  return (
    <Page title="Network">
      <section class="panel" aria-labelledby="this-node">
        <h2 id="this-node">This node</h2>
        <Facts>
          <Fact name="Health">
            {health.error !== undefined ? (
              <span class="tag bad">does not answer</span>
            ) : health.value === undefined ? (
              '…'
            ) : (
              <HealthView health={health.value} />
            )}
          </Fact>
          <Fact name="Type">{facts.value?.node_type ?? '…'}</Fact>
          <Fact name="Version">{PROGRAM_VERSION}</Fact>
          <Fact name="Blocks">{height === undefined ? '…' : grouped(height + 1)}</Fact>
          <Fact name="Index of the chain">
            {index === undefined ? 'none' : index.state}
            {index?.state === 'building' &&
              `, ${grouped((index.block_num ?? -1n) + 1n)} of ${grouped(index.blocks)} blocks`}
            {index?.problem != null && <bdi>: {index.problem}</bdi>}
          </Fact>
          <Fact name="Events">{state === 'open' ? 'connected' : state}</Fact>
          <Fact name="Routes">
            {grouped(facts.value?.node_api.length ?? 0)}, described at <a href="/v1/docs">/v1/docs</a>
          </Fact>
        </Facts>
      </section>
      <section class="panel" aria-labelledby="peers">
        <h2 id="peers">Linked mempool and storage nodes</h2>
        <Loaded resource={facts} what="peers">
          {({ node_peers }) =>
            node_peers.length === 0 ? (
              <p class="none">None.</p>
            ) : (
              <ul class="lines">
                {node_peers.map(({ address, node_type, version: program }) => (
                  <li key={`${address}/${node_type}`}>
                    <span class="line-main">
                      <code>{address}</code>
                    </span>
                    <span class="line-part">
                      version <bdi>{program ?? 'unknown'}</bdi>
                    </span>
                    <span class="line-end">
                      <span class="tag">{node_type}</span>
                    </span>
                  </li>
                ))}
              </ul>
            )
          }
        </Loaded>
      </section>
      {facts.error !== undefined && facts.value !== undefined && <Failed error={facts.error} retry={facts.reload} />}
    </Page>
  );
}

function HealthView({ health: { status, reasons } }: { readonly health: HealthResponse }) {
  if (status === 'ok') return <span class="tag good">ready</span>;
  return (
    <>
      <span class="tag wait">not ready</span>
      <ul class="plain-list">
        {reasons.map((reason) => (
          <li key={reason}>
            <bdi>{reason}</bdi>
          </li>
        ))}
      </ul>
    </>
  );
}
