/**
 * The command behind which everything that waits for a block came, and the blocks that are being made were cut. A journal that is not
 * cut behind it gives all of that once more to a node that has no state of its own and none to take.
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
  /** The blocks that are being made, each with a command behind which it was cut. */
  #rounds: ReadonlyMap<number, number>;

  /** Where the state stands: what was accepted, or cut, before may be of any command. */
  constructor(seq: number, arrivals: number, rounds: readonly number[] = []) {
    this.#places = [{ seq, arrivals }];
    this.#rounds = new Map(rounds.map((height) => [height, 0]));
  }

  /** Commands up to `seq` were applied; `rounds` are the heights of the blocks that are being made now. */
  passed(seq: number, arrivals: number, rounds: readonly number[] = []): void {
    const behind = this.#places.at(-1)?.seq ?? 0;
    this.#rounds = new Map(rounds.map((height) => [height, this.#rounds.get(height) ?? behind]));
    if (this.#places.at(-1)?.arrivals === arrivals) this.#places.pop();
    this.#places.push({ seq, arrivals });
    if (this.#places.length > MAX_PLACES) this.#places = this.#places.filter((_, i) => i % 2 === 0);
  }

  /**
   * The number of a command behind which the transaction with that arrival number came, all later ones, and the blocks that are
   * being made; 0 when none is known. Undefined: nothing waits.
   */
  before(oldest: number | undefined): number {
    return Math.min(this.#beforeArrival(oldest), ...this.#rounds.values());
  }

  #beforeArrival(oldest: number | undefined): number {
    if (oldest === undefined) return this.#places.at(-1)?.seq ?? 0;
    const at = this.#places.findLastIndex(({ arrivals }) => arrivals < oldest);
    const place = this.#places[at];
    if (place === undefined) return 0;
    this.#places = this.#places.slice(at);
    return place.seq;
  }
}
