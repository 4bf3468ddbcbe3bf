/** Places for peers that nobody vouches for: places of links, and of handshakes under way. */

import { inTheWay } from '../../lib/budget.js';
import type { Clock } from '../../lib/clock.js';
import { type Fault, fault } from '../../lib/fault.js';
import { isLoopback } from '../../lib/ip-address.js';

export interface Stranger {
  readonly host: string;
  /** Group of the host, as of `addressGroup`. */
  readonly group: string;
  /** Time (`clock.monotonic()`) when the stranger's place was taken. */
  readonly since: number;
  /** Time when the stranger last did something useful; `since` when it never did. */
  usefulAt: number;
  close: ((reason: string) => void) | undefined;
}

export interface StrangerPlacesOptions {
  readonly maxLinks: number;
  readonly maxLinksPerAddress: number;
  readonly tenureMs: number;
  onEvicted(): void;
}

/** Share of the links that are spared, the oldest: one in so many. */
const SPARED_OF = 4;

export class StrangerPlaces {
  readonly #options: StrangerPlacesOptions;
  readonly #clock: Clock;
  readonly #strangers = new Set<Stranger>();

  constructor(options: StrangerPlacesOptions, clock: Clock) {
    this.#options = options;
    this.#clock = clock;
  }

  /** Takes a place, or returns the reason why there is none. `release` gives the place back. */
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

export interface PendingHandshake {
  /** Group of the host, as of `addressGroup`. */
  readonly group: string;
  readonly hasPass: boolean;
  /** True when the peer has proven its key and only its ready is missing. */
  hasProven: boolean;
  cancel(reason: string): void;
}

export interface HandshakePoolOptions {
  readonly max: number;
  readonly maxPerGroup: number;
  onEvicted(): void;
}

const REASON = 'newer connections took the place of this unfinished handshake: try again';

export class HandshakePool {
  readonly #options: HandshakePoolOptions;
  readonly #strangers = new Set<PendingHandshake>();
  readonly #withPass = new Set<PendingHandshake>();

  constructor(options: HandshakePoolOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#strangers.size + this.#withPass.size;
  }

  add(handshake: PendingHandshake): void {
    if (handshake.hasPass) {
      if (this.#withPass.size >= this.#options.max) this.#evict([...this.#withPass][0]);
      this.#withPass.add(handshake);
      return;
    }
    this.#makeRoom(handshake.group);
    this.#strangers.add(handshake);
  }

  delete(handshake: PendingHandshake): void {
    this.#strangers.delete(handshake);
    this.#withPass.delete(handshake);
  }

  cancelAll(reason: string): void {
    for (const handshake of [...this.#strangers, ...this.#withPass]) handshake.cancel(reason);
  }

  #makeRoom(group: string): void {
    const { max: total, maxPerGroup: share } = this.#options;
    const some = inTheWay(this.#strangers, (one) => one.group, group, { total, share });
    // A stranger that has proven nothing goes first.
    this.#evict(some.find(({ hasProven }) => !hasProven) ?? some[0]);
  }

  #evict(handshake: PendingHandshake | undefined): void {
    if (handshake === undefined) return;
    this.delete(handshake);
    this.#options.onEvicted();
    handshake.cancel(REASON);
  }
}
