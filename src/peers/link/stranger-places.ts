/**
 * The places for links of strangers: peers that neither know the secret nor have a key that this node was told of. When all
 * are taken, the link that has been useless longest makes room, of the address that has most; the links that have been up
 * longest are spared, and so is every link for a moment, so that a flood of newcomers turns nobody out at once.
 */

import { inTheWay } from '../../lib/budget.js';
import type { Clock } from '../../lib/clock.js';
import { type Fault, fault } from '../../lib/fault.js';
import { isLoopback } from '../../lib/ip-address.js';

export interface Stranger {
  readonly host: string;
  /** See `addressGroup`. */
  readonly group: string;
  /** `clock.monotonic()` when its link came up, or its place was taken. */
  readonly since: number;
  /** Time when it last did something useful; `since` when it never did. */
  usefulAt: number;
  /** Undefined while the link is not up. */
  close: ((reason: string) => void) | undefined;
}

export interface StrangerPlacesOptions {
  readonly maxLinks: number;
  readonly maxLinksPerAddress: number;
  readonly tenureMs: number;
  /** Called when a link has to make room. */
  onEvicted(): void;
}

/** One in this many links is spared for its age. */
const SPARED_OF = 4;

export class StrangerPlaces {
  readonly #options: StrangerPlacesOptions;
  readonly #clock: Clock;
  readonly #strangers = new Set<Stranger>();

  constructor(options: StrangerPlacesOptions, clock: Clock) {
    this.#options = options;
    this.#clock = clock;
  }

  /** A place, or why there is none. Return it with `release`. */
  take(host: string, group: string): Stranger | Fault {
    const { maxLinks, maxLinksPerAddress } = this.#options;
    const ofGroup = [...this.#strangers].filter((one) => one.group === group).length;
    const share = isLoopback(host) ? Number.POSITIVE_INFINITY : maxLinksPerAddress;
    const some = inTheWay(this.#strangers, (one) => one.group, group, { total: maxLinks, share });
    if (some.length > 0 && !this.#makeRoom(some)) {
      return fault(
        'link_refused',
        ofGroup >= share
          ? `your address has its ${share} links: try again later, or raise peers.max_links_per_address there`
          : `this node has its ${maxLinks} links: try again later, raise peers.max_links there or link to another node`,
      );
    }
    const now = this.#clock.monotonic();
    const stranger: Stranger = { host, group, since: now, usefulAt: now, close: undefined };
    this.#strangers.add(stranger);
    return stranger;
  }

  release(stranger: Stranger): void {
    this.#strangers.delete(stranger);
  }

  #makeRoom(candidates: readonly Stranger[]): boolean {
    const oldestFirst = [...candidates].sort((a, b) => a.since - b.since);
    const now = this.#clock.monotonic();
    const [victim] = oldestFirst
      .slice(Math.floor(oldestFirst.length / SPARED_OF))
      .filter((one) => one.close !== undefined && now - one.since >= this.#options.tenureMs)
      .sort((a, b) => a.usefulAt - b.usefulAt);
    if (victim === undefined) return false;
    this.#strangers.delete(victim);
    this.#options.onEvicted();
    victim.close?.('its place went to another node: this node has all the links that it takes');
    return true;
  }
}
