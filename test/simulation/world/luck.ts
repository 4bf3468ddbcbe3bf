/** Randomness of a simulation: every choice of a world is drawn from generators that follow from its seed. */

import type { Random } from '../../../src/lib/random.js';

const U32 = 2 ** 32;

/** A generator (sfc32). Two with the same name draw the same. */
export class Luck implements Random {
  #a = 0;
  #b = 0;
  #c = 0;
  #count = 1;

  constructor(name: string) {
    for (const letter of name) {
      this.#a = Math.imul(this.#a ^ letter.charCodeAt(0), 0x85eb_ca6b) >>> 0;
      this.#b = (Math.imul(this.#b, 31) + letter.charCodeAt(0)) >>> 0;
      this.#word();
    }
    for (let i = 0; i < 12; i++) this.#word();
  }

  /** From 0 up to, not including, 1. */
  next(): number {
    return this.#word() / U32;
  }

  /** From 0 up to, not including, `end`, a whole number. */
  below(end: number): number {
    return Math.floor(this.next() * end);
  }

  between(least: number, most: number): number {
    return least + this.next() * (most - least);
  }

  chance(share: number): boolean {
    return this.next() < share;
  }

  /** One of a list that is not empty. */
  pick<T>(from: readonly T[]): T {
    return from[this.below(from.length)] as T;
  }

  bytes(length: number): Uint8Array {
    const bytes = new Uint8Array(length);
    for (let i = 0; i < length; i++) bytes[i] = this.#word() & 0xff;
    return bytes;
  }

  #word(): number {
    const t = (this.#a + this.#b + this.#count++) >>> 0;
    this.#a = (this.#b ^ (this.#b >>> 9)) >>> 0;
    this.#b = (this.#c + (this.#c << 3)) >>> 0;
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + t) >>> 0;
    return t;
  }
}
