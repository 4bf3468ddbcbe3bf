/**
 * The places for links of strangers: peers that neither know the secret nor have a key that this node was told of. When all
 * are taken, the link that has been useless longest makes room, of the address that has most; the links that have been up
 * longest are spared, and so is every link for a moment, so that a flood of newcomers turns nobody out at once.
 */

import type { Clock } from '../../lib/clock.js';
import { type Fault, fault } from '../../lib/fault.js';
import { isLoopback } from '../../lib/ip-address.js';
import { countBy } from './handshake-pool.js';

export interface Stranger {
  readonly host: string;
  /** See `addressGroup`. */
  readonly group: string;
  /** `clock.monotonic()` when its link came up, or its place was taken. */
  readonly since: number;
  /** When it last did something useful; `since` when it never did. */
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
    const ofGroup = [...this.#strangers].filter((one) => one.group === group);
    if (ofGroup.length >= maxLinksPerAddress && !isLoopback(host)) {
      if (!this.#makeRoom(ofGroup)) {
        return fault(
          'link_refused',
          `your address has its ${maxLinksPerAddress} links: try again later, or raise peers.max_links_per_address there`,
        );
      }
    } else if (this.#strangers.size >= maxLinks && !this.#makeRoom(this.#largestGroups())) {
      return fault(
        'link_refused',
        `this node has its ${maxLinks} links: try again later, raise peers.max_links there or link to another node`,
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

  #largestGroups(): Stranger[] {
    const counts = countBy(this.#strangers, (one) => one.group);
    const most = Math.max(...counts.values());
    return [...this.#strangers].filter((one) => counts.get(one.group) === most);
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
