/** Tally of the amounts that each address has used in its current window of time. An IPv6 /64 is one address. */

import { LRUCache } from 'lru-cache';
import type { Clock } from '../../lib/clock.js';
import { addressGroup } from '../../lib/ip-address.js';

/** Maximum number of remembered addresses; the address that was quiet the longest makes room. */
const MAX_ADDRESSES = 10_000;

interface Entry {
  amount: number;
  /** Time when the entry is forgotten, by `clock.monotonic()`. */
  readonly until: number;
}

export interface Tally {
  readonly amount: number;
  /** Whole seconds until the amount is forgotten. */
  readonly seconds: number;
}

const NOTHING: Tally = { amount: 0, seconds: 0 };

export class AddressTally {
  readonly #clock: Clock;
  readonly #windowMs: number;
  readonly #entries = new LRUCache<string, Entry>({ maxSize: MAX_ADDRESSES, sizeCalculation: () => 1 });

  constructor(windowMs: number, clock: Clock) {
    this.#windowMs = windowMs;
    this.#clock = clock;
  }

  of(address: string): Tally {
    if (this.#entries.size === 0) return NOTHING;
    const entry = this.#current(addressGroup(address));
    if (entry === undefined) return NOTHING;
    return { amount: entry.amount, seconds: Math.ceil((entry.until - this.#clock.monotonic()) / 1_000) };
  }

  add(address: string, amount: number): void {
    const group = addressGroup(address);
    const entry = this.#current(group);
    if (entry === undefined) this.#entries.set(group, { amount, until: this.#clock.monotonic() + this.#windowMs });
    else entry.amount += amount;
  }

  #current(group: string): Entry | undefined {
    const entry = this.#entries.get(group);
    return entry !== undefined && entry.until > this.#clock.monotonic() ? entry : undefined;
  }
}
