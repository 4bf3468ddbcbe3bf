/**
 * Submissions that are not decided yet. A transaction that is sent right behind the one it spends from waits for the verdict
 * on that: it would be refused for an input that exists a moment later.
 */

import { spentOutPoints } from '../../chain/transaction.js';
import { createDeferred } from '../../lib/deferred.js';
import type { CandidateTx } from '../state/acceptance.js';

export class SubmissionsUnderWay {
  /** By the hashes of their transactions: settled when they are decided. */
  readonly #submissions = new Map<string, Promise<void>>();

  /**
   * Resolves when every earlier submission that brings something these spend is decided; the result says that these are.
   * Only earlier ones are waited for, so that none waits for itself.
   */
  async enter(candidates: readonly CandidateTx[]): Promise<() => void> {
    const earlier = new Set<Promise<void>>();
    for (const { tx } of candidates) {
      for (const { tHash } of spentOutPoints(tx)) {
        const submission = this.#submissions.get(tHash);
        if (submission !== undefined) earlier.add(submission);
      }
    }
    const decided = createDeferred<void>();
    for (const { hash } of candidates) this.#submissions.set(hash, decided.promise);
    await Promise.all(earlier);
    return () => {
      for (const { hash } of candidates) {
        // Another submission may have brought it too.
        if (this.#submissions.get(hash) === decided.promise) this.#submissions.delete(hash);
      }
      decided.resolve();
    };
  }
}
