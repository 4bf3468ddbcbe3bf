/**
 * Budget of all links of strangers together: work, bytes that wait to be sent, and bytes of frames that are not complete.
 * When the bytes run out, whoever holds most of them is cut off, so that the others are served.
 */

import type { Clock } from '../../lib/clock.js';
import type { PeerLimits } from './limits.js';
import { TokenBucket } from './rate-limit.js';

/** A link as far as the budget cares. */
export interface BudgetedLink {
  /** Bytes that wait to be sent on this link alone; those of a frame that many links share are not counted. */
  readonly queuedBytes: number;
  /** Bytes of the frame that is being received. */
  readonly heldBytes: number;
  /** Ends the link at once. */
  cutOff(reason: string): void;
}

export class StrangerBudget {
  readonly #limits: PeerLimits;
  readonly #work: TokenBucket;
  readonly #links = new Set<BudgetedLink>();
  readonly #onCutOff: () => void;

  constructor(limits: PeerLimits, clock: Clock, onCutOff: () => void) {
    this.#limits = limits;
    this.#work = new TokenBucket(limits.costPerSecondInAll, limits.costBurstInAll, clock);
    this.#onCutOff = onCutOff;
  }

  /** Bytes that wait to be sent to all of them. */
  get queuedBytes(): number {
    let total = 0;
    for (const link of this.#links) total += link.queuedBytes;
    return total;
  }

  add(link: BudgetedLink): void {
    this.#links.add(link);
  }

  delete(link: BudgetedLink): void {
    this.#links.delete(link);
  }

  /** Milliseconds that a link has to wait after work of this cost. */
  charge(cost: number): number {
    return this.#work.charge(cost);
  }

  /** True when this many more bytes may wait on the link. Cuts off readers that have more waiting than it has. */
  makeRoomToSend(link: BudgetedLink, bytes: number): boolean {
    const max = this.#limits.maxQueuedBytesInAll;
    return this.#makeRoom(link, bytes, max, (one) => one.queuedBytes, 'you read too slowly: too much waits for you');
  }

  /** True when what the link holds of a frame still fits. Cuts off senders that hold more. */
  makeRoomToReceive(link: BudgetedLink): boolean {
    const max = this.#limits.maxHeldBytesInAll;
    return this.#makeRoom(link, 0, max, (one) => one.heldBytes, 'your frame is too large to wait for its end');
  }

  #makeRoom(
    link: BudgetedLink,
    more: number,
    max: number,
    bytesOf: (link: BudgetedLink) => number,
    reason: string,
  ): boolean {
    let total = more;
    for (const one of this.#links) total += bytesOf(one);
    while (total > max) {
      const [most] = [...this.#links].sort((a, b) => bytesOf(b) - bytesOf(a));
      if (most === undefined || bytesOf(most) <= bytesOf(link)) return false;
      total -= bytesOf(most);
      this.#links.delete(most);
      this.#onCutOff();
      most.cutOff(reason);
    }
    return true;
  }
}
