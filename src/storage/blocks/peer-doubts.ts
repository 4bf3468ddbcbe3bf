/**
 * Storage nodes that are not believed for now: they said they have more blocks and did not give them, or gave blocks that are
 * not valid here. By node key, so that a new link of the same node changes nothing.
 */

import type { Clock } from '../../lib/clock.js';
import type { Link } from '../../peers/network.js';

/** Longest time for which a peer is not believed. */
const MAX_DOUBT_MS = 600_000;
/** Peers that are remembered: anybody can make keys, and one that is forgotten is asked once more. */
const MAX_DOUBTS = 4_096;

interface Doubt {
  readonly failures: number;
  /** `clock.monotonic()` until which it is not believed. */
  readonly until: number;
}

type Peer = Pick<Link, 'nodeKey'>;

export class PeerDoubts {
  readonly #clock: Clock;
  readonly #firstMs: number;
  readonly #doubts = new Map<string, Doubt>();

  /** `firstMs`: how long the first broken word counts; each further one counts twice as long. */
  constructor(clock: Clock, firstMs: number) {
    this.#clock = clock;
    this.#firstMs = firstMs;
  }

  /** True when it broke its word and has given no valid block since. */
  has({ nodeKey }: Peer): boolean {
    return this.#doubts.has(nodeKey);
  }

  /** True while it is not believed. */
  isActive({ nodeKey }: Peer): boolean {
    return this.#clock.monotonic() < (this.#doubts.get(nodeKey)?.until ?? 0);
  }

  /** Notes a peer that did not give what it said it has. */
  addBrokenWord(peer: Peer): void {
    const failures = this.#doubts.get(peer.nodeKey)?.failures ?? 0;
    this.#add(peer, Math.min(this.#firstMs * 2 ** failures, MAX_DOUBT_MS));
  }

  /** Notes a peer that gave a block that is not valid here. */
  addWrongBlock(peer: Peer): void {
    this.#add(peer, MAX_DOUBT_MS);
  }

  clear({ nodeKey }: Peer): void {
    this.#doubts.delete(nodeKey);
  }

  #add({ nodeKey }: Peer, pauseMs: number): void {
    const failures = (this.#doubts.get(nodeKey)?.failures ?? 0) + 1;
    // The one that was doubted last is forgotten last.
    this.#doubts.delete(nodeKey);
    this.#doubts.set(nodeKey, { failures, until: this.#clock.monotonic() + pauseMs });
    const [oldest] = this.#doubts.keys();
    if (oldest !== undefined && this.#doubts.size > MAX_DOUBTS) this.#doubts.delete(oldest);
  }
}
