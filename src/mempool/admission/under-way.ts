/**
 * Submissions that are not decided yet. A transaction that is sent right behind the one it spends from waits for the
 * verdict on that: it would be refused for an input that exists a moment later. Nobody waits for an output that exists
 * already, even while copies of its transaction arrive; and only a bounded number may wait.
 */

import type { OutPoint } from '../../chain/types.js';
import { Budget } from '../../lib/budget.js';
import { createDeferred, type Deferred } from '../../lib/deferred.js';
import { TesseraError } from '../../lib/errors.js';
import type { CandidateTx } from '../state/acceptance.js';
import type { Coins } from '../state/coins.js';

/** Submissions that one waits for, one behind the other: more than may be behind each other in the pool. */
const MAX_DEPTH = 128;

/** Submissions that wait for others. Each is looked at again whenever one that it waits for is decided. */
const MAX_WAITING = 1_000;

/** Places for submissions that wait for others to be decided, before any work is done for them. Each takes one. */
export function waitingPlaces(): Budget {
  return new Budget({
    total: [MAX_WAITING],
    share: 'free',
    refuse: () =>
      new TesseraError('overloaded', 'too many submissions wait for others to be decided; try again in a moment'),
  });
}

/** A submission, from its arrival to its verdict. */
interface Submission {
  readonly hashes: readonly string[];
  /** Number of submissions that it waits for, one behind the other. */
  readonly depth: number;
}

interface Waiter {
  /** Outputs that it spends and nobody has yet. */
  readonly missing: readonly OutPoint[];
  /** Earlier submissions that bring some of that. */
  readonly open: Set<Submission>;
  readonly ready: Deferred<void>;
}

export interface SubmissionsUnderWayModules {
  readonly coins: Pick<Coins, 'has'>;
  readonly places: Budget;
}

export class SubmissionsUnderWay {
  readonly #coins: Pick<Coins, 'has'>;
  readonly #places: Budget;
  /** Submissions by the hashes of their transactions. Nearly always one for each. */
  readonly #submissions = new Map<string, readonly Submission[]>();
  /** Waiters by the hash of a transaction that they spend from. */
  readonly #waiters = new Map<string, Set<Waiter>>();

  constructor({ coins, places }: SubmissionsUnderWayModules) {
    this.#coins = coins;
    this.#places = places;
  }

  /**
   * The result says that these are decided; it comes when what they spend is there, or every earlier submission that brings it
   * is decided, so nearly always at once. Only earlier ones are waited for, so that none waits for itself. Throws `overloaded`
   * when too many wait.
   */
  enter(candidates: readonly CandidateTx[], sender: string): (() => void) | Promise<() => void> {
    const missing = this.#missing(candidates);
    const open = new Set<Submission>();
    for (const { tHash } of missing) for (const earlier of this.#submissions.get(tHash) ?? []) open.add(earlier);
    const depth = [...open].reduce((deepest, earlier) => Math.max(deepest, earlier.depth + 1), 0);
    if (depth > MAX_DEPTH) {
      throw new TesseraError('overloaded', 'too many submissions wait for one another; try again in a moment');
    }
    const giveBack = open.size > 0 ? this.#places.take(sender, [1]) : undefined;
    const submission: Submission = { hashes: hashesOf(candidates), depth };
    for (const hash of submission.hashes) this.#note(hash, submission);
    const leave = (): void => this.#leave(submission);
    if (giveBack === undefined) return leave;
    return this.#until({ missing, open, ready: createDeferred<void>() }).then(() => {
      giveBack();
      return leave;
    });
  }

  #missing(candidates: readonly CandidateTx[]): readonly OutPoint[] {
    const missing: OutPoint[] = [];
    for (const { tx } of candidates) {
      for (const { previousOut } of tx.inputs) {
        if (previousOut !== null && !this.#coins.has(previousOut)) missing.push(previousOut);
      }
    }
    return missing;
  }

  #note(hash: string, submission: Submission): void {
    const others = this.#submissions.get(hash);
    this.#submissions.set(hash, others === undefined ? [submission] : [...others, submission]);
  }

  #forget(hash: string, submission: Submission): void {
    const others = this.#submissions.get(hash)?.filter((one) => one !== submission) ?? [];
    if (others.length === 0) this.#submissions.delete(hash);
    else this.#submissions.set(hash, others);
  }

  async #until(waiter: Waiter): Promise<void> {
    const hashes = new Set(waiter.missing.map(({ tHash }) => tHash));
    for (const hash of hashes) addTo(this.#waiters, hash, waiter);
    await waiter.ready.promise;
    for (const hash of hashes) removeFrom(this.#waiters, hash, waiter);
  }

  #leave(submission: Submission): void {
    for (const hash of submission.hashes) this.#forget(hash, submission);
    if (this.#waiters.size === 0) return;
    const concerned = new Set(submission.hashes.flatMap((hash) => [...(this.#waiters.get(hash) ?? [])]));
    for (const { missing, open, ready } of concerned) {
      open.delete(submission);
      // Another submission may have brought it too, and sooner.
      if (open.size === 0 || missing.every((outPoint) => this.#coins.has(outPoint))) ready.resolve();
    }
  }
}

function hashesOf(candidates: readonly CandidateTx[]): readonly string[] {
  const hashes = candidates.map(({ hash }) => hash);
  return hashes.length === 1 ? hashes : [...new Set(hashes)];
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
