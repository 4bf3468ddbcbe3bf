/** Holds the lease of the leader, or waits for it. A leader counts its time from before it asked. */

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
/** A lease is renewed so many times in its time: three answers in a row may be lost. */
const RENEWALS = 5;
/** Milliseconds until etcd is asked again when it has not answered. */
const PAUSE_MS = 250;
/** Milliseconds for which a node that has resigned leaves the lease to others. */
const REST_MS = 2_000;
/** The part of the lease that the leader does not use: its clock and etcd's need not go alike. */
const UNUSED = 0.1;

/** Lease that the leader has, and nobody else. All methods throw `EtcdError` when etcd does not answer. */
export interface LeaderLease {
  /** Milliseconds for which this node has it now, from before it asked; undefined when another has it. */
  take(): Promise<number | undefined>;
  /** The same for one that was taken; undefined when it is lost. */
  renew(): Promise<number | undefined>;
  /** Lets others have it at once. */
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
  /** The lease was taken, and etcd has not said that it is lost. */
  #isTaken = false;
  /** Milliseconds of the lease that was taken, and how many were let go: late answers are of an earlier one. */
  #ms = 0;
  #term = 0;
  /** Time of the request that etcd has answered last, and of its answer. */
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

  /** Resolves at once: whether this node leads is told by `leads`. */
  async start(): Promise<void> {
    this.#running = this.#run().catch(this.#failure.report);
  }

  /** Leads no more; resolves when etcd knows that, or has not answered. */
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

  /** Takes or renews the lease; gives the milliseconds until the next step. */
  async #step(): Promise<number> {
    const asked = this.#modules.clock.monotonic();
    try {
      // Kept for longer, it would stay with a node that is heard, hears nothing, and leads nobody.
      const isDeaf = asked >= this.#until && asked >= this.#answered + this.#ms;
      if (this.#isTaken && (isDeaf || asked < this.#restsUntil)) await this.#letGo();
      if (asked < this.#restsUntil) return Math.min(LOOK_MS, this.#restsUntil - asked);
      if (this.#isTaken) {
        void this.#renew(asked).catch(this.#failure.report);
        return this.#ms / RENEWALS;
      }
      this.#take(await this.#modules.lease.take(), asked);
      // Little time of the lease may be left.
      return this.#isTaken ? 0 : LOOK_MS;
    } catch (error) {
      this.#note(error);
      // The time that is left goes on; without an answer it ends by itself.
      return PAUSE_MS;
    }
  }

  /** The next one does not wait for the answer: in a slow etcd the lease is renewed as often. */
  async #renew(asked: number): Promise<void> {
    const term = this.#term;
    try {
      const ms = await this.#modules.lease.renew();
      if (term === this.#term) this.#take(ms, asked);
    } catch (error) {
      // Later ones may have been answered.
      if (asked > this.#heard || !(error instanceof EtcdError)) this.#note(error);
    }
  }

  /** The lease is this node's for so long from when it asked; undefined: it is not. */
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

  /** Throws what is no answer of etcd. */
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
