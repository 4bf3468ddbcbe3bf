/** A line of callers for whom a budget has no room yet. */

import { type Amount, Budget, type BudgetLimits } from './budget.js';
import { createDeferred, type Deferred } from './deferred.js';
import { FairQueue } from './fair-queue.js';

export interface WaitingLineLimits {
  /** Most that may wait, in the measure of the budget; beyond it, the party with most waiting loses its last place. */
  readonly maxWaiting: number;
}

/** A place in the line of a caller that has room in a budget, or waits for it. */
export interface Place {
  /** Resolves when there is room; undefined when there is room at once. Rejects with the budget's error when the place is lost. */
  readonly ready: Promise<void> | undefined;
  /** Frees the room. If the place still waits, `ready` rejects with the error. */
  leave(error?: Error): void;
}

interface Waiter {
  /** Holder in the budget; undefined for one whose share is not limited. */
  readonly holder: string | undefined;
  readonly amount: Amount;
  readonly ready: Deferred<void>;
  release?: () => void;
}

/** A line for a budget without room: places of a party in their order, parties in turn, no place passed over. */
export class WaitingLine {
  readonly #budget: Budget;
  readonly #limits: BudgetLimits & WaitingLineLimits;
  readonly #waiting = new FairQueue<Waiter>();

  constructor(limits: BudgetLimits & WaitingLineLimits) {
    this.#limits = limits;
    this.#budget = new Budget(limits);
  }

  /** Takes a place. A `size` beyond the budget needs all of the budget. */
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
