/**
 * The chain index: follows the archive block by block, as they are stored and after any interruption, and answers from
 * what it has. It can be rebuilt from the archive at any time, so no fault of it ends the node: a damaged index
 * is removed and built anew, and a write that the disk refuses is tried again (docs/adr/0031).
 */

import { isUnreadable } from '../../db/database-error.js';
import type { Room } from '../../db/disk-room.js';
import type { Kv } from '../../db/kv.js';
import type { Clock } from '../../lib/clock.js';
import { errorMessage, isTesseraError, TesseraError } from '../../lib/errors.js';
import { Failure, type Service } from '../../lib/service.js';
import { TimeSlices } from '../../lib/time-slices.js';
import type { HasClock, HasLogger, HasMetrics } from '../../observability/modules.js';
import type { Archive } from '../archive/archive.js';
import type { WrittenBlock } from '../archive/lookups.js';
import { type BlockToIndex, readBlockToIndex, writtenBlock } from './block-to-index.js';
import { blockKey, TIP_KEY } from './layout.js';
import { EMPTY_TIP, type IndexTip, readBlock, readTip } from './records.js';
import type { ChainIndexService, ChainView, IndexStatus } from './service.js';
import { Sources } from './sources.js';
import { IndexStep } from './step.js';
import { AnswerReads, TransactionReads } from './transaction-reads.js';
import { IndexView } from './view.js';
import { Waiting } from './waiting.js';

/** Changes that are gathered before a write while the index catches up. */
const DEFAULT_STEP_CHANGES = 100_000;
/** The most blocks that may be missing while answers wait for them. */
const LITTLE_BEHIND = 16;
/** The most milliseconds that an answer waits for the index. */
const MAX_WAIT_MS = 5_000;
/** Milliseconds until the index tries again after the system has refused something. */
const RETRY_MS = 5_000;
/** The most new blocks kept for the index, without the scripts of their inputs: with 20,000 payments some 15 MB each. */
const KEPT_BLOCKS = 4;
/** The most times that an answer is read again because a block came in meanwhile. */
const READINGS = 3;

export interface ChainIndexOptions {
  readonly stepChanges?: number;
}

/** The database of the index, which may be removed and made anew. */
export interface IndexDatabase {
  open(): Promise<Kv>;
  /** Closes the database if it is open, and removes it. */
  remove(): Promise<void>;
}

export interface ChainIndexModules extends HasClock, HasLogger, HasMetrics {
  readonly archive: Archive;
  readonly database: IndexDatabase;
  readonly room: Room;
  /** Called with the number of blocks indexed, and of those stored, while there are many to take in. */
  readonly onProgress?: (done: number, total: number) => void;
  readonly onCaughtUp?: () => void;
}

/** Open database and its parts. */
interface Opened {
  readonly kv: Kv;
  tip: IndexTip;
  /** True when the last indexed block was found to be the archive's block at that height. */
  isChecked: boolean;
  /** Damage that was found while answering. */
  damage?: unknown;
}

export class ChainIndex implements ChainIndexService, Service {
  readonly #modules: ChainIndexModules;
  readonly #stepChanges: number;
  readonly #slices: TimeSlices;
  readonly #sources: Sources;
  readonly #reads: TransactionReads;
  readonly #failure = new Failure();
  readonly #stopping = new AbortController();
  readonly #subscriptions: (() => void)[];
  /** Blocks that were stored just now, by height, for the index to take. */
  readonly #written = new Map<number, BlockToIndex>();
  /** Wait for work; ends when there may be something to do. */
  readonly #work: Waiting;
  /** Wait for progress; ends when the index has got further. */
  readonly #advance: Waiting;
  #opened: Opened | undefined;
  /** Number that is odd while a step is being written, and changes with each. */
  #generation = 0;
  #problem: string | null = null;
  #isArchiveDamaged = false;
  #isFar = false;
  #running: Promise<void> | undefined;

  constructor({ stepChanges = DEFAULT_STEP_CHANGES }: ChainIndexOptions, modules: ChainIndexModules) {
    this.#modules = modules;
    this.#stepChanges = stepChanges;
    const { archive, clock, metrics, room } = modules;
    this.#slices = new SecondSlices(clock, archive);
    this.#sources = new Sources(archive.lookups, this.#slices);
    this.#reads = new TransactionReads({ archive: archive.lookups, slices: new TimeSlices(clock) });
    this.#work = new Waiting(clock);
    this.#advance = new Waiting(clock);
    this.#subscriptions = [
      archive.blockWritten.on((block) => this.#onWritten(block)),
      archive.failed.on(() => {
        this.#isArchiveDamaged = true;
      }),
      room.isBack.on(() => this.#work.end()),
    ];
    const height = metrics.gauge('tessera_storage_index_height');
    const behind = metrics.gauge('tessera_storage_index_blocks_behind');
    metrics.beforeScrape(() => {
      height.set(this.#next - 1);
      behind.set(Math.max(archive.nextHeight - this.#next, 0));
    });
  }

  /** Number of blocks in the index of a database. */
  static async blocksIn(kv: Kv): Promise<number> {
    const record = await kv.get(TIP_KEY);
    return (record && readTip(record)?.next) ?? 0;
  }

  /** Begins to follow the archive. */
  async start(): Promise<void> {
    this.#running ??= this.#run();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    for (const unsubscribe of this.#subscriptions.splice(0)) unsubscribe();
    this.#work.end();
    this.#advance.end();
    await this.#running;
  }

  /**
   * Takes in the blocks up to `end`, for a command that runs alone. Errors that `start` would repair or retry are thrown, and
   * `aborted` by the signal; the next call goes on.
   */
  async build(end: number, signal: AbortSignal): Promise<void> {
    const opened = await this.#open();
    await this.#check(opened);
    while (opened.tip.next < end) {
      if (signal.aborted)
        throw new TesseraError('aborted', 'the index of the chain is not whole yet: the next start goes on');
      await this.#step(opened, end);
      this.#modules.onProgress?.(opened.tip.next, end);
    }
  }

  get failed(): Promise<never> {
    return this.#failure.promise;
  }

  status(): IndexStatus {
    const blocks = this.#modules.archive.nextHeight;
    const next = this.#next;
    const isReady = this.#opened !== undefined && next === blocks;
    const state = this.#problem !== null ? 'waiting' : isReady ? 'ready' : 'building';
    return { state, height: next === 0 ? null : next - 1, blocks, problem: this.#problem };
  }

  async at<T>(read: (chain: ChainView) => Promise<T>, sender = ''): Promise<T> {
    const reads = new AnswerReads(this.#reads, sender);
    try {
      return await this.#at(reads, read);
    } finally {
      reads.end();
    }
  }

  async #at<T>(reads: AnswerReads, read: (chain: ChainView) => Promise<T>): Promise<T> {
    const { lookups: archive, nextHeight: target } = this.#modules.archive;
    const limit = this.#modules.clock.monotonic() + MAX_WAIT_MS;
    for (let reading = 1; ; reading++) {
      const { kv, tip } = await this.#reached(target, limit);
      const generation = this.#generation;
      const last = tip.hash === null ? undefined : { height: tip.next - 1, hash: tip.hash };
      const isSame = (): boolean => generation % 2 === 0 && generation === this.#generation;
      try {
        reads.restart();
        const answer = await read(new IndexView({ kv, archive, reads, tip: last }));
        if (isSame() || reading === READINGS) return answer;
      } catch (error) {
        if (this.#opened?.kv !== kv) throw this.#incomplete(null);
        if (this.#isDamage(error)) this.#repair(kv, error);
        if (this.#isDamage(error) || isUnreadable(error)) throw this.#incomplete(errorMessage(error));
        if (isSame() || reading === READINGS) throw error;
      }
    }
  }

  /** Number of blocks indexed. */
  get #next(): number {
    return this.#opened?.tip.next ?? 0;
  }

  get #isStopped(): boolean {
    return this.#stopping.signal.aborted;
  }

  #onWritten(block: WrittenBlock): void {
    const { height } = block.record;
    // Only a few blocks are kept: an index that is further behind reads them from the archive.
    if (this.#written.size < KEPT_BLOCKS) this.#written.set(height, writtenBlock(block));
    this.#work.end();
  }

  /** The open index, once it has `target` blocks. */
  async #reached(target: number, limit: number): Promise<Opened> {
    for (;;) {
      const opened = this.#opened;
      const missing = target - this.#next;
      if (opened?.isChecked && missing <= 0 && this.#generation % 2 === 0) return opened;
      const rest = limit - this.#modules.clock.monotonic();
      const isFar = missing > LITTLE_BEHIND || this.#next > this.#modules.archive.nextHeight;
      if (isFar || this.#problem !== null || this.#isStopped || rest <= 0) throw this.#incomplete(this.#problem);
      await this.#advance.begin(rest);
    }
  }

  #incomplete(problem: string | null): TesseraError {
    const has = `it has ${this.#next} of ${this.#modules.archive.nextHeight} blocks`;
    const why = problem === null ? 'is being built' : `cannot be used now (${problem})`;
    return new TesseraError('index_incomplete', `The index of the chain ${why}: ${has}. Try again later.`);
  }

  async #run(): Promise<void> {
    while (!this.#isStopped) {
      try {
        await this.#open();
        await this.#follow();
      } catch (error) {
        if (this.#isStopped || this.#isArchiveDamaged) return;
        await this.#onError(error);
      }
    }
  }

  /** Rebuilds a damaged index at once; after any other error waits before the next attempt. */
  async #onError(error: unknown): Promise<void> {
    const { logger } = this.#modules;
    if (this.#isDamage(error)) {
      logger.warn({ err: error }, `the index of the chain is built anew: ${errorMessage(error)}`);
      const refusal = await this.#remove();
      if (refusal === undefined) return;
      this.#problem = errorMessage(refusal);
    } else {
      this.#problem = errorMessage(error);
      logger.error({ err: error }, `the index of the chain cannot go on now: ${this.#problem}`);
    }
    this.#advance.end();
    await this.#work.begin(RETRY_MS);
  }

  /** Removes the index; gives the error if that fails. */
  async #remove(): Promise<unknown> {
    this.#opened = undefined;
    try {
      await this.#modules.database.remove();
      return undefined;
    } catch (error) {
      return error;
    }
  }

  async #open(): Promise<Opened> {
    if (this.#opened !== undefined) return this.#opened;
    const kv = await this.#modules.database.open();
    const record = await kv.get(TIP_KEY);
    const tip = record === undefined ? EMPTY_TIP : readTip(record);
    if (tip === undefined) throw damage('it has the format of another program');
    this.#opened = { kv, tip, isChecked: false };
    return this.#opened;
  }

  /** Takes in one block after the other, until the node stops. */
  async #follow(): Promise<void> {
    const { archive } = this.#modules;
    while (!this.#isStopped && this.#opened !== undefined) {
      const opened = this.#opened;
      if (opened.damage !== undefined) throw opened.damage;
      await this.#check(opened);
      if (opened.tip.next < archive.nextHeight) await this.#step(opened, archive.nextHeight);
      else {
        this.#onReached(opened);
        await this.#work.begin();
      }
    }
  }

  /**
   * Checks that the index is of the stored blocks. An index that is ahead, because the archive was put aside or replaced by an
   * older copy, waits for it: either the same blocks come back, or the difference shows here.
   */
  async #check(opened: Opened): Promise<void> {
    const { archive } = this.#modules;
    const { kv, tip } = opened;
    if (tip.next > archive.nextHeight) opened.isChecked = false;
    if (opened.isChecked) return;
    const height = Math.min(tip.next, archive.nextHeight) - 1;
    const indexed = height < 0 ? undefined : await kv.get(blockKey(height));
    const hash = indexed === undefined ? undefined : readBlock(height, indexed).hash;
    if (height >= 0 && hash !== (await archive.hashAt(height))) throw damage(`block ${height} is not the one stored`);
    opened.isChecked = tip.next <= archive.nextHeight;
  }

  #onReached({ tip }: Opened): void {
    const { archive, logger, onCaughtUp } = this.#modules;
    this.#problem = null;
    for (const height of this.#written.keys()) if (height < tip.next) this.#written.delete(height);
    if (tip.next === archive.nextHeight && this.#isFar) {
      this.#isFar = false;
      onCaughtUp?.();
      logger.info({ blocks: tip.next }, `the index of the chain has all ${tip.next} blocks`);
    }
    this.#advance.end();
  }

  /** Indexes some of the blocks up to `end`. */
  async #step(opened: Opened, end: number): Promise<void> {
    this.#modules.room.check();
    const step = new IndexStep(opened.tip, { kv: opened.kv, sources: this.#sources, slices: this.#slices });
    while (step.next < end && step.changes < this.#stepChanges && !this.#isStopped) {
      this.#showProgress(step.next);
      const block = await this.#blockAt(step.next);
      if (block.header.previousHash !== step.hash && step.next > 0) throw damage(`block ${step.next} does not follow`);
      await step.add(block);
    }
    this.#generation++;
    try {
      opened.tip = await step.write();
    } finally {
      this.#generation++;
    }
    this.#problem = null;
    this.#advance.end();
  }

  async #blockAt(height: number): Promise<BlockToIndex> {
    const written = this.#written.get(height);
    this.#written.delete(height);
    return written ?? readBlockToIndex(height, this.#modules.archive.lookups, this.#slices);
  }

  #showProgress(done: number): void {
    const { archive, logger, onProgress } = this.#modules;
    const total = archive.nextHeight;
    if (!this.#isFar && total - done > LITTLE_BEHIND) {
      this.#isFar = true;
      logger.info({ done, blocks: total }, `the index of the chain takes in blocks ${done} to ${total - 1}`);
    }
    if (this.#isFar) onProgress?.(done, total);
  }

  /** True for damage of the index; damage of the archive ends the node by itself. */
  #isDamage(error: unknown): boolean {
    if (this.#isArchiveDamaged) return false;
    return isTesseraError(error, 'data_corrupt') || isTesseraError(error, 'data_lost');
  }

  /** Rebuilds the index after an answer has found damage, unless that has begun already. */
  #repair(kv: Kv, error: unknown): void {
    if (this.#opened?.kv !== kv || this.#isStopped) return;
    this.#opened.damage = error;
    this.#work.end();
  }
}

function damage(what: string): TesseraError {
  return new TesseraError('data_corrupt', `index of the chain: ${what}`);
}

/** Turns for work of less urgency than storing: none is given while a block is being stored, so that storing is not delayed. */
class SecondSlices extends TimeSlices {
  readonly #archive: Archive;

  constructor(clock: Clock, archive: Archive) {
    super(clock);
    this.#archive = archive;
  }

  override get isUsedUp(): boolean {
    return this.#archive.isStoring || super.isUsedUp;
  }

  override async turn(): Promise<void> {
    await this.#archive.betweenBlocks();
    await super.turn();
  }
}
