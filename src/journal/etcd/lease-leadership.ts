/** Holds the lease of the leader, or waits for it. A leader's time counts from before its request. */

import type { Clock, Timer } from '../../lib/clock.js';
import { createDeferred } from '../../lib/deferred.js';
import { errorMessage } from '../../lib/errors.js';
import type { Logger } from '../../lib/logger.js';
import { Failure, type Service } from '../../lib/service.js';
import { type Signal, SignalSource } from '../../lib/signal.js';
import type { Leadership } from '../journal.js';
import { EtcdError } from './etcd-client.js';

/** Milliseconds between two looks at whether the lease is free, which cost nothing while its key is watched. */
const LOOK_MS = 500;
/** Renewals of a lease in its time: three answers in a row may be lost. */
const RENEWALS = 5;
/** Milliseconds until etcd is asked again when it has not answered. */
const PAUSE_MS = 250;
/** Milliseconds for which a node that has resigned leaves the lease to others. */
const REST_MS = 2_000;
/** The share of the lease that the leader leaves unused: its clock and etcd's may run at different speeds. */
const UNUSED = 0.1;

/** A lease that one node at most has, the leader. All methods throw `EtcdError` when etcd does not answer. */
export interface LeaderLease {
  /** Takes the lease. Milliseconds for which this node has it, from before the request; undefined when another node has it. */
  take(): Promise<number | undefined>;
  /** Renews the lease taken. Milliseconds as of `take`; undefined when the lease is lost. */
  renew(): Promise<number | undefined>;
  /** Gives the lease up, so that others can have it at once. */
  giveBack(): Promise<void>;
  readonly changed: Signal<void>;
  close(): void;
}

export interface LeaseLeadershipModules {
  readonly lease: LeaderLease;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class LeaseLeadership implements Leadership, Service {
  readonly changed = new SignalSource<void>();
  readonly #modules: LeaseLeadershipModules;
  readonly #failure = new Failure();
  readonly failed = this.#failure.promise;
  /** True once the lease was taken, until etcd says that it is lost. */
  #isTaken = false;
  /** Milliseconds of the lease taken, and the count of leases let go, which tells a late answer about an earlier lease. */
  #ms = 0;
  #term = 0;
  /** Time of the latest request that etcd has answered, and of the latest answer. */
  #heard = Number.NEGATIVE_INFINITY;
  #answered = Number.NEGATIVE_INFINITY;
  /** End of the time in which this node leads, by the monotonic clock. */
  #until = Number.NEGATIVE_INFINITY;
  #wasLeading = false;
  #expiry: Timer | undefined;
  #problem: string | null = null;
  #restsUntil = Number.NEGATIVE_INFINITY;
  #running: Promise<void> | undefined;
  #stopped = false;
  #wake = (): void => undefined;

  constructor(modules: LeaseLeadershipModules) {
    const { lease } = modules;
    this.#modules = modules;
    lease.changed.on(() => this.#wake());
  }

  get leads(): boolean {
    return !this.#stopped && this.#modules.clock.monotonic() < this.#until;
  }

  get problem(): string | null {
    return this.#problem;
  }

  /** Resolves at once; `leads` tells whether this node leads. */
  async start(): Promise<void> {
    this.#running = this.#run().catch(this.#failure.report);
  }

  /** Ends the leading; resolves when etcd knows that, or has not answered. */
  async stop(): Promise<void> {
    if (this.#stopped) return;
    this.#stopped = true;
    this.#wake();
    this.#tell();
    this.#expiry?.cancel();
    await this.#running;
    await this.#modules.lease.giveBack().catch((error: unknown) => this.#note(error));
    this.#modules.lease.close();
  }

  resign(): void {
    this.#restsUntil = this.#modules.clock.monotonic() + REST_MS;
    this.#wake();
  }

  async #run(): Promise<void> {
    while (!this.#stopped) await this.#pause(await this.#step());
  }

  /** Takes or renews the lease; returns the milliseconds until the next step. */
  async #step(): Promise<number> {
    const asked = this.#modules.clock.monotonic();
    try {
      // Otherwise the lease would stay with a node whose requests arrive, which gets no answers, and which leads nobody.
      const isDeaf = asked >= this.#until && asked >= this.#answered + this.#ms;
      if (this.#isTaken && (isDeaf || asked < this.#restsUntil)) await this.#letGo();
      if (asked < this.#restsUntil) return Math.min(LOOK_MS, this.#restsUntil - asked);
      if (this.#isTaken) {
        void this.#renew(asked).catch(this.#failure.report);
        return this.#ms / RENEWALS;
      }
      this.#take(await this.#modules.lease.take(), asked);
      // An answer may come so late that little time of the lease is left.
      return this.#isTaken ? 0 : LOOK_MS;
    } catch (error) {
      this.#note(error);
      // The lease keeps the time that is left, and ends by itself without an answer.
      return PAUSE_MS;
    }
  }

  /** Renews the lease. The next renewal does not wait for this answer: in a slow etcd, renewals are as frequent. */
  async #renew(asked: number): Promise<void> {
    const term = this.#term;
    try {
      const ms = await this.#modules.lease.renew();
      if (term === this.#term) this.#take(ms, asked);
    } catch (error) {
      // Later renewals may have been answered.
      if (asked > this.#heard || !(error instanceof EtcdError)) this.#note(error);
    }
  }

  /** Notes an answer: the lease is this node's for `ms` from the request on, or is lost when `ms` is undefined. */
  #take(ms: number | undefined, asked: number): void {
    this.#problem = null;
    this.#heard = Math.max(this.#heard, asked);
    this.#answered = this.#modules.clock.monotonic();
    if (ms === undefined) this.#term++;
    this.#isTaken = ms !== undefined;
    this.#ms = ms ?? 0;
    this.#until = ms === undefined ? Number.NEGATIVE_INFINITY : Math.max(this.#until, asked + ms * (1 - UNUSED));
    this.#tell();
  }

  async #letGo(): Promise<void> {
    this.#term++;
    this.#isTaken = false;
    this.#until = Number.NEGATIVE_INFINITY;
    this.#tell();
    await this.#modules.lease.giveBack();
  }

  #tell(): void {
    this.#expiry?.cancel();
    const { leads } = this;
    if (leads)
      this.#expiry = this.#modules.clock.after(this.#until - this.#modules.clock.monotonic(), () => this.#tell());
    if (leads === this.#wasLeading) return;
    this.#wasLeading = leads;
    this.#modules.logger.info({}, leads ? 'this node makes the blocks now' : 'this node makes no blocks any more');
    this.changed.emit();
  }

  /** Notes that etcd does not answer. Throws any other error. */
  #note(error: unknown): void {
    if (!(error instanceof EtcdError)) throw error;
    const problem = errorMessage(error);
    if (this.#problem === null) this.#modules.logger.warn({ problem }, `who makes the blocks is not known: ${problem}`);
    this.#problem = problem;
  }

  async #pause(ms: number): Promise<void> {
    if (this.#stopped) return;
    const over = createDeferred<void>();
    const timer = this.#modules.clock.after(ms, over.resolve);
    this.#wake = over.resolve;
    await over.promise;
    timer.cancel();
  }
}
