/**
 * Records of the mempool's database that a snapshot has, and the note that one is being taken: while it is there, what the
 * database holds is no state, and the next start begins anew.
 */

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Kv, KvRange } from '../../db/kv.js';
import { asBuffer } from '../../lib/bytes.js';
import { keys } from '../state/layout.js';

/** Records that are deleted in one batch. */
const DELETED_AT_ONCE = 5_000;

/** All records; what the store keeps for itself is behind them. */
export const WHOLE: KvRange = { gte: Uint8Array.of(0), lt: Uint8Array.of(0xff) };

/** Transactions of an older folder, and the image of the outputs, are the business of the node that has them. */
export function isCopied(key: Uint8Array): boolean {
  return key[0] !== keys.carried(0)[0] && !isOfImage(key) && !isNote(key);
}

function isOfImage(key: Uint8Array): boolean {
  return key[0] === keys.image[0] || key[0] === keys.changed(0)[0];
}

export async function isBeingTaken(kv: Kv): Promise<boolean> {
  return (await kv.get(keys.taking)) !== undefined;
}

/** Empties the database for a state that is about to come. */
export async function beginTaking(kv: Kv): Promise<void> {
  await kv.write(kv.batch().put(keys.taking, new Uint8Array()), { sync: true });
  let batch = kv.batch();
  for await (const [key] of kv.entries(WHOLE)) {
    if (isCopied(key) || isOfImage(key)) batch.del(Uint8Array.from(key));
    if (batch.size < DELETED_AT_ONCE) continue;
    await kv.write(batch, { sync: false });
    batch = kv.batch();
    await nextTurn();
  }
  await kv.write(batch, { sync: true });
}

/** The state is whole. */
export function endTaking(kv: Kv): Promise<void> {
  return kv.write(kv.batch().del(keys.taking), { sync: true });
}

function isNote(key: Uint8Array): boolean {
  return asBuffer(key).equals(keys.taking);
}
