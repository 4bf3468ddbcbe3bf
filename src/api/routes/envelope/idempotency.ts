/**
 * Answers kept by `x-cache-id` (decision E3): a repeated id with the same route and body gets the stored answer and the
 * handler is not run, also while the first request is still being answered. Errors are not kept. Bounded by number, by
 * bytes and by age.
 */

import type { Clock } from '../../../lib/clock.js';
import { TesseraError } from '../../../lib/errors.js';

export interface IdempotencyOptions {
  readonly maxEntries: number;
  readonly ttlSeconds: number;
}

export interface IdempotencyCache {
  /**
   * The kept answer, or that of `produce`. `body` is a digest of the request's body. Throws `idempotency_conflict` when
   * the id was used with another route or body.
   */
  run(id: string, route: string, body: string, produce: () => Promise<Answer>): Promise<Answer>;
}

/** The JSON of an answer. */
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

export function createIdempotencyCache(
  { maxEntries, ttlSeconds }: IdempotencyOptions,
  { clock }: { readonly clock: Clock },
): IdempotencyCache {
  // In the order of insertion, which with one age for all is the order of expiry.
  const entries = new Map<string, Entry>();
  let total = 0;

  const remove = (id: string, entry: Entry): void => {
    if (entries.get(id) !== entry) return;
    entries.delete(id);
    total -= entry.size ?? 0;
  };

  const trim = (): void => {
    for (const [id, entry] of entries) {
      const isFull = entries.size > maxEntries || total > MAX_SIZE;
      if (!isFull && entry.expires > clock.monotonic()) return;
      // One that is being made must stay, or a second request would run the handler again.
      if (entry.size !== undefined) remove(id, entry);
    }
  };

  const start = (id: string, route: string, body: string, produce: () => Promise<Answer>): Promise<Answer> => {
    const answer = produce();
    const entry: Entry = { route, body, expires: clock.monotonic() + ttlSeconds * 1000, answer, size: undefined };
    entries.set(id, entry);
    answer.then(
      (text) => {
        entry.size = text.length;
        total += text.length;
        trim();
      },
      () => remove(id, entry),
    );
    return answer;
  };

  return {
    async run(id, route, body, produce) {
      const entry = entries.get(id);
      if (entry === undefined || (entry.size !== undefined && entry.expires <= clock.monotonic())) {
        if (entry) remove(id, entry);
        return start(id, route, body, produce);
      }
      if (entry.route !== route || entry.body !== body) {
        throw new TesseraError('idempotency_conflict', 'this x-cache-id was used before with another route or body.');
      }
      return entry.answer;
    },
  };
}
