/** Finds which keys of some words are in use: an account ends after `gap` unpaid addresses. To be shown the chain until nothing is new. */

import type { DerivedKeys, KeyPlace } from './derived-keys.js';
import { Lookahead } from './lookahead.js';

/** Distance that `tessera wallet restore` looks ahead: unpaid addresses are given again, so only an owner can leave as many behind. */
export const SEARCH_GAP = 200;

export class AddressSearch {
  readonly #lookahead: Lookahead;
  readonly #used = new Map<string, KeyPlace>();

  /** `handedOut`: the last place known to be in use in each account. */
  constructor(derived: DerivedKeys, gap: number, handedOut: Iterable<KeyPlace> = []) {
    this.#lookahead = new Lookahead(derived, [], gap);
    for (const { account, index: last } of handedOut) {
      for (let index = 0; index <= last; index++) this.#take({ account, index });
    }
  }

  /** Places that were found to be in use, and all places before them. */
  get found(): readonly KeyPlace[] {
    return [...this.#used.values()];
  }

  get watched(): readonly string[] {
    return [...this.#used.keys(), ...this.#lookahead.addresses()];
  }

  /** Notes that the chain has paid the address. True when that is news. */
  note(address: string): boolean {
    const place = this.#lookahead.placeOf(address);
    if (place === undefined) return false;
    for (const earlier of this.#lookahead.upTo(place)) this.#take(earlier);
    return true;
  }

  #take(place: KeyPlace): void {
    this.#used.set(this.#lookahead.take(place).address, place);
  }
}
