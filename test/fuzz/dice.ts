/** Seeded chance: the same seed gives the same rolls. */

import { fc } from '../support/property.js';
import { seeded } from '../support/seeded.js';

const TWO_32 = 2 ** 32;

export class Dice {
  readonly #next: () => number;

  constructor(seed: number) {
    this.#next = seeded(seed);
  }

  /** A whole number from 0 up to, not including, `end`. */
  below(end: number): number {
    return Math.floor(this.#next() * end);
  }

  /** True once in so many rolls, on the average. */
  oneIn(rolls: number): boolean {
    return this.below(rolls) === 0;
  }

  pick<T>(items: readonly T[]): T {
    const item = items[this.below(items.length)];
    if (item === undefined) throw new RangeError('nothing to pick from');
    return item;
  }

  bytes(length: number): Uint8Array {
    return Uint8Array.from({ length }, () => this.below(256));
  }

  /** A value of a fast-check arbitrary. */
  sample<T>(arbitrary: fc.Arbitrary<T>): T {
    const [value] = fc.sample(arbitrary, { numRuns: 1, seed: this.below(TWO_32) });
    return value as T;
  }
}
