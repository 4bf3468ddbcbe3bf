/** Reads the state of the mempool from its database and checks it against the digest that the last batch wrote (rule P3). */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { decodeTxOut } from '../../chain/codec.js';
import type { Kv } from '../../db/kv.js';
import { UtxoTable } from '../../ledger/utxo/utxo-table.js';
import { TesseraError } from '../../lib/errors.js';
import { arrivalOfKey, keys, outPointOfKey, ranges } from './layout.js';
import type { PooledTx } from './pool.js';
import { decodeCoins, decodeHead, decodeKeptNames, decodePooled, decodeRound } from './records.js';
import { MempoolState, type StateRules } from './state.js';

/** Records read before the event loop gets a turn. */
const CHUNK = 2_000;

export interface LoadOptions {
  /** Of the hash table; see `UtxoTable`. */
  readonly hashKey: Uint8Array;
  /** Told how many unspent outputs have been read so far. */
  readonly onProgress?: (outputs: number) => void;
}

/** The state after the last applied command. Throws `data_corrupt` when records are missing or damaged. */
export async function loadMempoolState(kv: Kv, rules: StateRules, options: LoadOptions): Promise<MempoolState> {
  const head = await kv.get(keys.head);
  const utxos = await loadUtxos(kv, options);
  const pooled = await loadTransactions(kv, ranges.pooled);
  const waiting = await loadTransactions(kv, ranges.waiting);
  if (head === undefined) {
    if (utxos.size > 0 || pooled.size > 0 || waiting.size > 0) throw corrupt('its head record is missing');
    return new MempoolState(rules, {
      utxos,
      record: null,
      pooled: [],
      waiting: [],
      round: null,
      spent: [],
      kept: [],
    });
  }
  const record = decodeHead(head);
  const roundBytes = await kv.get(keys.round);
  const round =
    roundBytes === undefined
      ? null
      : decodeRound(roundBytes, (arrival) => {
          const tx = pooled.get(arrival);
          if (tx === undefined) throw corrupt(`transaction ${arrival} of the block being made is missing`);
          pooled.delete(arrival);
          return tx;
        });
  const [spent, kept] = await kv.getMany([keys.spent, keys.keptNames]);
  const state = new MempoolState(rules, {
    utxos,
    record,
    spent: round === null ? [] : spent === undefined ? null : decodeCoins(spent),
    kept: kept === undefined ? [] : decodeKeptNames(kept),
    pooled: [...pooled.values()],
    waiting: [...waiting.values()],
    round,
  });
  const digest = state.digest();
  if (digest !== record.digest) {
    throw corrupt('its records do not give the digest that was written with them', { digest });
  }
  return state;
}

async function loadUtxos(kv: Kv, { hashKey, onProgress }: LoadOptions): Promise<UtxoTable> {
  const utxos = new UtxoTable(hashKey);
  for await (const [key, value] of kv.entries(ranges.utxos)) {
    utxos.insert(outPointOfKey(key), decodeTxOut(value));
    if (utxos.size % CHUNK !== 0) continue;
    onProgress?.(utxos.size);
    await nextTurn();
  }
  return utxos;
}

async function loadTransactions(kv: Kv, range: typeof ranges.pooled): Promise<Map<number, PooledTx>> {
  const transactions = new Map<number, PooledTx>();
  for await (const [key, value] of kv.entries(range)) {
    const arrival = arrivalOfKey(key);
    transactions.set(arrival, decodePooled(arrival, value));
  }
  return transactions;
}

function corrupt(why: string, details: Readonly<Record<string, unknown>> = {}): TesseraError {
  return new TesseraError(
    'data_corrupt',
    `the mempool's database is damaged: ${why}; run tessera rebuild, or restore the data directory from a backup`,
    { details },
  );
}
