/** Reads the state of the mempool from its database and checks it against the digest that the last batch wrote (rule P3). */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { decodeTxOut } from '../../chain/codec.js';
import type { Kv } from '../../db/kv.js';
import { UtxoTable } from '../../ledger/utxo/utxo-table.js';
import { TesseraError } from '../../lib/errors.js';
import { arrivalOfKey, keys, outPointOfKey, ROUND_SLOTS, ranges } from './layout.js';
import type { PooledTx } from './pool.js';
import {
  decodeCoins,
  decodeHead,
  decodeKeptNames,
  decodePooled,
  decodeProof,
  decodeRound,
  decodeWinner,
} from './records.js';
import type { RoundContents } from './rounds.js';
import { MempoolState, type StateRules } from './state.js';

const CHUNK = 2_000;

export interface OutputSource {
  /** All unspent outputs; undefined when the source does not have them. */
  read(hashKey: Uint8Array, onProgress: (outputs: number) => void): Promise<UtxoTable | undefined>;
  /** Gives the source up, because the records differ from what it gave. */
  refuse(why: string): Promise<void>;
}

export interface LoadOptions {
  /** Key of the hash table; see `UtxoTable`. */
  readonly hashKey: Uint8Array;
  readonly onProgress?: (outputs: number) => void;
  /** Source from which the unspent outputs can be read faster than from their records. */
  readonly image?: OutputSource | undefined;
}

/** The state after the last applied command. Throws `data_corrupt` when records are missing or damaged. */
export async function loadMempoolState(kv: Kv, rules: StateRules, options: LoadOptions): Promise<MempoolState> {
  const imaged = await loadImaged(kv, rules, options);
  if (imaged !== undefined) return imaged;
  const { state, fault } = await assemble(kv, rules, await loadUtxos(kv, options));
  if (fault !== null) throw fault;
  return state;
}

/** The state with the outputs of the image; undefined when their records have to be read. */
async function loadImaged(
  kv: Kv,
  rules: StateRules,
  { image, hashKey, onProgress = () => undefined }: LoadOptions,
): Promise<MempoolState | undefined> {
  const utxos = await image?.read(hashKey, onProgress);
  if (utxos === undefined) return undefined;
  const { state, fault } = await assemble(kv, rules, utxos);
  if (fault === null) return state;
  await image?.refuse('with it the state does not match the records');
  return undefined;
}

/** The state, and why it is not the one that was written; null when it is. */
async function assemble(kv: Kv, rules: StateRules, utxos: UtxoTable) {
  const head = await kv.get(keys.head);
  const pooled = await loadTransactions(kv, ranges.pooled);
  const waiting = await loadTransactions(kv, ranges.waiting);
  if (head === undefined) {
    if (utxos.size > 0 || pooled.size > 0 || waiting.size > 0) throw corrupt('its head record is missing');
    const contents = { utxos, record: null, pooled: [], waiting: [], rounds: [], kept: [] };
    return { state: new MempoolState(rules, contents), fault: null };
  }
  const record = decodeHead(head);
  const rounds = await loadRounds(kv, pooled);
  const kept = await kv.get(keys.keptNames);
  const state = new MempoolState(rules, {
    utxos,
    record,
    kept: kept === undefined ? [] : decodeKeptNames(kept),
    pooled: [...pooled.values()],
    waiting: [...waiting.values()],
    rounds,
  });
  const digest = state.digest();
  const isSame = digest === record.digest;
  const fault = isSame ? null : corrupt('its records do not give the digest that was written with them', { digest });
  return { state, fault };
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

/** The blocks being made; their transactions are taken out of `pooled`. */
async function loadRounds(kv: Kv, pooled: Map<number, PooledTx>): Promise<readonly RoundContents[]> {
  const take = (arrival: number): PooledTx => {
    const tx = pooled.get(arrival);
    if (tx === undefined) throw corrupt(`transaction ${arrival} of a block being made is missing`);
    pooled.delete(arrival);
    return tx;
  };
  const rounds: RoundContents[] = [];
  for (const slot of ROUND_SLOTS) {
    const [record, spent, won] = await kv.getMany([keys.round(slot), keys.spent(slot), keys.winner(slot)]);
    if (record === undefined) continue;
    const cut = decodeRound(record, take);
    const proofs = [...cut.proofs];
    for await (const [, proof] of kv.entries(ranges.proofs(slot))) proofs.push(decodeProof(proof));
    const round = { ...cut, proofs, winner: won === undefined ? cut.winner : decodeWinner(won) };
    rounds.push({ slot, round, spent: spent === undefined ? null : decodeCoins(spent) });
  }
  return rounds;
}

function corrupt(why: string, details: Readonly<Record<string, unknown>> = {}): TesseraError {
  return new TesseraError(
    'data_corrupt',
    `the mempool's database is damaged: ${why}; run tessera rebuild, or restore the data directory from a backup`,
    { details },
  );
}
