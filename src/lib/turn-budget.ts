/**
 * Shares out the turns of the event loop: a fixed number of units of work in each, whoever asks for them. Work that arrives
 * all at once then holds the loop no longer than work that arrives piece by piece, and who brings much of it does not keep
 * the others waiting.
 */

import { FairQueue } from './fair-queue.js';

export class TurnBudget {
  readonly #perTurn: number;
  /** Units left in this turn; below zero after a piece of work that was larger than what was left. */
  #left: number;
  readonly #waiting = new FairQueue<{ readonly units: number; readonly start: () => void }>();
  #scheduled = false;

  constructor(perTurn: number) {
    this.#perTurn = perTurn;
    this.#left = perTurn;
  }

  /** Undefined while this turn has room for the work; else it resolves in a turn that has, the senders in turn. */
  take(units: number, sender: string): Promise<void> | undefined {
    this.#schedule();
    if (this.#left > 0 && this.#waiting.length === 0) {
      this.#left -= units;
      return undefined;
    }
    return new Promise<void>((start) => this.#waiting.push(sender, { units, start }));
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#left = Math.min(this.#perTurn, this.#left + this.#perTurn);
      while (this.#left > 0) {
        const next = this.#waiting.shift();
        if (next === undefined) break;
        this.#left -= next.units;
        next.start();
      }
      if (this.#left < this.#perTurn) this.#schedule();
    });
  }
}
