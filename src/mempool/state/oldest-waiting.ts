/**
 * The command after which everything came that waits for a block, and after which the blocks that are being made were cut. A
 * journal that is kept from there on gives all of that again to a node that has no state of its own and none to take. And which
 * block was the last one stored before a command: without that, such a node cannot tell what comes again from what is new.
 */

/** Places in the journal that are remembered; of more, every second one is forgotten. */
const MAX_PLACES = 4_096;

/** Commands that stored a block. */
interface Stored {
  /** The number is above `behind`, and not above `seq`. */
  readonly behind: number;
  readonly seq: number;
  /** The last block after them; undefined when that is not known. */
  readonly height: number | undefined;
}

interface Place {
  /** The last command of a group, and how many transactions had been accepted after it. */
  readonly seq: number;
  readonly arrivals: number;
}

/** Position of the state. */
export interface Standing {
  /** Transactions that were ever accepted. */
  readonly arrivals: number;
  /** Heights of the blocks that are being made. */
  readonly rounds?: readonly number[];
  /** The last block that the journal has stored; undefined when that is not known. */
  readonly height?: number | undefined;
}

export class OldestWaiting {
  #places: Place[];
  /** The blocks that are being made, each with a command behind which it was cut. */
  #rounds: ReadonlyMap<number, number>;
  #stored: Stored[];
  #last: number;

  /** Takes the position of the state: what was accepted, or cut, before may be of any command. */
  constructor(seq: number, { arrivals, rounds = [], height }: Standing) {
    this.#last = seq;
    this.#stored = [{ behind: seq, seq, height }];
    this.#places = [{ seq, arrivals }];
    this.#rounds = new Map(rounds.map((height) => [height, 0]));
  }

  /** Commands up to `seq` were applied. */
  noteApplied(seq: number, { arrivals, rounds = [], height }: Standing): void {
    if (height !== this.#stored.at(-1)?.height) this.#stored.push({ behind: this.#last, seq, height });
    if (this.#stored.length > MAX_PLACES) this.#stored.shift();
    this.#last = seq;
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

  /** The last block that was stored before command `seq`, -1 before the first; undefined when that is not known. */
  readonly storedBefore = (seq: number): number | undefined => {
    const last = this.#stored.findLastIndex((one) => one.seq < seq);
    const next = this.#stored[last + 1];
    // It may be one of those that stored the next block.
    return next !== undefined && next.behind < seq - 1 ? undefined : this.#stored[last]?.height;
  };

  #beforeArrival(oldest: number | undefined): number {
    if (oldest === undefined) return this.#places.at(-1)?.seq ?? 0;
    const at = this.#places.findLastIndex(({ arrivals }) => arrivals < oldest);
    const place = this.#places[at];
    if (place === undefined) return 0;
    this.#places = this.#places.slice(at);
    return place.seq;
  }
}
