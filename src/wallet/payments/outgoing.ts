/**
 * The wallet's own transactions: a durable queue of what must be sent, and the history of what became of it. States go
 * `queued` (durable, the mempool has not answered) → `sent` (admitted) → `confirmed` or `rejected`. The bytes are stored
 * once and sent again as they are: a payment never becomes another transaction. Settled ones are on disk only.
 */

import { BincodeReader, BincodeWriter } from '../../chain/bincode.js';
import { readTransaction, writeTransaction } from '../../chain/codec.js';
import type { Transaction } from '../../chain/types.js';
import { prefixRange } from '../../db/keys.js';
import type { Kv } from '../../db/kv.js';
import { keyNumber, PREFIX, paymentKey } from '../layout.js';
import type { MetaStore } from '../meta.js';
import { PAYMENT_KINDS, PAYMENT_STATES, type PaymentKind, type PaymentState } from '../service.js';
import type { StagedWrites } from '../staged-writes.js';

/** Own transactions that `history` gives at most: the most recent ones. */
const HISTORY_SHOWN = 10_000;

// Records hold the index of state and kind: new ones go to the end of these lists.
const STATES = PAYMENT_STATES;
export type OutgoingState = PaymentState;
const KINDS = PAYMENT_KINDS;
export type OutgoingKind = PaymentKind;

export interface OwnTransaction {
  readonly hash: string;
  readonly transaction: Transaction;
  readonly kind: OutgoingKind;
  /** Peer to tell when the mempool has admitted it (payments by ip), else null. */
  readonly peer: string | null;
  /** Milliseconds since the Unix epoch. */
  readonly createdAt: number;
  readonly state: OutgoingState;
  /** Why it was rejected; else empty. */
  readonly reason: string;
}

export interface Outgoing {
  /** Stages a new one. It is not sent before `release`. */
  add(entry: Pick<OwnTransaction, 'hash' | 'transaction' | 'kind' | 'peer' | 'createdAt'>): void;
  /** It is durable: it may be sent. */
  release(hash: string): void;
  /** It never became durable. */
  discard(hash: string): void;
  /** Queued or sent, by hash. */
  inFlight(): Iterable<OwnTransaction>;
  get(hash: string): OwnTransaction | undefined;
  /** Takes the next one to send; it is not given again until `putBack`. */
  takeQueued(): OwnTransaction | undefined;
  /** No answer came, or one that asks to try again. */
  putBack(hash: string): void;
  /** Changes the state; undefined when the transaction is not in flight. */
  mark(hash: string, state: OutgoingState, reason?: string): OwnTransaction | undefined;
  readonly queuedCount: number;
  /** Oldest first; the most recent ones. */
  history(limit?: number): Promise<readonly OwnTransaction[]>;
}

interface Entry extends OwnTransaction {
  readonly number: number;
  state: OutgoingState;
  reason: string;
}

export async function openOutgoing(kv: Kv, writes: StagedWrites, meta: MetaStore): Promise<Outgoing> {
  const flying = new Map<string, Entry>();
  const queued = new Set<string>();

  for await (const [key, record] of kv.entries(prefixRange(PREFIX.payment))) {
    if (isSettled(record)) continue;
    const entry = decodeEntry(keyNumber(key), record);
    flying.set(entry.hash, entry);
    if (entry.state === 'queued') queued.add(entry.hash);
  }

  return {
    add(made) {
      const entry: Entry = { ...made, number: meta.current.payments, state: 'queued', reason: '' };
      meta.update({ payments: entry.number + 1 });
      flying.set(entry.hash, entry);
      writes.put(paymentKey(entry.number), encodeEntry(entry));
    },
    release(hash) {
      if (flying.get(hash)?.state === 'queued') queued.add(hash);
    },
    discard(hash) {
      const entry = flying.get(hash);
      if (entry === undefined) return;
      flying.delete(hash);
      queued.delete(hash);
      writes.del(paymentKey(entry.number));
    },
    inFlight: () => flying.values(),
    get: (hash) => flying.get(hash),
    takeQueued() {
      for (const hash of queued) {
        queued.delete(hash);
        const entry = flying.get(hash);
        if (entry?.state === 'queued') return entry;
      }
      return undefined;
    },
    putBack(hash) {
      if (flying.get(hash)?.state === 'queued') queued.add(hash);
    },
    mark(hash, state, reason = '') {
      const entry = flying.get(hash);
      if (entry === undefined) return undefined;
      entry.state = state;
      entry.reason = reason;
      writes.put(paymentKey(entry.number), encodeEntry(entry));
      if (state === 'queued') queued.add(hash);
      else queued.delete(hash);
      if (state === 'confirmed' || state === 'rejected') flying.delete(hash);
      return entry;
    },
    get queuedCount() {
      return queued.size;
    },
    async history(limit = HISTORY_SHOWN) {
      const newest: OwnTransaction[] = [];
      const range = { ...prefixRange(PREFIX.payment), reverse: true, limit: Math.min(limit, HISTORY_SHOWN) };
      for await (const [key, record] of kv.entries(range)) newest.push(decodeEntry(keyNumber(key), record));
      return newest.reverse();
    },
  };
}

const scratch = new BincodeWriter();

// The state comes first: a start skips settled transactions by one byte.
function encodeEntry(entry: Entry): Uint8Array {
  const to = scratch.reset();
  to.u8(STATES.indexOf(entry.state));
  to.u8(KINDS.indexOf(entry.kind));
  to.string(entry.reason);
  to.optionalString(entry.peer);
  to.u64(BigInt(Math.floor(entry.createdAt)));
  to.string(entry.hash);
  writeTransaction(to, entry.transaction);
  return to.toBytes();
}

function isSettled(record: Uint8Array): boolean {
  const state = STATES[record[0] ?? 0];
  return state === 'confirmed' || state === 'rejected';
}

function decodeEntry(number: number, record: Uint8Array): Entry {
  const from = new BincodeReader(record);
  const state = STATES[from.u8()] ?? 'rejected';
  const kind = KINDS[from.u8()] ?? 'payment';
  const reason = from.string();
  const peer = from.optionalString();
  const createdAt = Number(from.u64());
  const hash = from.string();
  const transaction = readTransaction(from);
  from.end();
  return { number, state, kind, reason, peer, createdAt, hash, transaction };
}
