/**
 * Results by idempotency key, so that a repeated request does nothing twice (docs/wallet.md#paid-exactly-once). A key is
 * written with its transaction and kept until the end of the next day (UTC), in folders by day.
 */

import { BincodeWriter } from '../chain/bincode.js';
import { sha3Hex } from '../crypto/sha3.js';
import { decodeRecord } from '../db/decode-record.js';
import { prefixRange } from '../db/keys.js';
import { errorMessage, TesseraError } from '../lib/errors.js';
import { idempotencyRecordKey, keyText, PREFIX } from './layout.js';
import type { WalletParts } from './modules.js';

/** Characters of a day, such as `2026-11-21`. */
const DAY_LENGTH = 10;
const MS_PER_DAY = 86_400_000;
/** The most keys that are kept, of all days: about 200 MB on disk, nothing in memory. */
const MAX_KEPT = 1_000_000;
/** Keys that are deleted in one batch. */
const DROPPED_AT_ONCE = 1_000;

/** Callers of the API share their idempotency keys: a key outlives the API key with which it came. */
export const CALLERS = 'api';

export interface KeyedRequest {
  /** Owner of the key: callers of the API, or another node. Two scopes share no keys. */
  readonly scope: string;
  readonly key: string;
  /** Fields of the request, the same whenever the same is meant. They contain no secrets: their digest is kept. */
  readonly request: readonly (string | null)[];
}

/** Stages the record of a key with the name of the result; called in the step that stages the result. */
export type KeepKey = (name: string) => void;

/** Goes on with the result of this name, also for repetitions. `free` stages that the key is free, if nothing was done after all. */
export type FollowUp = (name: string, free: () => void) => Promise<void>;

export interface IdempotencyKeysOptions {
  /** The most keys that are kept; 1,000,000 by default. */
  readonly maxKept?: number | undefined;
}

export type IdempotencyKeysModules = Pick<WalletParts, 'clock' | 'kv' | 'logger' | 'writes'>;

interface KeptKey {
  readonly fingerprint: string;
  readonly name: string;
}

/** `day`: the day whose folder has the key. */
interface PlacedKey extends KeptKey {
  readonly day: string;
}

export class IdempotencyKeys {
  readonly #maxKept: number;
  readonly #modules: IdempotencyKeysModules;
  /** Number of keys by day; those from before yesterday are being deleted. */
  readonly #days: Map<string, number>;
  /** Requests under way, by the digest of their key. */
  readonly #running = new Map<string, { readonly fingerprint: string; readonly result: Promise<string> }>();
  #dropping: Promise<void> = Promise.resolve();
  #isClosed = false;

  private constructor(
    { maxKept = MAX_KEPT }: IdempotencyKeysOptions,
    modules: IdempotencyKeysModules,
    days: Map<string, number>,
  ) {
    this.#maxKept = maxKept;
    this.#modules = modules;
    this.#days = days;
  }

  static async open(options: IdempotencyKeysOptions, modules: IdempotencyKeysModules): Promise<IdempotencyKeys> {
    const days = new Map<string, number>();
    for await (const [key] of modules.kv.entries(prefixRange(PREFIX.idempotencyKey))) {
      const day = keyText(key).slice(0, DAY_LENGTH);
      days.set(day, (days.get(day) ?? 0) + 1);
    }
    const keys = new IdempotencyKeys(options, modules, days);
    keys.#dropExpired();
    return keys;
  }

  /**
   * The name of the result for this key, made by `make` or by an earlier request, which is awaited. A failure leaves the key free. Throws
   * `idempotency_key_reused` for another request, `overloaded` when too many keys are kept, and what `make` and `follow` throw.
   */
  async once(keyed: KeyedRequest, make: (keep: KeepKey) => Promise<string>, follow?: FollowUp): Promise<string> {
    const id = idOf(keyed);
    const fingerprint = sha3Hex(JSON.stringify(keyed.request));
    const running = this.#running.get(id);
    if (running !== undefined) {
      checkSame(running.fingerprint, fingerprint);
      return running.result;
    }
    const result = this.#first(id, fingerprint, make, follow);
    this.#running.set(id, { fingerprint, result });
    try {
      return await result;
    } finally {
      this.#running.delete(id);
    }
  }

  /** Acts once as `once`, when no transaction in this wallet is the result: the key is kept after the act. */
  async onceDone(keyed: KeyedRequest, act: () => Promise<void>): Promise<void> {
    await this.once(keyed, async (keep) => {
      await act();
      keep('');
      await this.#modules.writes.flush();
      return '';
    });
  }

  /** The name of the result for this key; undefined while none is kept, and after its time. */
  async nameOf(keyed: Pick<KeyedRequest, 'scope' | 'key'>): Promise<string | undefined> {
    return (await this.#find(idOf(keyed)))?.name;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#dropping;
  }

  async #first(
    id: string,
    fingerprint: string,
    make: (keep: KeepKey) => Promise<string>,
    follow?: FollowUp,
  ): Promise<string> {
    this.#dropExpired();
    let kept = await this.#find(id);
    if (kept !== undefined) checkSame(kept.fingerprint, fingerprint);
    else this.#checkRoom();
    const keep = (name: string): void => {
      kept = this.#keep(id, { fingerprint, name });
    };
    const name = kept?.name ?? (await make(keep));
    await follow?.(name, () => kept && this.#free(id, kept));
    return name;
  }

  async #find(id: string): Promise<PlacedKey | undefined> {
    const days = [...this.#days.keys()];
    const records = await this.#modules.kv.getMany(days.map((day) => idempotencyRecordKey(day, id)));
    const [found] = days.flatMap((day, i) => {
      const record = records[i];
      return record === undefined ? [] : [{ ...decodeKeptKey(record), day }];
    });
    return found;
  }

  /** Throws `overloaded` when too many keys are kept. Dropping a key before its time could mean a payment made twice. */
  #checkRoom(): void {
    const kept = [...this.#days.values()].reduce((sum, count) => sum + count, this.#running.size);
    if (kept <= this.#maxKept) return;
    throw new TesseraError(
      'overloaded',
      `this wallet keeps ${this.#maxKept} idempotency keys already; the oldest go at the end of the day (UTC)`,
    );
  }

  #keep(id: string, made: KeptKey): PlacedKey {
    const kept = { ...made, day: this.#dayOf(0) };
    this.#put(id, kept);
    this.#modules.writes.onFailure(() => this.#del(id, kept));
    return kept;
  }

  #free(id: string, kept: PlacedKey): void {
    this.#del(id, kept);
    this.#modules.writes.onFailure(() => this.#put(id, kept));
  }

  #put(id: string, kept: PlacedKey): void {
    this.#modules.writes.put(idempotencyRecordKey(kept.day, id), encodeKeptKey(kept));
    this.#days.set(kept.day, (this.#days.get(kept.day) ?? 0) + 1);
  }

  #del(id: string, { day }: PlacedKey): void {
    this.#modules.writes.del(idempotencyRecordKey(day, id));
    const count = this.#days.get(day);
    // The count is undefined when the day is over and its keys are dropped.
    if (count !== undefined) this.#days.set(day, count - 1);
  }

  #dayOf(daysAgo: number): string {
    return new Date(this.#modules.clock.now() - daysAgo * MS_PER_DAY).toISOString().slice(0, DAY_LENGTH);
  }

  #dropExpired(): void {
    const yesterday = this.#dayOf(1);
    const expired = [...this.#days.keys()].filter((day) => day < yesterday);
    for (const day of expired) {
      this.#days.delete(day);
      this.#dropping = this.#dropping.then(() => this.#dropDay(day));
    }
  }

  /** Deletes the keys of a day that nobody reads or writes any more. If that fails, it is done after the next start. */
  async #dropDay(day: string): Promise<void> {
    const { kv, logger } = this.#modules;
    const range = { gte: idempotencyRecordKey(day, ''), lt: idempotencyRecordKey(day, 'g'), limit: DROPPED_AT_ONCE };
    try {
      for (let count = DROPPED_AT_ONCE; count === DROPPED_AT_ONCE && !this.#isClosed; ) {
        const batch = kv.batch();
        for await (const [key] of kv.entries(range)) batch.del(key);
        count = batch.size;
        if (count > 0) await kv.write(batch, { sync: false });
      }
    } catch (error) {
      logger.warn({ day, error: errorMessage(error) }, 'idempotency keys that have expired could not be dropped');
    }
  }
}

const idOf = ({ scope, key }: Pick<KeyedRequest, 'scope' | 'key'>): string => sha3Hex(JSON.stringify([scope, key]));

function checkSame(known: string, asked: string): void {
  if (known === asked) return;
  throw new TesseraError(
    'idempotency_key_reused',
    'this Idempotency-Key was used before for another request; nothing was done now: take a new key for a new request',
  );
}

const scratch = new BincodeWriter();

export function encodeKeptKey({ fingerprint, name }: KeptKey): Uint8Array {
  const to = scratch.reset();
  to.string(fingerprint);
  to.string(name);
  return to.toBytes();
}

/** A key from its record. Throws `wallet_unreadable`. */
export function decodeKeptKey(record: Uint8Array): KeptKey {
  return decodeRecord(
    'idempotency key',
    record,
    (from) => ({ fingerprint: from.string(), name: from.string() }),
    'wallet_unreadable',
  );
}
