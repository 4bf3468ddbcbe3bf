/**
 * Derived addresses that were not told to anybody: 20 ahead in each account, and those given back. Payments to them count as own, so that
 * an old copy of the wallet, or one made from its words, finds them.
 */

import { addressOf } from '../../chain/address.js';
import { ACCOUNTS, type Account, type DerivedKeys, type KeyPlace } from './derived-keys.js';

export const LOOKAHEAD = 20;

export interface WaitingKey {
  readonly address: string;
  readonly publicKey: Uint8Array;
}

export class Lookahead {
  readonly #derived: DerivedKeys;
  readonly #ahead: number;
  readonly #waiting = new Map<Account, Map<number, WaitingKey>>(ACCOUNTS.map((account) => [account, new Map()]));
  readonly #places = new Map<string, KeyPlace>();
  readonly #derivedTo = new Map<Account, number>();
  #new: string[] = [];

  /** `used`: places handed out; missing indexes between them are handed out first. `ahead`: how many places to look ahead. */
  constructor(derived: DerivedKeys, used: Iterable<KeyPlace>, ahead = LOOKAHEAD) {
    this.#derived = derived;
    this.#ahead = ahead;
    const indexes = new Map<Account, Set<number>>(ACCOUNTS.map((account) => [account, new Set()]));
    for (const { account, index } of used) indexes.get(account)?.add(index);
    for (const account of ACCOUNTS) {
      const taken = indexes.get(account) ?? new Set();
      let last = -1;
      for (const index of taken) last = Math.max(last, index);
      for (let index = 0; index <= last + ahead; index++) if (!taken.has(index)) this.wait({ account, index });
      this.#derivedTo.set(account, last + 1 + ahead);
    }
  }

  addresses(): Iterable<string> {
    return this.#places.keys();
  }

  /** Addresses that have begun to wait since the last call, even if they wait no longer. */
  takeNew(): readonly string[] {
    const taken = this.#new;
    this.#new = [];
    return taken;
  }

  placeOf(address: string): KeyPlace | undefined {
    return this.#places.get(address);
  }

  /** The next place of an account: the lowest that is waiting. */
  next(account: Account): KeyPlace {
    return { account, index: Math.min(...this.#waitingOf(account).keys()) };
  }

  upTo({ account, index }: KeyPlace): readonly KeyPlace[] {
    const indexes = [...this.#waitingOf(account).keys()].filter((waiting) => waiting <= index);
    return indexes.sort((a, b) => a - b).map((waiting) => ({ account, index: waiting }));
  }

  /** Takes the key of a place that is handed out now; new ones at the end replace it. */
  take(place: KeyPlace): WaitingKey {
    const { account, index } = place;
    const waiting = this.#waitingOf(account);
    const key = waiting.get(index) ?? this.#derive(place);
    waiting.delete(index);
    this.#places.delete(key.address);
    const to = this.#derivedTo.get(account) ?? 0;
    const end = index + 1 + this.#ahead;
    for (let next = to; next < end; next++) this.wait({ account, index: next });
    this.#derivedTo.set(account, Math.max(to, end));
    return key;
  }

  /** Makes the key of a place wait: nobody was told of it, or it was given back. */
  wait(place: KeyPlace): void {
    const key = this.#derive(place);
    this.#waitingOf(place.account).set(place.index, key);
    this.#places.set(key.address, place);
    this.#new.push(key.address);
  }

  #derive(place: KeyPlace): WaitingKey {
    const publicKey = this.#derived.publicKey(place);
    return { address: addressOf(publicKey), publicKey };
  }

  #waitingOf(account: Account): Map<number, WaitingKey> {
    const waiting = this.#waiting.get(account);
    if (waiting === undefined) throw new RangeError(`${account} is no account`);
    return waiting;
  }
}
