/** Page of this node and its links: what it is, whether it is well, whom it knows. */

import type { DebugData, HealthResponse } from '../../../src/sdk/client.js';
import { grouped } from '../../shared/amounts.js';
import { Fact, Facts } from '../../shared/components/facts.js';
import { Failed, Loaded } from '../../shared/components/notice.js';
import { Page } from '../../shared/components/page.js';
import { type Column, Table } from '../../shared/components/table.js';
import { When } from '../../shared/components/when.js';
import { node } from '../../shared/node.js';
import { useResource } from '../../shared/use-resource.js';
import { useStream } from '../../shared/use-stream.js';
import { readBlocks } from '../chain/indexed-chain.js';
import { useChain, useThrottled } from '../chain/use-chain.js';
import { AddressLink, BlockLink } from '../parts.js';
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
          <Fact name="For its operator">
            <a href="/status">Status</a>
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
      <section aria-labelledby="peers">
        <h2 id="peers" class="list-head">
          Linked mempool and storage nodes
        </h2>
        <Loaded resource={facts} what="peers">
          {({ node_peers }) =>
            node_peers.length === 0 ? (
              <p class="none">None.</p>
            ) : (
              <Table
                label="Peers"
                columns={PEERS}
                count={node_peers.length}
                rowAt={(index) => node_peers[index]}
                keyOf={({ address, node_type }) => `${address}/${node_type}`}
              />
            )
          }
        </Loaded>
      </section>
      <Producers tip={tip} />
      {facts.error !== undefined && facts.value !== undefined && <Failed error={facts.error} retry={facts.reload} />}
    </Page>
  );
}

type Peer = DebugData['node_peers'][number];

const PEERS: readonly Column<Peer>[] = [
  { head: 'Address', width: 'minmax(0, 1.4fr)', cell: ({ address }) => <code>{address}</code> },
  { head: 'Type', width: 'minmax(6rem, 1fr)', cell: ({ node_type }) => <span class="tag">{node_type}</span> },
  {
    head: 'Version',
    width: 'minmax(6rem, 1fr)',
    cell: ({ version }) => <bdi>{version ?? 'unknown'}</bdi>,
  },
];

interface Producer {
  readonly miner: string;
  readonly blocks: number;
  readonly of: number;
  readonly last: bigint;
  readonly time: bigint;
}

const PRODUCERS: readonly Column<Producer>[] = [
  { head: 'Miner', width: 'minmax(11rem, 1.4fr)', cell: ({ miner }) => <AddressLink address={miner} /> },
  { head: 'Blocks', width: '6rem', isNumber: true, cell: ({ blocks }) => grouped(blocks) },
  { head: 'Share', width: '6rem', isNumber: true, cell: ({ blocks, of }) => `${((100 * blocks) / of).toFixed(1)} %` },
  { head: 'Last block', width: '7rem', isNumber: true, cell: ({ last }) => <BlockLink number={last} /> },
  { head: 'Age', width: 'minmax(8rem, 1fr)', isNumber: true, cell: ({ time }) => <When seconds={time} hasAge /> },
];

/** Blocks in which producers are counted. */
const COUNTED = 500;

/** Producers of the last blocks. */
function Producers({ tip }: { readonly tip: number | undefined }) {
  const { source } = useChain();
  const found = useResource(
    source === 'index' ? 'producers' : undefined,
    async (signal) => {
      const blocks = await readBlocks(COUNTED, undefined, signal);
      const producers = new Map<string, Producer>();
      for (const { miner, block_num, time } of blocks) {
        if (miner == null) continue;
        const known = producers.get(miner);
        if (known === undefined) producers.set(miner, { miner, blocks: 1, of: blocks.length, last: block_num, time });
        else producers.set(miner, { ...known, blocks: known.blocks + 1 });
      }
      return [...producers.values()].sort((a, b) => b.blocks - a.blocks);
    },
    tip,
  );
  if (source !== 'index') return null;
  return (
    <section aria-labelledby="producers">
      <h2 id="producers" class="list-head">
        Producers of the last {grouped(Math.min(COUNTED, (tip ?? 0) + 1))} blocks
      </h2>
      <Loaded resource={found} what="producers">
        {(producers) => (
          <Table
            label="Producers"
            columns={PRODUCERS}
            count={producers.length}
            rowAt={(index) => producers[index]}
            keyOf={({ miner }) => miner}
          />
        )}
      </Loaded>
    </section>
  );
}

export function HealthView({ health: { status, reasons } }: { readonly health: HealthResponse }) {
  if (status === 'ok') return <span class="tag good">ready</span>;
  return (
    <>
      <span class="tag wait">{status === 'degraded' ? 'degraded' : 'not ready'}</span>
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
