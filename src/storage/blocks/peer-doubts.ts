/**
 * Storage nodes that are not believed for now: they did not give blocks that they said they have, or gave invalid blocks.
 * They are kept by node key, so that a new link of the same node changes nothing.
 */

import type { Clock } from '../../lib/clock.js';
import type { Link } from '../../peers/network.js';

/** Milliseconds for which a peer is doubted at most. */
const MAX_DOUBT_MS = 600_000;
/** The most peers that are remembered: anybody can make keys, and a forgotten peer is asked once more. */
const MAX_DOUBTS = 4_096;

interface Doubt {
  readonly failures: number;
  /** Time until which the peer is not believed, by the monotonic clock. */
  readonly until: number;
}

type Peer = Pick<Link, 'nodeKey'>;

export class PeerDoubts {
  readonly #clock: Clock;
  readonly #firstMs: number;
  readonly #doubts = new Map<string, Doubt>();

  /** `firstMs`: milliseconds of doubt after the first broken word; each further one doubles them. */
  constructor(clock: Clock, firstMs: number) {
    this.#clock = clock;
    this.#firstMs = firstMs;
  }

  /** True when a peer broke its word and has given no valid block since. */
  has({ nodeKey }: Peer): boolean {
    return this.#doubts.has(nodeKey);
  }

  /** True while a peer is not believed. */
  isActive({ nodeKey }: Peer): boolean {
    return this.#clock.monotonic() < (this.#doubts.get(nodeKey)?.until ?? 0);
  }

  /** Notes a peer that did not give blocks that it said it has. */
  addBrokenWord(peer: Peer): void {
    const failures = this.#doubts.get(peer.nodeKey)?.failures ?? 0;
    this.#add(peer, Math.min(this.#firstMs * 2 ** failures, MAX_DOUBT_MS));
  }

  /** Notes a peer that gave an invalid block. */
  addWrongBlock(peer: Peer): void {
    this.#add(peer, MAX_DOUBT_MS);
  }

  clear({ nodeKey }: Peer): void {
    this.#doubts.delete(nodeKey);
  }

  #add({ nodeKey }: Peer, pauseMs: number): void {
    const failures = (this.#doubts.get(nodeKey)?.failures ?? 0) + 1;
    // The peer doubted last is forgotten last.
    this.#doubts.delete(nodeKey);
    this.#doubts.set(nodeKey, { failures, until: this.#clock.monotonic() + pauseMs });
    const [oldest] = this.#doubts.keys();
    if (oldest !== undefined && this.#doubts.size > MAX_DOUBTS) this.#doubts.delete(oldest);
  }
}
