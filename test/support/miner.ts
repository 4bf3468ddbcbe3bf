/** Headers to mine, and a mempool end that gives them to a miner and checks what comes back. */

import type { Certificate } from '../../src/chain/certificate.js';
import { decodeTransaction, encodeHeader } from '../../src/chain/codec.js';
import type { BlockHeader, Transaction } from '../../src/chain/types.js';
import { fromHex, utf8 } from '../../src/lib/bytes.js';
import { type Signal, SignalSource } from '../../src/lib/signal.js';
import type { Link, PeerNetwork } from '../../src/peers/network.js';

/** A target that no hash meets. */
export const IMPOSSIBLE = Uint8Array.of(1, 0, 0, 0);
/** Two leading zero bytes, or 2^240. */
export const TWO_BYTES = Uint8Array.of(0x21, 0, 0, 1);
export const REWARD = 3_261_467_223n;

export function templateHeader(bNum: number, difficulty: Uint8Array = new Uint8Array(0)): BlockHeader {
  return {
    version: 6,
    bits: 0n,
    nonce: new Uint8Array(0),
    miningTxHash: '',
    bNum: BigInt(bNum),
    timestamp: 1_700_000_000n,
    difficulty,
    seedValue: Uint8Array.from(utf8(bNum === 0 ? '' : `${'7'.repeat(77)}-${'3'.repeat(157)}`)),
    previousHash: bNum === 0 ? null : `b${'a'.repeat(64)}`,
    merkleRoot: 'c'.repeat(64),
    txsHash: 'd'.repeat(64),
  };
}

export interface Proof {
  readonly link: Link;
  readonly height: number;
  readonly nonce: Uint8Array;
  readonly coinbase: Transaction;
}

export interface FakeMempool {
  readonly joined: Signal<Link>;
  readonly proofs: Signal<Proof>;
  /** What the next proofs are told. */
  verdict: { accepted: boolean; reason: string };
  give(link: Link, header: BlockHeader, reward?: bigint, previous?: Certificate): void;
}

export function createFakeMempool(network: PeerNetwork): FakeMempool {
  const joined = new SignalSource<Link>();
  const proofs = new SignalSource<Proof>();
  const mempool: FakeMempool = {
    joined,
    proofs,
    verdict: { accepted: true, reason: '' },
    give(link, header, reward = REWARD, previous) {
      const body = { block_num: Number(header.bNum), reward: String(reward), ...(previous && { previous }) };
      link.send('mining.template', body, encodeHeader(header));
    },
  };
  network.handle('mining.join', (link) => {
    joined.emit(link);
    return { type: 'mining.joined', body: {} };
  });
  network.handle('mining.proof', (link, { body, attachment }) => {
    proofs.emit({
      link,
      height: body.block_num,
      nonce: fromHex(body.nonce),
      coinbase: decodeTransaction(attachment),
    });
    return { type: 'mining.verdict', body: mempool.verdict };
  });
  return mempool;
}
