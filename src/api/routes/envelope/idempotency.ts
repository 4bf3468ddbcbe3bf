/** Keeps answers by `x-cache-id` (decision E3), also while the first request is in progress. Errors are not kept. */

import type { Clock } from '../../../lib/clock.js';
import { TesseraError } from '../../../lib/errors.js';

export interface IdempotencyOptions {
  readonly maxEntries: number;
  readonly ttlSeconds: number;
}

type Answer = string | Buffer;

interface Entry {
  readonly route: string;
  readonly body: string;
  readonly expires: number;
  readonly answer: Promise<Answer>;
  /** Characters of the answer; undefined while it is being made. */
  size: number | undefined;
}

/** Characters of all kept answers together. */
const MAX_SIZE = 64 * 1024 * 1024;

export class IdempotencyCache {
  readonly #options: IdempotencyOptions;
  readonly #clock: Clock;
  // Entries in order of insertion, which is also the order of expiry.
  readonly #entries = new Map<string, Entry>();
  #size = 0;

  /** Makes the cache with the limits in the section `envelope` of the configuration. */
  static of(
    { cacheEntries, cacheTtlSeconds }: { readonly cacheEntries: number; readonly cacheTtlSeconds: number },
    { clock }: { readonly clock: Clock },
  ): IdempotencyCache {
    return new IdempotencyCache({ maxEntries: cacheEntries, ttlSeconds: cacheTtlSeconds }, { clock });
  }

  constructor(options: IdempotencyOptions, { clock }: { readonly clock: Clock }) {
    this.#options = options;
    this.#clock = clock;
  }

  /** The kept answer, or the answer of `produce`. Throws `idempotency_conflict` if the id came with another route or digest of the body. */
  async run(id: string, route: string, body: string, produce: () => Promise<Answer>): Promise<Answer> {
    const entry = this.#entries.get(id);
    if (entry === undefined || (entry.size !== undefined && entry.expires <= this.#clock.monotonic())) {
      if (entry) this.#remove(id, entry);
      return this.#start(id, route, body, produce);
    }
    if (entry.route !== route || entry.body !== body) {
      throw new TesseraError('idempotency_conflict', 'this x-cache-id was used before with another route or body.');
    }
    return entry.answer;
  }

  /** Forgets all answers, also those that are being made, because their chain is gone. */
  clear(): void {
    this.#entries.clear();
    this.#size = 0;
  }

  #start(id: string, route: string, body: string, produce: () => Promise<Answer>): Promise<Answer> {
    const answer = produce();
    const expires = this.#clock.monotonic() + this.#options.ttlSeconds * 1000;
    const entry: Entry = { route, body, expires, answer, size: undefined };
    this.#entries.set(id, entry);
    answer.then(
      (json) => {
        if (this.#entries.get(id) !== entry) return;
        entry.size = json.length;
        this.#size += json.length;
        this.#trim();
      },
      () => this.#remove(id, entry),
    );
    return answer;
  }

  #remove(id: string, entry: Entry): void {
    if (this.#entries.get(id) !== entry) return;
    this.#entries.delete(id);
    this.#size -= entry.size ?? 0;
  }

  #trim(): void {
    for (const [id, entry] of this.#entries) {
      const isFull = this.#entries.size > this.#options.maxEntries || this.#size > MAX_SIZE;
      if (!isFull && entry.expires > this.#clock.monotonic()) return;
      // A request in progress must stay, or a second request would run the handler again.
      if (entry.size !== undefined) this.#remove(id, entry);
    }
  }
}
