/**
 * Waits for the journal that several nodes share to be applied here. A node that is behind must not refuse, by an old state,
 * what is valid by a newer one; and whoever has appended something is answered in time when it cannot be read back.
 */

import type { Journal } from '../../journal/journal.js';
import type { Clock } from '../../lib/clock.js';
import { createDeferred } from '../../lib/deferred.js';
import { TesseraError } from '../../lib/errors.js';
import type { Signal } from '../../lib/signal.js';
import type { MempoolState } from '../state/state.js';

/** Milliseconds between two looks at whether the journal can be read while something waits for it. */
const LOOK_MS = 1_000;
/** Looks until a node that does not get to the end of the journal says so. */
const PATIENCE_LOOKS = 10;

export interface CatchUpModules {
  readonly journal: Pick<Journal, 'sync'>;
  readonly state: Pick<MempoolState, 'seq'>;
  /** Signal of `Applier`. */
  readonly applied: Signal<void>;
  readonly clock: Clock;
}

export class CatchUp {
  readonly #modules: CatchUpModules;
  /** Question where the journal ends: the one under way, and the next one, which begins when that is answered. */
  #asking: Promise<number> | undefined;
  #asksNext: Promise<number> | undefined;

  constructor(modules: CatchUpModules) {
    this.#modules = modules;
  }

  /**
   * Resolves when everything is applied that was in the journal when it was called: with true when that is more than `seq`, so
   * that what was judged by the state at `seq` has to be judged again. Throws `mempool_unreachable` when it takes too long.
   */
  async isNewer(seq = this.#modules.state.seq): Promise<boolean> {
    const { state } = this.#modules;
    await this.#reach(await this.#head());
    return state.seq > seq;
  }

  /** All that ask while a question is under way share the next one: an answer is of after it was asked. */
  #head(): Promise<number> {
    if (this.#asking === undefined) return this.#ask();
    this.#asksNext ??= this.#asking.catch(() => undefined).then(() => this.#ask());
    return this.#asksNext;
  }

  #ask(): Promise<number> {
    this.#asksNext = undefined;
    const asking = this.#modules.journal.sync().finally(() => {
      if (this.#asking === asking) this.#asking = undefined;
    });
    this.#asking = asking;
    return asking;
  }

  async #reach(seq: number): Promise<void> {
    const { state, applied, clock } = this.#modules;
    if (state.seq >= seq) return;
    const reached = createDeferred<void>();
    const off = applied.on(() => state.seq >= seq && reached.resolve());
    const timer = clock.after(PATIENCE_LOOKS * LOOK_MS, () =>
      reached.reject(new TesseraError('mempool_unreachable', 'this node is behind the journal; try again')),
    );
    try {
      await reached.promise;
    } finally {
      off();
      timer.cancel();
    }
  }
}

/**
 * The outcome of a command that is in the journal. Throws `mempool_unreachable` when a journal that is shared cannot be read:
 * then the command is applied some time later.
 */
export async function inTime<T>(
  outcome: Promise<T>,
  journal: Pick<Journal, 'isShared' | 'problem'>,
  clock: Clock,
): Promise<T> {
  while (journal.isShared) {
    const later = createDeferred<undefined>();
    const timer = clock.after(LOOK_MS, () => later.resolve(undefined));
    try {
      const found = await Promise.race([outcome.then((value) => ({ value })), later.promise]);
      if (found !== undefined) return found.value;
    } finally {
      timer.cancel();
    }
    if (journal.problem === null) continue;
    throw new TesseraError(
      'mempool_unreachable',
      `this is in the journal, and cannot be read from there now (${journal.problem}): it is taken when it can`,
      { details: { mayBeTaken: true } },
    );
  }
  return outcome;
}
