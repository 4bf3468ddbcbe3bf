/** Nodes that say what is not so: tips that nobody has, mempools that nobody chose, miners that never find anything. */

import type { LinkNetwork } from '../../../src/peers/link-network.js';
import type { Reply } from '../../../src/peers/network.js';
import { call, createNetwork, type NodeProcess, until } from '../../support/processes.js';
import { type Arena, WATCHED, type Watch } from '../arena.js';
import { type Attack, mustBe } from '../attack.js';
import { sleep } from '../node-watch.js';
import { createPeer } from '../stranger.js';
import { creations, submitByLink } from '../submit.js';

const LIARS = 16;
const HIGH = 1_000_000_000;
const HOLD_MS = 2_000;
const SILENT_MINERS = 8;
/** Of one list: creations have a quarter of the pool, and one sender half of that. */
const CREATIONS_FULL = 5;
const POOL = 200;

async function lieAboutTips({ storage, scale }: Arena): Promise<void> {
  const liars: LinkNetwork[] = [];
  try {
    for (let i = 0; i < LIARS * scale; i++) {
      const liar = await createPeer('storage');
      liars.push(liar);
      const tip = { next: HIGH + i, hash: `b${'0'.repeat(64)}` };
      liar.handle('chain.tip.get', (): Reply => ({ type: 'chain.tip', body: tip }));
      liar.handle('chain.tip', () => undefined);
      liar.handle('blocks.get', (_link, { body }): Reply => ({ type: 'blocks', body: { from: body.from, count: 0 } }));
      // One link more than the node takes of strangers is refused, which is as it should be.
      const link = await liar.dial(storage.peerAddress, { timeoutMs: 5_000 }).catch(() => undefined);
      link?.send('chain.tip', tip);
    }
    await sleep(HOLD_MS);
    const ready = await fetch(`${storage.apiUrl}/readyz`);
    mustBe(ready.status === 200, `the archive is not ready any more: ${await ready.text()}`);
  } finally {
    for (const liar of liars) await liar.stop();
  }
}

async function pretendToBeMempool({ storage, mempool, miner, user }: Arena): Promise<void> {
  for (const node of [storage, mempool, miner, user]) {
    const liar = await createPeer('mempool');
    const outcome = await liar.dial(node.peerAddress, { timeoutMs: 5_000 }).then(
      () => 'it was let in',
      (error: unknown) => String(error),
    );
    // Of another mempool node the rules are looked at first, which for this one are those of nobody.
    mustBe(
      /network\.secret|rules of the network/.test(outcome),
      `a mempool node without the secret at a ${node.role} node: ${outcome}`,
    );
    await liar.stop();
  }
}

const minerOf = (mempool: NodeProcess) => ({ 'peers.mempool': mempool.peerAddress, 'wallet.genesis_seed_index': 1 });

/** A network of its own, in which several miners take part in a block: most of them only say that they will. */
async function joinAndSaySilent(_arena: Arena, watch: Watch): Promise<void> {
  const network = await createNetwork();
  const silent: LinkNetwork[] = [];
  try {
    const storage = await network.add('storage', 'storage', WATCHED);
    const options = { ...WATCHED, 'peers.storage': storage.peerAddress, 'mining.partition_size': SILENT_MINERS + 1 };
    const mempool = await network.add('mempool', 'mempool', options);
    for (const node of [storage, mempool]) await watch.alsoAt(node);
    for (let i = 0; i < SILENT_MINERS; i++) {
      const miner = await createPeer('miner');
      silent.push(miner);
      for (const type of ['mining.template', 'mining.stop', 'block.mined'] as const)
        miner.handle(type, () => undefined);
      const link = await miner.dial(mempool.peerAddress, { timeoutMs: 5_000 });
      await link.request('mining.join', {});
    }
    await network.add('miner', 'miner', minerOf(mempool));
    const client = await createPeer('user');
    client.handle('block.mined', () => undefined);
    silent.push(client);
    const link = await client.dial(mempool.peerAddress, { timeoutMs: 5_000 });
    for (let block = 1; block <= 3; block++) {
      await submitByLink(link, creations(1));
      await until(`block ${block} beside silent miners`, async () => {
        const latest = (await call(`${storage.apiUrl}/v1/blocks/latest`)) as LatestBlock;
        return Number(latest.block.block.header.b_num) >= block ? true : undefined;
      });
    }
  } finally {
    for (const node of silent) await node.stop();
    await network.stopAll();
  }
}

interface LatestBlock {
  readonly block: { readonly block: { readonly header: { readonly b_num: number } } };
}

/** A network of its own without a miner: what is admitted stays. */
async function fillPool(_arena: Arena, watch: Watch): Promise<void> {
  const network = await createNetwork();
  const client = await createPeer('user');
  client.handle('block.mined', () => undefined);
  try {
    const storage = await network.add('storage', 'storage', WATCHED);
    const options = { ...WATCHED, 'peers.storage': storage.peerAddress, 'mempool.pool_max_transactions': POOL };
    const mempool = await network.add('mempool', 'mempool', options);
    for (const node of [storage, mempool]) await watch.alsoAt(node);
    const link = await client.dial(mempool.peerAddress, { timeoutMs: 5_000 });
    const codes: string[] = [];
    for (let i = 0; i < 2 * (POOL / CREATIONS_FULL); i++)
      codes.push(await submitByLink(link, creations(CREATIONS_FULL)));
    mustBe(codes.includes('mempool_full'), `the pool took more than it holds: ${codes.join(' ')}`);
    mustBe(
      codes.every((code) => code === '' || code === 'mempool_full'),
      codes.join(' '),
    );
    await call(`${mempool.apiUrl}/v1/supply`);
    // With a miner it empties, and there is room again.
    await network.add('miner', 'miner', minerOf(mempool));
    await until('room in the pool', async () => ((await submitByLink(link, creations(1))) === '' ? true : undefined));
  } finally {
    await client.stop();
    await network.stopAll();
  }
}

export const tipLiars: Attack = { name: 'storage nodes with tips that nobody has', run: lieAboutTips };
export const falseMempools: Attack = {
  name: 'a mempool node without the secret, at every role',
  run: pretendToBeMempool,
};
export const silentMiners: Attack = {
  name: 'eight silent miners beside one that works',
  byHand: true,
  run: joinAndSaySilent,
};
export const fullPool: Attack = { name: 'a full pool, and what comes then', byHand: true, run: fillPool };
