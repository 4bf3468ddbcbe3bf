/**
 * Submissions that are not decided yet. A transaction that is sent right behind the one it spends from waits for the verdict
 * on that: it would be refused for an input that exists a moment later. What exists is not waited for, whoever sends copies of
 * its transaction, and who waits has a place among a bounded number of them.
 */

import { spentOutPoints } from '../../chain/transaction.js';
import type { OutPoint } from '../../chain/types.js';
import { createDeferred, type Deferred } from '../../lib/deferred.js';
import { TesseraError } from '../../lib/errors.js';
import type { CandidateTx } from '../state/acceptance.js';
import type { Coins } from '../state/coins.js';
import type { WaitingPlaces } from './waiting-places.js';

/** Submissions that one waits for, one behind the other: more than may be behind each other in the pool. */
const MAX_DEPTH = 128;

/** A submission, from its arrival to its verdict. */
interface Submission {
  readonly hashes: readonly string[];
  /** How many submissions it waits for, one behind the other. */
  readonly depth: number;
}

interface Waiter {
  /** What it spends and nobody has yet. */
  readonly missing: readonly OutPoint[];
  /** Earlier submissions that bring some of that. */
  readonly open: Set<Submission>;
  readonly ready: Deferred<void>;
}

export interface SubmissionsUnderWayModules {
  readonly coins: Pick<Coins, 'has'>;
  readonly places: WaitingPlaces;
}

export class SubmissionsUnderWay {
  readonly #coins: Pick<Coins, 'has'>;
  readonly #places: WaitingPlaces;
  /** By the hashes of their transactions. */
  readonly #submissions = new Map<string, Set<Submission>>();
  /** By the hash of a transaction that they spend from. */
  readonly #waiters = new Map<string, Set<Waiter>>();

  constructor({ coins, places }: SubmissionsUnderWayModules) {
    this.#coins = coins;
    this.#places = places;
  }

  /**
   * Resolves when what these spend is there, or every earlier submission that brings it is decided; the result says that these
   * are. Only earlier ones are waited for, so that none waits for itself. Throws `overloaded` when too many wait.
   */
  async enter(candidates: readonly CandidateTx[], sender: string): Promise<() => void> {
    const missing = candidates.flatMap(({ tx }) => spentOutPoints(tx)).filter((spent) => !this.#coins.has(spent));
    const open = new Set<Submission>();
    for (const { tHash } of missing) for (const earlier of this.#submissions.get(tHash) ?? []) open.add(earlier);
    const depth = [...open].reduce((deepest, earlier) => Math.max(deepest, earlier.depth + 1), 0);
    if (depth > MAX_DEPTH) {
      throw new TesseraError('overloaded', 'too many submissions wait for one another; try again in a moment');
    }
    const giveBack = open.size > 0 ? this.#places.take(sender) : undefined;
    const submission: Submission = { hashes: [...new Set(candidates.map(({ hash }) => hash))], depth };
    for (const hash of submission.hashes) addTo(this.#submissions, hash, submission);
    if (giveBack !== undefined) {
      await this.#until({ missing, open, ready: createDeferred<void>() });
      giveBack();
    }
    return () => this.#leave(submission);
  }

  async #until(waiter: Waiter): Promise<void> {
    const hashes = new Set(waiter.missing.map(({ tHash }) => tHash));
    for (const hash of hashes) addTo(this.#waiters, hash, waiter);
    await waiter.ready.promise;
    for (const hash of hashes) removeFrom(this.#waiters, hash, waiter);
  }

  #leave(submission: Submission): void {
    for (const hash of submission.hashes) removeFrom(this.#submissions, hash, submission);
    const concerned = new Set(submission.hashes.flatMap((hash) => [...(this.#waiters.get(hash) ?? [])]));
    for (const { missing, open, ready } of concerned) {
      open.delete(submission);
      // Another submission may have brought it too, and sooner.
      if (open.size === 0 || missing.every((outPoint) => this.#coins.has(outPoint))) ready.resolve();
    }
  }
}

function addTo<T>(map: Map<string, Set<T>>, key: string, value: T): void {
  const set = map.get(key);
  if (set === undefined) map.set(key, new Set([value]));
  else set.add(value);
}

function removeFrom<T>(map: Map<string, Set<T>>, key: string, value: T): void {
  const set = map.get(key);
  set?.delete(value);
  if (set?.size === 0) map.delete(key);
}
