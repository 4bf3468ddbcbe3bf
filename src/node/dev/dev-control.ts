/** Control of a running dev network: faucet, blocks, clock, snapshots. Commands run one after the other: some stop the nodes. */

import {
  type DevFacts,
  type DevService,
  type DevSnapshot,
  type FaucetOrder,
  type FaucetPayment,
  MAX_TIME,
  type SavedState,
} from '../../api/routes/dev/service.js';
import { transactionHash } from '../../chain/hash.js';
import { type Clock, systemClock, type Timer } from '../../lib/clock.js';
import { createDeferred } from '../../lib/deferred.js';
import { TesseraError } from '../../lib/errors.js';
import { Mutex } from '../../lib/mutex.js';
import { TimeLimit } from '../../lib/time-limit.js';
import type { Mempool } from '../../mempool/mempool.js';
import type { RunningUserService } from '../../user/user-service.js';
import type { DevRecord } from './dev-record.js';
import { type ImpersonatedPayment, impersonatedPayment } from './impersonation.js';
import type { SnapshotFacts, Snapshots } from './snapshots.js';
import { writeState } from './state-file.js';

export class DevClock implements Clock {
  readonly #machine: Clock;
  #ahead = 0;
  /** Time at which the clock stands, in milliseconds; undefined while it goes. */
  #standsAt: number | undefined;

  constructor(machine: Clock = systemClock) {
    this.#machine = machine;
  }

  /** Milliseconds that this clock is ahead of the clock of the machine. */
  get ahead(): number {
    return this.now() - this.#machine.now();
  }

  /** Sets how far this clock is ahead; if it stands, it stands at `time` (Unix seconds) from now on. */
  restore(ms: number, time: number): void {
    this.#ahead = ms;
    if (this.#standsAt !== undefined) this.set(time);
  }

  /** Sets the clock to the beginning of a second (Unix time); it goes on from there, unless it stands. */
  set(seconds: number): void {
    if (this.#standsAt === undefined) this.#ahead = seconds * MS_PER_SECOND - this.#machine.now();
    else this.#standsAt = seconds * MS_PER_SECOND;
  }

  /** Stops the clock, until the returned function is called. */
  stand(): () => void {
    const before = this.#standsAt;
    this.#standsAt ??= this.now();
    return () => {
      this.#ahead = this.ahead;
      this.#standsAt = before;
    };
  }

  now(): number {
    return this.#standsAt ?? this.#machine.now() + this.#ahead;
  }

  monotonic(): number {
    return this.#machine.monotonic();
  }

  after(ms: number, run: () => void): Timer {
    return this.#machine.after(ms, run);
  }
}

const MAX_WAITING = 64;
/** Milliseconds in which requested blocks must be stored: less than a request may take. */
const BLOCKS_WITHIN_MS = 25_000;
const MS_PER_SECOND = 1_000;

export interface StopOptions<T> {
  /** Number of the last block of the new chain, given by work that replaces the chain. */
  readonly heightAfter?: (result: T) => number;
}

/** The nodes of the network, as far as commands need them. */
export interface DevNodes {
  readonly mempool: Mempool;
  /** Service of the miner, whose wallet is the faucet. */
  readonly payer: RunningUserService;
  /** Unix seconds of the last block; 0 before there is one with a time. */
  lastBlockTime(): Promise<number>;
  /** Holds mining, so that blocks are made only on request, or lets it go on. */
  holdMining(isHeld: boolean): void;
  /** Stops the nodes, does the work and starts them again on the same ports. */
  whileStopped<T>(work: () => Promise<T>, options?: StopOptions<T>): Promise<T>;
}

export interface DevControlModules {
  readonly nodes: DevNodes;
  readonly clock: DevClock;
  readonly record: DevRecord;
  readonly snapshots: Snapshots;
  readonly facts: () => DevFacts;
  /** Address of the wallet that the faucet pays from. */
  readonly faucetAddress: () => string;
  /** True where addresses can be spent from without their keys. */
  readonly impersonates: boolean;
  /** File in which the state of the network is saved; undefined without --state. */
  readonly state?: { readonly file: string; readonly folder: string } | undefined;
}

export class DevControl implements DevService {
  readonly #modules: DevControlModules;
  readonly #turn = new Mutex();
  readonly #stopping = new AbortController();
  #waiting = 0;

  constructor(modules: DevControlModules) {
    this.#modules = modules;
  }

  facts(): DevFacts {
    return this.#modules.facts();
  }

  faucet(order: FaucetOrder): Promise<FaucetPayment> {
    return this.#inTurn(async () => {
      const { nodes, facts } = this.#modules;
      const { address, from, amount } = order.set === true ? this.#difference(order) : order;
      if (amount === 0n && order.set === true) return { txHash: null, to: address, amount, height: null };
      // Blocks are watched from before the payment: its block may come before the answer.
      const blocks = new BlockWatch(nodes.mempool, this.#stopping.signal);
      try {
        const txHash =
          from === undefined
            ? (await nodes.payer.payAddress({ address, amount, locktime: 0n, passphrase: '' })).txHash
            : await this.#impersonate({ from, to: address, amount });
        const isMade = facts().intervalMs === null && facts().automine;
        return { txHash, to: address, amount, height: isMade ? await blocks.heightOf(txHash) : null };
      } finally {
        blocks.end();
      }
    });
  }

  /** The payment that gives the address that amount: to the address, or from it to the wallet of the miner. */
  #difference({ address, amount, from }: FaucetOrder): FaucetOrder {
    const { tokens } = this.#modules.nodes.mempool.balances([address]);
    const faucet = this.#modules.faucetAddress();
    if (address === faucet) throw new TesseraError('invalid_request', `${address} is the faucet itself.`);
    if (tokens <= amount) return { address, amount: amount - tokens, from };
    return { address: faucet, amount: tokens - amount, from: address };
  }

  async #impersonate(payment: ImpersonatedPayment): Promise<string> {
    const { from } = payment;
    const { mempool } = this.#modules.nodes;
    if (!this.#modules.impersonates) {
      const why = 'the network was started without --impersonate';
      throw new TesseraError('payment_refused', `Only the owner of its key can spend from ${from}: ${why}.`);
    }
    const holdings = mempool.balances([from]).addresses.get(from);
    const transaction = impersonatedPayment(payment, holdings, mempool.figures().height);
    await mempool.submit([transaction]);
    return transactionHash(transaction);
  }

  mine(count: number, time?: number): Promise<readonly number[]> {
    const { nodes, clock } = this.#modules;
    return this.#inTurn(async () => {
      if (time !== undefined) await this.#setTime(time);
      const goOn = time === undefined ? undefined : clock.stand();
      try {
        return await within((signal) => nodes.mempool.makeBlocks(count, signal), this.#stopping.signal);
      } finally {
        goOn?.();
      }
    });
  }

  setAutomine(isOn: boolean): Promise<boolean> {
    return this.#inTurn(async () => {
      this.#modules.nodes.holdMining(!isOn);
      return isOn;
    });
  }

  time(): number {
    return Math.floor(this.#modules.clock.now() / MS_PER_SECOND);
  }

  setTime(seconds: number): Promise<number> {
    return this.#inTurn(() => this.#setTime(seconds));
  }

  async #setTime(seconds: number): Promise<number> {
    const { nodes, clock, record } = this.#modules;
    if (seconds > MAX_TIME) {
      throw new TesseraError('invalid_request', `The clock goes up to ${MAX_TIME}, the end of the year 9999.`);
    }
    const last = await nodes.lastBlockTime();
    if (seconds < last) {
      throw new TesseraError('invalid_request', `The last block has the time ${last}: blocks never go back.`);
    }
    clock.set(seconds);
    await record.setClockAhead(clock.ahead);
    return seconds;
  }

  snapshots(): readonly DevSnapshot[] {
    return this.#modules.snapshots.all.map(publicFacts);
  }

  takeSnapshot(): Promise<DevSnapshot> {
    return this.#inTurn(async () => {
      const { nodes, clock, snapshots } = this.#modules;
      const { height } = nodes.mempool.figures();
      const facts = { height, time: this.time(), clock_ahead_ms: clock.ahead };
      const taken = await nodes.whileStopped(() => outcomeOf(snapshots.take(facts)));
      return publicFacts(taken());
    });
  }

  revert(id: number): Promise<DevSnapshot> {
    return this.#inTurn(async () => {
      const { nodes, clock, snapshots } = this.#modules;
      snapshots.get(id);
      const restore = async (): Promise<SnapshotFacts> => {
        const facts = await snapshots.restore(id);
        clock.restore(facts.clock_ahead_ms, facts.time);
        return facts;
      };
      return publicFacts(await nodes.whileStopped(restore, { heightAfter: ({ height }) => height }));
    });
  }

  saveState(): Promise<SavedState> {
    return this.#inTurn(async () => {
      const { nodes, state } = this.#modules;
      if (state === undefined) throw new TesseraError('invalid_request', 'The network was started without --state.');
      const { height } = nodes.mempool.figures();
      const facts = { height, time: this.time() };
      // A disk that refuses the file must not end the network.
      const saved = await nodes.whileStopped(() => outcomeOf(writeState(state.file, state.folder, facts)));
      return { file: state.file, bytes: saved(), height };
    });
  }

  /** Resolves when no command runs or waits for blocks any more; no new ones are taken. */
  async stop(): Promise<void> {
    this.#stopping.abort(stopped());
    await this.#turn.run(() => undefined);
  }

  async #inTurn<T>(command: () => Promise<T>): Promise<T> {
    if (this.#waiting >= MAX_WAITING) throw new TesseraError('overloaded', `${MAX_WAITING} commands wait; try again.`);
    this.#waiting++;
    try {
      return await this.#turn.run(() => {
        if (this.#stopping.signal.aborted) throw stopped();
        return command();
      });
    } finally {
      this.#waiting--;
    }
  }
}

function stopped(): TesseraError {
  return new TesseraError('shutting_down', 'the network is stopping');
}

/** Outcome of a task, to be asked for later. */
async function outcomeOf<T>(task: Promise<T>): Promise<() => T> {
  try {
    const result = await task;
    return () => result;
  } catch (error) {
    return () => {
      throw error;
    };
  }
}

function publicFacts({ id, height, time }: SnapshotFacts): DevSnapshot {
  return { id, height, time };
}

/** Aborts work that takes too long for an answer, or when the network stops. */
async function within<T>(work: (signal: AbortSignal) => Promise<T>, stopping: AbortSignal): Promise<T> {
  const late = () =>
    new TesseraError('overloaded', 'The blocks are not stored yet: no miner works, or it takes too long.');
  const limit = new TimeLimit(BLOCKS_WITHIN_MS, stopping, late);
  try {
    return await work(limit.signal);
  } finally {
    limit.end();
  }
}

class BlockWatch {
  readonly #heights = new Map<string, number>();
  readonly #limit: TimeLimit;
  readonly #off: () => void;
  #news = createDeferred<void>();

  constructor({ blockConfirmed }: Pick<Mempool, 'blockConfirmed'>, stopping: AbortSignal) {
    this.#limit = new TimeLimit(BLOCKS_WITHIN_MS, stopping);
    this.#off = blockConfirmed.on(({ height, transactions }) => {
      for (const hash of transactions) this.#heights.set(hash, height);
      this.#tell();
    });
    this.#limit.signal.addEventListener('abort', () => this.#tell());
  }

  /** The block that the transaction is in; null when none has it in time. */
  async heightOf(hash: string): Promise<number | null> {
    while (!this.#heights.has(hash) && !this.#limit.signal.aborted) await this.#news.promise;
    return this.#heights.get(hash) ?? null;
  }

  end(): void {
    this.#off();
    this.#limit.end();
  }

  #tell(): void {
    this.#news.resolve();
    this.#news = createDeferred();
  }
}
