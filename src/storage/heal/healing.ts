/**
 * Making an archive whole again after damage: the new archive takes block after block from the damaged one that was put
 * aside, as far as it can be read, and what cannot be read from other nodes, which catching up asks for it or the mempool
 * delivers. Every block is checked by every rule, wherever it comes from. The damaged one is removed when all that it held,
 * as far as its records and its seal tell, is in the new one; when nothing can be told, it is kept.
 */

import type { Clock, Timer } from '../../lib/clock.js';
import { errorMessage, isTesseraError, TesseraError } from '../../lib/errors.js';
import { failpoint } from '../../lib/failpoints.js';
import type { Logger } from '../../lib/logger.js';
import { Mutex } from '../../lib/mutex.js';
import type { CounterHandle, Metrics } from '../../observability/metrics.js';
import type { Archive } from '../archive/archive.js';
import type { DamagedArchive } from './damaged-archive.js';

/** Milliseconds until it is tried again, after the system has refused something; twice as many each time, up to the last. */
const RETRY_MS = 5_000;
const MAX_RETRY_MS = 300_000;

export interface HealingModules {
  readonly archive: Archive;
  readonly damaged: DamagedArchive;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Blocks that are in the archive, of those that were in the damaged one. */
  readonly onProgress: (done: number, total: number) => void;
  /** The archive has all that these folders held: removes them. */
  readonly onDone: (folders: readonly string[]) => Promise<void>;
}

export class Healing {
  readonly #modules: HealingModules;
  readonly #taking = new Mutex();
  readonly #stopping = new AbortController();
  readonly #fromFolder: CounterHandle;
  readonly #fromNodes: CounterHandle;
  readonly #unsubscribe: () => void;
  /** Blocks of the damaged archive that break a rule. */
  readonly #refused = new Set<number>();
  /** The block that is being taken from the damaged archive. */
  #own: number | undefined;
  #fetched = 0;
  #retry: Timer | undefined;
  #retryMs = RETRY_MS;
  /** Last refusal of the system; null without one. */
  #refusal: string | null = null;
  #kept: readonly string[] = [];
  #isDone = false;

  constructor(modules: HealingModules) {
    this.#modules = modules;
    const { archive, metrics } = modules;
    this.#fromFolder = metrics.counter('tessera_storage_blocks_healed_total', 'folder');
    this.#fromNodes = metrics.counter('tessera_storage_blocks_healed_total', 'nodes');
    this.#unsubscribe = archive.blockStored.on(({ height }) => this.#onStored(height));
  }

  /** Problem: the block that is waited for, or the refusal of the system; null without either. */
  get problem(): string | null {
    const { archive, damaged } = this.#modules;
    if (this.#isDone) return null;
    if (this.#refusal !== null) return `the archive cannot be healed now, which is tried again: ${this.#refusal}`;
    if (archive.nextHeight >= damaged.blocks || this.#own !== undefined) return null;
    return `block ${archive.nextHeight} of ${damaged.blocks} is damaged here and must come from another storage node (peers.storage), the mempool node, or a backup`;
  }

  /** Number of blocks that the archive has had: until it has them again, what it lacks may be what it had. */
  get target(): number {
    if (this.#isDone) return 0;
    const { damaged } = this.#modules;
    return damaged.isOpen ? damaged.blocks : Number.POSITIVE_INFINITY;
  }

  /** Folders that were not removed at the end, since nothing in them can be read. */
  get kept(): readonly string[] {
    return this.#kept;
  }

  /**
   * True when the damaged archive had certificates, or it cannot be told yet: the new one takes no block without a proof, as
   * the old one took none.
   */
  get isCertified(): boolean {
    return this.#modules.damaged.isCertified;
  }

  /**
   * Takes the next blocks from the damaged archive, up to the first that it does not have. Throws `aborted` after `stop`,
   * `database_failed` or `write_failed` when the system refuses.
   */
  take(): Promise<void> {
    return this.#taking.run(async () => {
      try {
        await this.#take();
        this.#refusal = null;
        this.#retryMs = RETRY_MS;
      } catch (error) {
        if (isRefusal(error)) this.#refusal = errorMessage(error);
        throw error;
      }
    });
  }

  /** The same, but what the system refuses now is tried again later: a full disk ends no node. */
  async takeOrRetry(): Promise<void> {
    try {
      await this.take();
    } catch (error) {
      if (!isRefusal(error) || this.#stopping.signal.aborted) throw error;
      this.#onRefusal(error);
    }
  }

  /** Number of blocks from `height` on that the damaged archive does not have, `max` at most. */
  async missingFrom(height: number, max: number): Promise<number> {
    if (this.#isDone) return max;
    try {
      for (let missing = 0; missing < max; missing++) if (await this.#has(height + missing)) return missing;
    } catch (error) {
      // It was closed meanwhile: nothing more is taken from it.
      if (!this.#isDone && !this.#stopping.signal.aborted) throw error;
    }
    return max;
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#retry?.cancel();
    this.#unsubscribe();
    await this.#taking.run(async () => {
      if (!this.#isDone) await this.#modules.damaged.close();
      this.#isDone = true;
    });
  }

  async #take(): Promise<void> {
    const { archive, damaged, logger, onProgress } = this.#modules;
    if (this.#isDone) return;
    await damaged.open();
    while (!this.#isDone && archive.nextHeight < damaged.blocks) {
      if (this.#stopping.signal.aborted) throw new TesseraError('aborted', 'the node is stopping');
      const height = archive.nextHeight;
      onProgress(height, damaged.blocks);
      if (!(await this.#takeBlock(height))) {
        if (height < archive.nextHeight) continue;
        logger.warn({ height, blocks: damaged.blocks }, this.problem ?? `block ${height} is damaged`);
        return;
      }
    }
    await this.#finish();
  }

  /** False when the block is not there, or breaks a rule. */
  async #takeBlock(height: number): Promise<boolean> {
    const { archive, damaged, logger } = this.#modules;
    const block = this.#refused.has(height) ? undefined : await damaged.block(height);
    if (block === undefined) return false;
    this.#own = height;
    try {
      await archive.store(block.full, block.certificate, block.facts);
      failpoint('heal.block', 'archive');
      this.#fromFolder.inc();
      return true;
    } catch (error) {
      if (!isTesseraError(error, 'block_refused')) throw error;
      // Another node may have brought it meanwhile.
      if (height === archive.nextHeight) {
        this.#refused.add(height);
        logger.warn({ height, reason: error.message }, 'a block of the damaged archive breaks a rule');
      }
      return false;
    } finally {
      this.#own = undefined;
    }
  }

  async #has(height: number): Promise<boolean> {
    return !this.#refused.has(height) && (await this.#modules.damaged.block(height)) !== undefined;
  }

  #onStored(height: number): void {
    const { archive, damaged, logger } = this.#modules;
    if (this.#isDone || height === this.#own) return;
    if (height < damaged.blocks) {
      this.#fetched++;
      this.#fromNodes.inc();
      logger.info({ height }, `block ${height}, which is damaged here, came from another node`);
    }
    if (damaged.isOpen && archive.nextHeight <= damaged.blocks) this.#takeLater(0);
  }

  #onRefusal(error: unknown): void {
    this.#modules.logger.error({ err: error }, `the archive cannot be healed now: ${errorMessage(error)}`);
    this.#takeLater(this.#retryMs);
    this.#retryMs = Math.min(2 * this.#retryMs, MAX_RETRY_MS);
  }

  #takeLater(ms: number): void {
    this.#retry?.cancel();
    this.#retry = this.#modules.clock.after(ms, () => {
      this.take().catch((error: unknown) => {
        if (!this.#stopping.signal.aborted) this.#onRefusal(error);
      });
    });
  }

  async #finish(): Promise<void> {
    if (this.#isDone) return;
    this.#isDone = true;
    this.#unsubscribe();
    const { archive, damaged, logger } = this.#modules;
    const { blocks, known, unknown } = damaged;
    await damaged.close();
    failpoint('heal.whole', 'archive');
    if (unknown.length > 0) {
      logger.error(
        { folders: unknown },
        'nothing of this damaged archive can be read: it is kept, and all blocks come from other nodes',
      );
    }
    this.#kept = unknown;
    if (!(await this.#remove(known)) || blocks === 0) return;
    logger.info(
      { blocks: archive.nextHeight, fromOtherNodes: this.#fetched },
      'the archive is whole again, and what was damaged is removed',
    );
  }

  /** A folder that cannot be removed now is removed after the next start. */
  async #remove(folders: readonly string[]): Promise<boolean> {
    const { logger, onDone } = this.#modules;
    try {
      await onDone(folders);
      failpoint('heal.removed', 'archive');
      return true;
    } catch (error) {
      logger.error({ err: error, folders }, `the damaged archive cannot be removed: ${errorMessage(error)}`);
      return false;
    }
  }
}

/** The system could not do it now. */
function isRefusal(error: unknown): boolean {
  return isTesseraError(error, 'database_failed') || isTesseraError(error, 'write_failed');
}
