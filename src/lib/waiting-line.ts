/** Line of those for whom a budget has no room yet. */

import { type Amount, Budget, type BudgetLimits } from './budget.js';
import { createDeferred, type Deferred } from './deferred.js';
import { FairQueue } from './fair-queue.js';

export interface WaitingLineLimits {
  /** Most that may wait, in the measure of the budget; beyond it, whoever has most waiting loses its last. */
  readonly maxWaiting: number;
}

/** One who has room in a budget, or waits for it. */
export interface Place {
  /** Resolves when there is room, undefined when there is at once; rejects with the error of the budget for who loses its place. */
  readonly ready: Promise<void> | undefined;
  /** Frees the room. One that still waits is told why, by its rejection. */
  leave(error?: Error): void;
}

interface Waiter {
  /** Undefined for one whose share is not limited. */
  readonly holder: string | undefined;
  readonly amount: Amount;
  readonly ready: Deferred<void>;
  release?: () => void;
}

/** A line of those for whom a budget has no room: each party's in order, the parties in turn, nobody passed over. */
export class WaitingLine {
  readonly #budget: Budget;
  readonly #limits: BudgetLimits & WaitingLineLimits;
  readonly #waiting = new FairQueue<Waiter>();

  constructor(limits: BudgetLimits & WaitingLineLimits) {
    this.#limits = limits;
    this.#budget = new Budget(limits);
  }

  /** `size` may be larger than the budget: then it needs all of it. */
  enter(party: string, size: number, { isLimited = true }: { readonly isLimited?: boolean } = {}): Place {
    const { total, maxWaiting, refuse } = this.#limits;
    const holder = isLimited ? party : undefined;
    const waiter: Waiter = { holder, amount: [Math.min(size, total[0] ?? size)], ready: createDeferred<void>() };
    this.#waiting.push(party, waiter, size);
    this.#startNext();
    const isAtOnce = waiter.release !== undefined;
    while (this.#waiting.size > maxWaiting) this.#waiting.drop()?.ready.reject(refuse([], false));
    return {
      ready: isAtOnce ? undefined : waiter.ready.promise,
      leave: (error = refuse([], false)) => {
        if (this.#waiting.delete(party, waiter)) waiter.ready.reject(error);
        waiter.release?.();
        this.#startNext();
      },
    };
  }

  #startNext(): void {
    const mayGo = ({ holder, amount }: Waiter): boolean => this.#budget.isWithinShare(holder, amount);
    for (let next = this.#waiting.peek(mayGo); next !== undefined; next = this.#waiting.peek(mayGo)) {
      if (!this.#budget.hasRoom(next.amount)) return;
      this.#waiting.shift(mayGo);
      next.release = this.#budget.add(next.holder, next.amount);
      next.ready.resolve();
    }
  }
}
