/**
 * Places for submissions that wait for others to be decided, before any work is done for them. Who takes more leaves as many to
 * others as it takes.
 */

import { TesseraError } from '../../lib/errors.js';

/** Each is looked at again whenever one that it waits for is decided. */
const MAX_WAITING = 1_000;

export class WaitingPlaces {
  #taken = 0;
  readonly #bySender = new Map<string, number>();

  /** The result gives the place back. Throws `overloaded` when there is none. */
  take(sender: string): () => void {
    const own = this.#bySender.get(sender) ?? 0;
    if (this.#taken + own + 1 > MAX_WAITING) {
      throw new TesseraError('overloaded', 'too many submissions wait for others to be decided; try again in a moment');
    }
    this.#taken++;
    this.#bySender.set(sender, own + 1);
    return () => this.#giveBack(sender);
  }

  #giveBack(sender: string): void {
    this.#taken--;
    const left = (this.#bySender.get(sender) ?? 0) - 1;
    if (left > 0) this.#bySender.set(sender, left);
    else this.#bySender.delete(sender);
  }
}
