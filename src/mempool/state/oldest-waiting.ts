/**
 * The command behind which everything that waits for a block came. A journal that is not cut behind it gives all that waits
 * once more to a node that has no state of its own and none to take.
 */

/** Places in the journal that are remembered; of more, every second one is forgotten. */
const MAX_PLACES = 4_096;

interface Place {
  /** The last command of a group, and how many transactions had been accepted after it. */
  readonly seq: number;
  readonly arrivals: number;
}

export class OldestWaiting {
  #places: Place[];

  /** Where the state stands: what was accepted before may be of any command. */
  constructor(seq: number, arrivals: number) {
    this.#places = [{ seq, arrivals }];
  }

  /** Commands up to `seq` were applied. */
  passed(seq: number, arrivals: number): void {
    if (this.#places.at(-1)?.arrivals === arrivals) this.#places.pop();
    this.#places.push({ seq, arrivals });
    if (this.#places.length > MAX_PLACES) this.#places = this.#places.filter((_, i) => i % 2 === 0);
  }

  /**
   * The number of a command behind which the transaction with that arrival number came, and all later ones; 0 when none is known.
   * Undefined: nothing waits.
   */
  before(oldest: number | undefined): number {
    if (oldest === undefined) return this.#places.at(-1)?.seq ?? 0;
    const at = this.#places.findLastIndex(({ arrivals }) => arrivals < oldest);
    const place = this.#places[at];
    if (place === undefined) return 0;
    this.#places = this.#places.slice(at);
    return place.seq;
  }
}
