/** Limits the number of event streams, for the node and for each client address. */

import { TesseraError } from '../../../lib/errors.js';
import { addressGroup, isLoopback } from '../../../lib/ip-address.js';

export interface StreamLimits {
  /** Maximum number of streams. */
  readonly total: number;
  /**
   * The same for one address. An IPv6 /64 counts as one; loopback is not limited, because a proxy may connect from there.
   */
  readonly perAddress: number;
}

/** Seconds until a client with too many streams may try again. */
const RETRY_SECONDS = 10;

export class StreamPlaces {
  readonly #limits: StreamLimits;
  readonly #taken = new Map<string, number>();
  #total = 0;

  constructor(limits: StreamLimits) {
    this.#limits = limits;
  }

  /** Takes a place; the returned function gives it back. Throws `rate_limited` or `overloaded` when there is none. */
  take(address: string): () => void {
    const group = isLoopback(address) ? undefined : addressGroup(address);
    const { total, perAddress } = this.#limits;
    if (group !== undefined && this.#takenBy(group) >= perAddress) {
      throw new TesseraError('rate_limited', `Your address has ${perAddress} event streams here already; close some.`, {
        details: { retryAfter: RETRY_SECONDS },
      });
    }
    if (this.#total >= total) {
      throw new TesseraError('overloaded', `This node serves ${total} event streams at once; try again later.`);
    }
    this.#count(group, 1);
    return () => this.#count(group, -1);
  }

  #takenBy(group: string): number {
    return this.#taken.get(group) ?? 0;
  }

  #count(group: string | undefined, change: 1 | -1): void {
    this.#total += change;
    if (group === undefined) return;
    const taken = this.#takenBy(group) + change;
    if (taken === 0) this.#taken.delete(group);
    else this.#taken.set(group, taken);
  }
}
