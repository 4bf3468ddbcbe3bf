/** Makes a wallet that has lost blocks forget the chain: keys stay, coins are fetched, payments of the last hours are queued again. */

import { outPointKey, spentOutPoints } from '../chain/transaction.js';
import { prefixRange } from '../db/keys.js';
import type { Kv } from '../db/kv.js';
import { utf8 } from '../lib/bytes.js';
import { type Coin, decodeCoin, encodeCoin } from './coins/coin.js';
import { keyNumber, keyText, META_KEY, outpointRecordKey, PREFIX } from './layout.js';
import { readMeta } from './meta.js';
import { reopenPayment } from './payments/outgoing.js';
import { decodeTrade, encodeTrade } from './trades/trade.js';

const MS_PER_HOUR = 3_600_000;
/** Hours of payments that are sent again: by default mempool nodes remember confirmed ones for a day. */
export const REOPENED_HOURS = 12;

export interface StartedOver {
  /** Number of coins that will be fetched again. */
  readonly coins: number;
  /** Number of payments that are queued again. */
  readonly payments: number;
  /** Height of the block that the wallet had seen. */
  readonly height: number;
}

/**
 * Changes the store of a closed wallet in one synced write. Payments of the last `hours` are queued again; older ones count as in the
 * chain, as a mempool node may refuse them. Throws `wallet_unreadable`.
 */
export async function startOver(kv: Kv, now: number, hours = REOPENED_HOURS): Promise<StartedOver> {
  const batch = kv.batch();
  const takenBy = new Map<string, string>();
  const queued = new Set<string>();
  let payments = 0;
  // All payments are read: one may spend what another makes, and the clock may have been set back between two.
  for await (const [key, record] of kv.entries(prefixRange(PREFIX.payment))) {
    const reopened = reopenPayment(keyNumber(key), record);
    if (reopened === undefined || now - reopened.payment.createdAt > hours * MS_PER_HOUR) continue;
    batch.put(key, reopened.record);
    queued.add(reopened.payment.hash);
    payments++;
    for (const outPoint of spentOutPoints(reopened.payment.transaction)) {
      takenBy.set(outPointKey(outPoint), reopened.payment.hash);
    }
  }
  let coins = 0;
  for await (const [key, record] of kv.entries(prefixRange(PREFIX.outpoint))) {
    const coin = decodeCoin(keyText(key), record);
    if (coin.state === 'pending' && queued.has(coin.outPoint.tHash)) {
      batch.put(key, encodeCoin({ ...coin, inChain: false }));
    }
    if (coin.state !== 'unspent' && coin.state !== 'aside') continue;
    // The change of a payment that is sent again is expected, as it was before the block. Coins set aside for a trade are not any
    // more: the trade finds them gone, and ends.
    const maker = coin.outPoint.tHash;
    const isExpected = queued.has(maker) || !coin.inChain;
    if (isExpected) batch.put(key, encodeCoin({ ...coin, state: 'expected', by: maker, inChain: false }));
    else batch.del(key);
    coins++;
  }
  // The inputs of a payment that is sent again must stay reserved for it.
  for await (const [key, record] of kv.entries(prefixRange(PREFIX.spent))) {
    const spent = decodeCoin('', record);
    const name = outPointKey(spent.outPoint);
    const by = takenBy.get(name);
    if (by === undefined) continue;
    batch.del(key);
    const taken: Coin = { ...spent, key: name, state: 'pending', by, inChain: !queued.has(spent.outPoint.tHash) };
    batch.put(outpointRecordKey(name), encodeCoin(taken));
  }
  // A trade whose half is sent again stands again: it takes place, or its end takes the inputs back.
  for await (const [key, record] of kv.entries(prefixRange(PREFIX.trade))) {
    const trade = decodeTrade(record);
    if (trade.half === null || !queued.has(trade.half) || trade.takeBack !== null) continue;
    batch.put(key, encodeTrade({ ...trade, state: 'agreed', reason: '' }));
  }
  // When the wallet is opened, the history is built anew from the remaining records.
  for (const prefix of [PREFIX.movement, PREFIX.movementOf]) {
    for await (const [key] of kv.entries(prefixRange(prefix))) batch.del(key);
  }
  const { blockHash: _hash, certified: _certified, movements: _movements, ...meta } = await readMeta(kv);
  batch.put(META_KEY, utf8(JSON.stringify({ ...meta, block: -1 })));
  await kv.write(batch, { sync: true });
  return { coins, payments, height: meta.block };
}
