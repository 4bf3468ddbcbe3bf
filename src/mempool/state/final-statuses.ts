/** Final statuses that commands decide: they go into the batch of the command, and are readable here until it is on disk (decision V1). */

import type { KvBatch } from '../../db/kv.js';
import { atOnce, type Pieces } from '../../lib/pieces.js';
import type { TxStatus } from '../service.js';
import { FIRST_REFUSAL_NUMBER, keys } from './layout.js';
import { decodeStatus, encodeHashes, encodeStatus } from './records.js';
import type { Round } from './round.js';
import type { StateStore } from './state-store.js';

/** The most records of what one command has decided: this keeps the numbers of commands apart. */
const MAX_RECORDS = 64;
/** Hashes of one record, unless `MAX_RECORDS` of that size are too few. */
const RECORD_HASHES = 4_096;
const PIECE_TRANSACTIONS = 1_024;
const CHUNK_STATUSES = 1_000;
const PIECE_STATUSES = 256;

/** A transaction that a rule has taken out. */
export interface RejectedTx {
  readonly hash: string;
  readonly rule: string;
}

export class FinalStatuses {
  readonly #unwritten = new Map<string, TxStatus>();
  readonly #refused = new Set<string>();
  /** Rejected transactions for the events of the node: hash → rule. */
  readonly #rejected = new Map<string, string>();
  /** Number of the current command, hashes it has decided so far, and the latest time among them: they expire together. */
  #seq: number;
  #hashes: string[] = [];
  #latest = 0;

  constructor(seq: number) {
    this.#seq = seq + 1;
  }

  /** The status of a transaction that is decided but perhaps not yet on disk. */
  unwritten(hash: string): TxStatus | undefined {
    return this.#unwritten.get(hash);
  }

  /** Hashes of transactions that commands have refused, until the batch is on disk. */
  get refused(): readonly string[] {
    return [...this.#refused];
  }

  /** Notes a transaction that was accepted, or posted with others, and is rejected. */
  noteRejected(hash: string, rule: string): void {
    this.#rejected.set(hash, rule);
  }

  /** Transactions that were noted as rejected since the last call, with the rule. */
  takeRejected(): readonly RejectedTx[] {
    const rejected = [...this.#rejected].map(([hash, rule]) => ({ hash, rule }));
    this.#rejected.clear();
    return rejected;
  }

  /** Keeps the status of a transaction in a block, whatever a later command has said of it. */
  keep(hash: string, status: TxStatus, batch: KvBatch): void {
    this.#refused.delete(hash);
    this.#rejected.delete(hash);
    this.show(hash, status);
    batch.put(keys.status(hash), encodeStatus(status));
  }

  /** Makes a status readable from now on that this command will decide. */
  show(hash: string, status: TxStatus): void {
    this.#unwritten.set(hash, status);
  }

  /** Puts statuses into a batch; `time` is that of the decision in unix seconds. */
  decide(statuses: ReadonlyMap<string, TxStatus>, time: number, batch: KvBatch): void {
    atOnce(this.decideInPieces(statuses, time, batch));
  }

  /** Puts statuses into a batch in pieces: each status can be read from its piece on. */
  *decideInPieces(statuses: ReadonlyMap<string, TxStatus>, time: number, batch: KvBatch): Pieces<void> {
    if (statuses.size === 0) return;
    // Never earlier than a first sight, whatever the clock says, so that nothing expires before its time.
    this.#latest = Math.max(this.#latest, time);
    let left = 0;
    let last: { readonly status: TxStatus; readonly record: Uint8Array } | undefined;
    for (const [hash, status] of statuses) {
      if (left-- === 0) {
        yield;
        left = PIECE_STATUSES;
      }
      this.show(hash, status);
      if (status.status === 'Rejected') this.#refused.add(hash);
      if (last?.status !== status) last = { status, record: encodeStatus(status) };
      batch.put(keys.status(hash), last.record);
      this.#hashes.push(hash);
      this.#latest = Math.max(this.#latest, status.timestamp);
    }
  }

  /** Decides the transactions of a stored block, which no longer wait; those of block 0 have no status. */
  *confirm({ height, header, transactions }: Round, hash: string, batch: KvBatch): Pieces<void> {
    const additionalInfo = `In block ${height} ${hash}`;
    const confirmed = new Map<string, TxStatus>();
    let status: TxStatus | undefined;
    for (const [i, tx] of transactions.entries()) {
      if (i % PIECE_TRANSACTIONS === 0) yield;
      if (tx.arrival !== 0) batch.del(keys.pooled(tx.arrival));
      if (height === 0) continue;
      // Transactions of one second share a status.
      if (status?.timestamp !== tx.time) status = { status: 'Confirmed', timestamp: tx.time, additionalInfo };
      confirmed.set(tx.hash, status);
    }
    yield* this.decideInPieces(confirmed, Number(header.timestamp), batch);
  }

  /** Begins command `seq`, which goes into the same batch as the one before. */
  begin(seq: number, batch: KvBatch): void {
    atOnce(this.list(batch));
    this.#seq = seq;
  }

  /** Ends the batch with command `seq`. */
  seal(seq: number, batch: KvBatch): void {
    atOnce(this.list(batch));
    this.#seq = seq + 1;
  }

  /** Forgets what has been decided so far: all of it is on disk. */
  written(): void {
    this.#unwritten.clear();
    this.#refused.clear();
  }

  /** Ends the command: lists its decisions by time. The keys depend on the command alone, so a replay writes the same. */
  *list(batch: KvBatch): Pieces<void> {
    const hashes = this.#hashes;
    const latest = this.#latest;
    this.#hashes = [];
    this.#latest = 0;
    const size = Math.max(RECORD_HASHES, Math.ceil(hashes.length / MAX_RECORDS));
    for (let record = 0; record * size < hashes.length; record++) {
      const number = (this.#seq * MAX_RECORDS + record) % FIRST_REFUSAL_NUMBER;
      const part = hashes.slice(record * size, (record + 1) * size);
      batch.put(keys.expiry(latest, number), encodeHashes(part));
      yield;
    }
  }
}

/**
 * Restores the statuses of transactions that are in a block and that a batch has refused: a node that was held up may
 * send a part of a trade once more behind its block, and a transaction in a block stays confirmed.
 */
export async function keepConfirmed(
  statuses: Pick<FinalStatuses, 'refused' | 'keep'>,
  store: Pick<StateStore, 'getMany'>,
  batch: KvBatch,
): Promise<void> {
  const { refused } = statuses;
  for (let from = 0; from < refused.length; from += CHUNK_STATUSES) {
    const hashes = refused.slice(from, from + CHUNK_STATUSES);
    const records = await store.getMany(hashes.map(keys.status));
    for (const [i, hash] of hashes.entries()) {
      const record = records[i];
      const status = record && decodeStatus(record);
      if (status?.status === 'Confirmed') statuses.keep(hash, status, batch);
    }
  }
}
