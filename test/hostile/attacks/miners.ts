/**
 * A miner that hands in one proof again and again, and proofs of other rounds: each counts once, and costs the journal
 * nothing more.
 */

import { coinbaseTransaction } from '../../../src/chain/builders.js';
import { decodeHeader, encodeTransaction } from '../../../src/chain/codec.js';
import { transactionHash } from '../../../src/chain/hash.js';
import { proofOfWorkFault } from '../../../src/chain/pow.js';
import type { BlockHeader } from '../../../src/chain/types.js';
import { createDeferred } from '../../../src/lib/deferred.js';
import type { Link, Message } from '../../../src/peers/network.js';
import { createNetwork } from '../../support/processes.js';
import { type Arena, WATCHED, type Watch } from '../arena.js';
import { type Attack, mustBe } from '../attack.js';
import { createPeer } from '../stranger.js';
import { freshAddress } from '../submit.js';

const COPIES = 400;
/** Proofs on their way at once. */
const AT_ONCE = 40;

interface Proof {
  readonly height: number;
  readonly nonce: string;
  readonly coinbase: Uint8Array;
}

/** As any miner finds it; a dev network asks for one hash in 256. */
function prove({ body, attachment }: Message<'mining.template'>): Proof {
  const coinbase = coinbaseTransaction(BigInt(body.block_num), BigInt(body.reward), freshAddress());
  const header: BlockHeader = { ...decodeHeader(attachment), miningTxHash: transactionHash(coinbase) };
  for (let i = 0; ; i++) {
    const nonce = Buffer.alloc(4);
    nonce.writeUInt32LE(i);
    if (proofOfWorkFault({ ...header, nonce }) !== null) continue;
    return { height: body.block_num, nonce: nonce.toString('hex'), coinbase: encodeTransaction(coinbase) };
  }
}

async function handIn(link: Link, { height, nonce, coinbase }: Proof): Promise<boolean> {
  const answer = await link.request(
    'mining.proof',
    { block_num: height, nonce },
    { attachment: coinbase, timeoutMs: 60_000 },
  );
  return (answer as Message<'mining.verdict'>).body.accepted;
}

/** A network of its own with a long proof window, in which no other miner takes part. */
async function repeatProof({ scale }: Arena, watch: Watch): Promise<void> {
  const network = await createNetwork();
  const miner = await createPeer('miner');
  try {
    const storage = await network.add('storage', 'storage', WATCHED);
    const mempool = await network.add('mempool', 'mempool', {
      ...WATCHED,
      'peers.storage': storage.peerAddress,
      'mining.proof_window_ms': 600_000,
      'mining.partition_size': 2,
    });
    for (const node of [storage, mempool]) await watch.alsoAt(node);
    const template = createDeferred<Message<'mining.template'>>();
    miner.handle('mining.template', (_link, message) => {
      template.resolve(message);
      return undefined;
    });
    for (const type of ['mining.stop', 'block.mined'] as const) miner.handle(type, () => undefined);
    const link = await miner.dial(mempool.peerAddress, { timeoutMs: 10_000 });
    await link.request('mining.join', {});
    const proof = prove(await template.promise);
    mustBe(await handIn(link, proof), 'a sound proof was refused');
    const before = await journalHead(mempool.metricsUrl);
    const others = [
      { ...proof, height: proof.height + 1 },
      { ...proof, nonce: 'ff' },
      { ...proof, coinbase: proof.coinbase },
    ];
    for (let sent = 0; sent < COPIES * scale; sent += AT_ONCE) {
      const batch = Array.from({ length: AT_ONCE }, (_, i) => handIn(link, others[i % others.length] ?? proof));
      mustBe(!(await Promise.all(batch)).includes(true), 'a proof counted twice');
    }
    const grown = (await journalHead(mempool.metricsUrl)) - before;
    // The journal may still say of the block before that it is stored.
    mustBe(grown < AT_ONCE, `copies of a proof made the journal ${grown} entries longer`);
  } finally {
    await miner.stop();
    await network.stopAll();
  }
}

async function journalHead(metricsUrl: string): Promise<number> {
  const page = await (await fetch(`${metricsUrl}/metrics`)).text();
  const [, head] = /^tessera_journal_head(?:\{.*\})? (\S+)$/m.exec(page) ?? [];
  if (head === undefined) throw new Error('the metrics do not tell the head of the journal');
  return Number(head);
}

export const repeatedProofs: Attack = {
  name: 'one proof of work, handed in 400 times',
  byHand: true,
  run: repeatProof,
};
