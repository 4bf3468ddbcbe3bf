/**
 * The wallet's own transactions: a durable queue and their outcomes: `queued` → `sent` (admitted) → `confirmed` or `rejected`, which is
 * `queued` again if it is made again. The bytes never change. A transaction that spends another's output is sent after that one
 * (docs/adr/0023-own-change.md). Settled transactions are on disk only.
 */

import { type BincodeReader, BincodeWriter } from '../../chain/bincode.js';
import { readTransaction, writeTransaction } from '../../chain/codec.js';
import { spentOutPoints } from '../../chain/transaction.js';
import type { Transaction } from '../../chain/types.js';
import { decodeRecord, readChoice } from '../../db/decode-record.js';
import { prefixRange } from '../../db/keys.js';
import type { Kv } from '../../db/kv.js';
import { keyNumber, PREFIX, paymentKey } from '../layout.js';
import type { MetaStore } from '../meta.js';
import { type OwnPayment, PAYMENT_KINDS, PAYMENT_STATES, type PaymentState } from '../service.js';
import type { WriteBuffer } from '../write-buffer.js';

/** The most own transactions that `latest` gives. */
const MAX_LATEST = 10_000;

export interface OwnTransaction extends Pick<OwnPayment, 'createdAt' | 'hash' | 'kind' | 'reason' | 'state'> {
  readonly transaction: Transaction;
  /** Peer to tell when the mempool has admitted the transaction (payments by ip), else null. */
  readonly peer: string | null;
}

interface Entry extends OwnTransaction {
  readonly number: number;
  state: PaymentState;
  reason: string;
}

export class Outgoing {
  readonly #kv: Kv;
  readonly #writes: WriteBuffer;
  readonly #meta: MetaStore;
  readonly #inFlight = new Map<string, Entry>();
  /** Hashes of transactions that can be sent now, unless they spend an output of one that is not admitted yet. */
  readonly #queued = new Set<string>();
  readonly #rejected = new Map<string, Entry>();
  /** Transactions that were passed over because a parent is not admitted yet, by the hash of that parent. */
  readonly #held = new Map<string, Set<string>>();

  private constructor(kv: Kv, writes: WriteBuffer, meta: MetaStore) {
    this.#kv = kv;
    this.#writes = writes;
    this.#meta = meta;
  }

  static async open(kv: Kv, writes: WriteBuffer, meta: MetaStore): Promise<Outgoing> {
    const outgoing = new Outgoing(kv, writes, meta);
    for await (const [key, record] of kv.entries(prefixRange(PREFIX.payment))) {
      if (isSettled(record)) continue;
      const entry = decodePayment(keyNumber(key), record);
      outgoing.#inFlight.set(entry.hash, entry);
      if (entry.state === 'queued') outgoing.#queued.add(entry.hash);
    }
    return outgoing;
  }

  /** Stages a new transaction, not sent before `release`. A rejected one that is made again is queued in its place, if it is loaded. */
  add(made: Pick<OwnTransaction, 'hash' | 'transaction' | 'kind' | 'peer' | 'createdAt'>): OwnTransaction {
    const number = this.#rejected.get(made.hash)?.number ?? this.#nextNumber();
    const entry: Entry = { ...made, number, state: 'queued', reason: '' };
    this.#rejected.delete(entry.hash);
    this.#inFlight.set(entry.hash, entry);
    this.#writes.put(paymentKey(entry.number), encodeEntry(entry));
    return entry;
  }

  /** Releases a durable transaction for sending, or for sending again: there was no answer, or one that asks to try again. */
  release(hash: string): void {
    if (this.#inFlight.get(hash)?.state === 'queued') this.#queued.add(hash);
  }

  /** Discards a transaction that never became durable. `before`: its earlier form, when it was rejected before. */
  discard(hash: string, before?: OwnTransaction): void {
    const entry = this.#inFlight.get(hash);
    if (entry === undefined) return;
    this.#inFlight.delete(hash);
    this.#queued.delete(hash);
    this.#held.delete(hash);
    if (before === undefined) this.#writes.del(paymentKey(entry.number));
    else this.#writes.put(paymentKey(entry.number), encodeEntry(before as Entry));
  }

  restore(before: OwnTransaction): void {
    const entry: Entry = { ...(before as Entry) };
    this.#inFlight.set(entry.hash, entry);
    this.#writes.put(paymentKey(entry.number), encodeEntry(entry));
    this.release(entry.hash);
  }

  get size(): number {
    return this.#inFlight.size;
  }

  /** Transactions that are queued or sent, in the order of making: one that spends an output of another comes after that. */
  inFlight(): readonly OwnTransaction[] {
    return [...this.#inFlight.values()];
  }

  get(hash: string): OwnTransaction | undefined {
    return this.#inFlight.get(hash);
  }

  /** Takes the next transaction to send, until `release`. One that spends an output of another waits until that is admitted. */
  takeQueued(): OwnTransaction | undefined {
    for (const hash of this.#queued) {
      this.#queued.delete(hash);
      const entry = this.#inFlight.get(hash);
      if (entry?.state !== 'queued') continue;
      const parent = this.parentsOf(entry).find(({ state }) => state === 'queued');
      if (parent === undefined) return entry;
      this.#hold(hash, parent.hash);
    }
    return undefined;
  }

  mark(hash: string, state: PaymentState, reason = ''): OwnTransaction | undefined {
    const entry = this.#inFlight.get(hash);
    if (entry === undefined) return undefined;
    entry.state = state;
    entry.reason = reason;
    this.#writes.put(paymentKey(entry.number), encodeEntry(entry));
    if (state === 'queued') this.#queued.add(hash);
    else this.#queued.delete(hash);
    if (state === 'confirmed' || state === 'rejected') this.#inFlight.delete(hash);
    if (state !== 'queued') this.#letGo(hash);
    return entry;
  }

  /** A rejected transaction, if it is loaded. */
  rejected(hash: string): OwnTransaction | undefined {
    return this.#rejected.get(hash);
  }

  /** Loads rejected transactions, so that `add` and `revive` find them. */
  async loadRejected(hashes: ReadonlySet<string>): Promise<void> {
    let missing = [...hashes].filter((hash) => !this.#rejected.has(hash)).length;
    if (missing === 0) return;
    for await (const [key, record] of this.#kv.entries({ ...prefixRange(PREFIX.payment), reverse: true })) {
      const entry = decodePayment(keyNumber(key), record);
      if (!hashes.has(entry.hash) || this.#rejected.has(entry.hash)) continue;
      this.#rejected.set(entry.hash, entry);
      missing -= 1;
      if (missing === 0) return;
    }
  }

  /** Confirms a rejected transaction, if it is loaded: it is in the chain all the same. Staged. */
  revive(hash: string): void {
    const entry = this.#rejected.get(hash);
    if (entry === undefined) return;
    this.#rejected.delete(hash);
    this.#writes.put(paymentKey(entry.number), encodeEntry({ ...entry, state: 'confirmed', reason: '' }));
  }

  parentsOf({ transaction }: OwnTransaction): readonly OwnTransaction[] {
    return spentOutPoints(transaction).flatMap(({ tHash }) => this.#inFlight.get(tHash) ?? []);
  }

  /** Transactions among these that are in flight, and all in flight that they depend on, in the order of making. */
  lineageOf(hashes: Iterable<string>): readonly OwnTransaction[] {
    const found = new Set<OwnTransaction>();
    const open = [...hashes].flatMap((hash) => this.get(hash) ?? []);
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      if (found.has(next)) continue;
      found.add(next);
      open.push(...this.parentsOf(next));
    }
    return this.inFlight().filter((entry) => found.has(entry));
  }

  /** The most recent transactions with their states, whatever became of them, oldest first; at most 10,000, or `limit`. */
  async latest(limit = MAX_LATEST): Promise<readonly OwnTransaction[]> {
    const newest: OwnTransaction[] = [];
    const range = { ...prefixRange(PREFIX.payment), reverse: true, limit: Math.min(limit, MAX_LATEST) };
    for await (const [key, record] of this.#kv.entries(range)) newest.push(decodePayment(keyNumber(key), record));
    return newest.reverse();
  }

  #nextNumber(): number {
    const number = this.#meta.current.payments;
    this.#meta.update({ payments: number + 1 });
    return number;
  }

  #hold(hash: string, parent: string): void {
    const held = this.#held.get(parent);
    if (held === undefined) this.#held.set(parent, new Set([hash]));
    else held.add(hash);
  }

  #letGo(parent: string): void {
    for (const hash of this.#held.get(parent) ?? []) this.release(hash);
    this.#held.delete(parent);
  }
}

const scratch = new BincodeWriter();

// The state comes first: a start skips settled transactions by one byte. State and kind are indexes: new ones go to the end of
// their lists.
function encodeEntry(entry: Entry): Uint8Array {
  const to = scratch.reset();
  to.u8(PAYMENT_STATES.indexOf(entry.state));
  to.u8(PAYMENT_KINDS.indexOf(entry.kind));
  to.string(entry.reason);
  to.optionalString(entry.peer);
  to.u64(BigInt(Math.floor(entry.createdAt)));
  to.string(entry.hash);
  writeTransaction(to, entry.transaction);
  return to.toBytes();
}

/**
 * A stored payment, queued again; undefined if it is queued already, or rejected. A `sent` one counts as confirmed once its inputs are
 * gone. Throws `wallet_unreadable`.
 */
export function reopenPayment(
  number: number,
  record: Uint8Array,
): { readonly payment: OwnTransaction; readonly record: Uint8Array } | undefined {
  const entry = decodePayment(number, record);
  if (entry.state !== 'confirmed' && entry.state !== 'sent') return undefined;
  const payment: Entry = { ...entry, state: 'queued', reason: '' };
  return { payment, record: encodeEntry(payment) };
}

function isSettled(record: Uint8Array): boolean {
  const state = PAYMENT_STATES[record[0] ?? 0];
  return state === 'confirmed' || state === 'rejected';
}

export function decodePayment(number: number, record: Uint8Array): Entry {
  return decodeRecord('payment', record, (from) => readEntry(number, from), 'wallet_unreadable');
}

function readEntry(number: number, from: BincodeReader): Entry {
  const state = readChoice(from, PAYMENT_STATES);
  const kind = readChoice(from, PAYMENT_KINDS);
  const reason = from.string();
  const peer = from.optionalString();
  const createdAt = from.number64();
  const hash = from.string();
  return { number, state, kind, reason, peer, createdAt, hash, transaction: readTransaction(from) };
}
