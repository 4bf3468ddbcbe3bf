/**
 * The key map of the mempool's database. Everything under these keys is written in the batch of the command that changed
 * it, so the database always stands exactly behind one command of the journal; statuses of refusals alone are added between.
 *
 *   m                         head: number of the last applied command, the tip, counters, the state digest
 *   r, R                      the blocks being made: one that is closed and not yet stored, and the one after it. A block keeps
 *                             its key as long as it is there; the heights tell which of the two comes first
 *   x, X                      the outputs that the block under r or R spends, to be restored if it is given up
 *   o, O ‖ number u64         the proofs for that block, numbered from 0; a folder of format 1 has the first ones in the record itself
 *   w, W                      the number of the winning proof, once that block is closed
 *   k ‖ height u64            a block of the last ones, for a storage node that lacks it
 *   K                         the names of those blocks
 *   D                         digests of the last states after a block, as nodes that share a journal have told them
 *   F                         while the state of another node is being taken: what is there is no state
 *   I                         the image of the unspent outputs that is in force (image/image-file.ts)
 *   U ‖ command u64           outputs that a command after that image has added or removed
 *   A                         a state made from blocks is ahead of its journal (ahead-of-journal.ts)
 *   q ‖ number u64            transactions of an older folder, to be submitted again (`tessera rebuild`)
 *   u ‖ n u32 ‖ t_hash        an unspent output (TxOut)
 *   p ‖ arrival u64           a transaction of the pool, until the block that takes it is stored
 *   d ‖ arrival u64           a transaction that waits for the others of its DRUID
 *   c ‖ hash                  an item creation that is in the chain: its hash may not come again (decision B6)
 *   s ‖ hash                  the final status of a transaction
 *   t ‖ time u64 ‖ number u32 hashes whose statuses were written together, to forget them together; numbers from 2^31 on
 *                             are those of refusals at admission
 */

import type { OutPoint } from '../../chain/types.js';
import { prefixKey, prefixRange, readU64, textKey, u64Key, u64u32Key } from '../../db/keys.js';
import { asBuffer } from '../../lib/bytes.js';

/** The first number of an expiry record that refusals wrote. */
export const FIRST_REFUSAL_NUMBER = 0x8000_0000;

/** Slots for the records of a block being made. */
export const ROUND_SLOTS = [0, 1] as const;
export type RoundSlot = (typeof ROUND_SLOTS)[number];

const PROOFS = ['o', 'O'] as const;

export const keys = {
  head: prefixKey('m'),
  round: (slot: RoundSlot): Uint8Array => prefixKey(slot === 0 ? 'r' : 'R'),
  proof: (slot: RoundSlot, number: number): Uint8Array => u64Key(PROOFS[slot], number),
  winner: (slot: RoundSlot): Uint8Array => prefixKey(slot === 0 ? 'w' : 'W'),
  spent: (slot: RoundSlot): Uint8Array => prefixKey(slot === 0 ? 'x' : 'X'),
  kept: (height: number): Uint8Array => u64Key('k', height),
  keptNames: prefixKey('K'),
  digests: prefixKey('D'),
  taking: prefixKey('F'),
  image: prefixKey('I'),
  ahead: prefixKey('A'),
  changed: (seq: number): Uint8Array => u64Key('U', seq),
  carried: (number: number): Uint8Array => u64Key('q', number),
  utxo(outPoint: OutPoint): Uint8Array {
    const key = Buffer.allocUnsafe(5 + Buffer.byteLength(outPoint.tHash));
    key[0] = 0x75;
    key.writeUInt32BE(outPoint.n >>> 0, 1);
    key.write(outPoint.tHash, 5, 'utf8');
    return key;
  },
  pooled: (arrival: number): Uint8Array => u64Key('p', arrival),
  waiting: (arrival: number): Uint8Array => u64Key('d', arrival),
  /** Creations in the chain, and all transactions in blocks of original nodes: what may not come again. */
  known: (hash: string): Uint8Array => textKey('c', hash),
  status: (hash: string): Uint8Array => textKey('s', hash),
  expiry: (time: number, number: number): Uint8Array => u64u32Key('t', time, number),
};

export const ranges = {
  utxos: prefixRange('u'),
  pooled: prefixRange('p'),
  waiting: prefixRange('d'),
  carried: prefixRange('q'),
  proofs: (slot: RoundSlot) => prefixRange(PROOFS[slot]),
  changed: prefixRange('U'),
  changedSince: (seq: number) => ({ ...prefixRange('U'), gte: u64Key('U', seq + 1) }),
  changedUpTo: (seq: number) => ({ ...prefixRange('U'), lt: u64Key('U', seq + 1) }),
  expiryBefore: (time: number) => ({ gte: prefixKey('t'), lt: u64Key('t', time) }),
};

/** True for a `utxo` key. */
export function isUtxoKey(key: Uint8Array): boolean {
  return key[0] === 0x75;
}

/** The outpoint of a `utxo` key. */
export function outPointOfKey(key: Uint8Array): OutPoint {
  const buffer = asBuffer(key);
  return { n: buffer.readUInt32BE(1) | 0, tHash: buffer.toString('utf8', 5) };
}

/** The arrival number of a `pooled` or `waiting` key. */
export function arrivalOfKey(key: Uint8Array): number {
  return readU64(key, 1);
}

/** Time and kind of an expiry key. */
export function expiryOfKey(key: Uint8Array): { readonly time: number; readonly ofRefusals: boolean } {
  return { time: readU64(key, 1), ofRefusals: asBuffer(key).readUInt32BE(9) >= FIRST_REFUSAL_NUMBER };
}
