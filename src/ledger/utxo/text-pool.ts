/** Texts that outputs refer to by number, each kept once and counted; found by an index under the table's key. */

import type { KeyedHash } from './keyed-hash.js';
import { SlotIndex } from './slot-index.js';

export class TextPool {
  readonly #hash: KeyedHash;
  readonly #index: SlotIndex;
  readonly #texts: (string | undefined)[] = [undefined];
  readonly #uses: number[] = [0];
  readonly #free: number[] = [];
  // The text of the current look-up, kept here so that a look-up allocates nothing.
  #wanted = '';
  readonly #isWanted = (number: number): boolean => this.#texts[number] === this.#wanted;

  constructor(hash: KeyedHash) {
    this.#hash = hash;
    this.#index = new SlotIndex((number) => hash.ofText(this.text(number)));
  }

  find(text: string): number | undefined {
    return this.#find(this.#hash.ofText(text), text);
  }

  /** The number of the text, which gets one more use. */
  add(text: string): number {
    const hash = this.#hash.ofText(text);
    const known = this.#find(hash, text);
    if (known !== undefined) {
      this.#uses[known] = (this.#uses[known] ?? 0) + 1;
      return known;
    }
    const number = this.#free.pop() ?? this.#texts.length;
    this.#texts[number] = text;
    this.#uses[number] = 1;
    this.#index.add(hash, number);
    return number;
  }

  release(number: number): void {
    const uses = (this.#uses[number] ?? 0) - 1;
    this.#uses[number] = uses;
    if (uses > 0) return;
    this.#index.remove(this.#hash.ofText(this.text(number)), number);
    this.#texts[number] = undefined;
    this.#free.push(number);
  }

  text(number: number): string {
    const text = this.#texts[number];
    if (text === undefined) throw new Error(`UTXO table: text ${number} is not in use`);
    return text;
  }

  #find(hash: number, text: string): number | undefined {
    this.#wanted = text;
    const number = this.#index.find(hash, this.#isWanted);
    return number === 0 ? undefined : number;
  }
}
