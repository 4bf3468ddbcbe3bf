/**
 * Bounds on the work and the memory that peers may take. A peer that asks for more than its share is not read until its debt is paid; when the bytes
 * of all strangers run out, the stranger with most bytes is cut off, so that others are served.
 */

import type { Clock, Timer } from '../../lib/clock.js';
import type { Connection } from '../transport/transport.js';
import type { PeerLimits } from './limits.js';

export class TokenBucket {
  readonly #perSecond: number;
  readonly #burst: number;
  readonly #clock: Clock;
  #level: number;
  #last: number;

  /** Makes a bucket that gets `perSecond` tokens a second up to `burst`, and starts full. */
  constructor(perSecond: number, burst: number, clock: Clock) {
    this.#perSecond = perSecond;
    this.#burst = burst;
    this.#clock = clock;
    this.#level = burst;
    this.#last = clock.monotonic();
  }

  /** Takes tokens, if need be on credit; returns the milliseconds until the debt is paid, 0 without debt. */
  charge(tokens: number): number {
    const now = this.#clock.monotonic();
    this.#level = Math.min(this.#burst, this.#level + ((now - this.#last) / 1_000) * this.#perSecond) - tokens;
    this.#last = now;
    return this.#level >= 0 ? 0 : Math.ceil((-this.#level / this.#perSecond) * 1_000);
  }
}

export interface ReadThrottleModules {
  readonly clock: Clock;
  readonly connection: Pick<Connection, 'pause' | 'resume'>;
  /** Budget of all strangers; set for a stranger, which draws on it too. */
  readonly strangers: Pick<StrangerBudget, 'charge'> | undefined;
}

export class ReadThrottle {
  readonly #modules: ReadThrottleModules;
  readonly #share: TokenBucket;
  #until = 0;
  #pause: Timer | undefined;

  constructor({ costPerSecond, costBurst }: PeerLimits, modules: ReadThrottleModules) {
    this.#modules = modules;
    this.#share = new TokenBucket(costPerSecond, costBurst, modules.clock);
  }

  get isPaused(): boolean {
    return this.#pause !== undefined;
  }

  charge(cost: number): void {
    const { clock, connection, strangers } = this.#modules;
    const waitMs = Math.max(this.#share.charge(cost), strangers?.charge(cost) ?? 0);
    if (waitMs === 0) return;
    const until = clock.monotonic() + waitMs;
    if (until <= this.#until) return;
    this.#until = until;
    this.#pause?.cancel();
    connection.pause();
    this.#pause = clock.after(waitMs, () => {
      this.#pause = undefined;
      connection.resume();
    });
  }

  stop(): void {
    this.#pause?.cancel();
  }
}

/** A link as the budget sees it. */
export interface BudgetedLink {
  /** Bytes that wait to be sent on this link alone; frames that many links share are not counted. */
  readonly queuedBytes: number;
  readonly heldBytes: number;
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

  /** Bytes that wait to be sent to all strangers. */
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

  /** True when so many more bytes may wait on the link. Cuts off slow readers with more waiting bytes than this link. */
  makeRoomToSend(link: BudgetedLink, bytes: number): boolean {
    const max = this.#limits.maxQueuedBytesInAll;
    return this.#makeRoom(link, bytes, max, (one) => one.queuedBytes, 'you read too slowly: too much waits for you');
  }

  /** True when the link's bytes of an incomplete frame still fit. Cuts off senders of larger incomplete frames. */
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
