/** The role storage: the archive in its own database, and its messages with other nodes. */

import { forgetDamage, hasDamageNote, noteDamage, removeLeftovers } from '../../db/put-aside.js';
import { Verifier } from '../../ledger/verifier/verifier.js';
import type { Timer } from '../../lib/clock.js';
import { type ErrorCode, errorMessage, isTesseraError } from '../../lib/errors.js';
import type { Progress } from '../../observability/progress.js';
import { Archive } from '../../storage/archive/archive.js';
import type { BlockProgress } from '../../storage/archive/unspent-outputs.js';
import { takeFromStore } from '../../storage/blocks/from-store.js';
import { ChainIndex } from '../../storage/chain-index/chain-index.js';
import type { FarSegments } from '../../storage/segments/far-segments.js';
import type { Segments, SegmentsOptions } from '../../storage/segments/segments.js';
import { Uploads } from '../../storage/segments/uploads.js';
import { RunningStorageService } from '../../storage/storage-service.js';
import { type ArchiveFiles, canBeMade, openArchiveFiles, remakeArchiveFiles, segmentsOf } from '../archive-files.js';
import { Follower } from '../import/follower.js';
import { indexDatabase } from '../rebuild/rebuild-index.js';
import type { Role, RoleContext, RoleDefinition, RoleServices } from './role.js';

const ARCHIVE = 'archive';
/** Milliseconds until work that the disk has refused is tried again. */
const RETRY_MS = 5_000;
const TRIED_AGAIN: readonly ErrorCode[] = ['database_failed', 'write_failed', 'archive_incomplete'];

export const storage: RoleDefinition = {
  open: (context) => StorageRole.open(context),
  verify: async (data) => (await import('./storage/stopped.js')).verifyStorage(data),
  rebuild: async (options) => (await import('./storage/stopped.js')).rebuildStorage(options),
};

export class StorageRole implements Role {
  readonly services: RoleServices;
  readonly #context: RoleContext;
  readonly #archive: Archive;
  readonly #scripts: Verifier;
  readonly #storage: RunningStorageService;
  #noting: Promise<void> | undefined;
  readonly #rewriting: Progress;
  readonly #counting: Progress;
  readonly #takingIn: Progress;
  readonly #bringingOver: Progress;
  #broughtOver: Promise<void> | undefined;
  #takeAgain: Timer | undefined;
  #taken: Promise<void> | undefined;
  /** Reasons why pieces of work could not be done, by the work. */
  readonly #refused = new Map<unknown, string>();
  #retry: Timer | undefined;
  #retrying: Promise<void> | undefined;
  readonly #catchingUp: Progress;
  /** Segments in the object store, and uploads to it; undefined without an object store. */
  readonly #far: FarSegments | undefined;
  readonly #uploads: Uploads | undefined;
  /** Index of the chain; undefined when it is switched off. */
  readonly #index: ChainIndex | undefined;
  #follower: Follower | undefined;

  static async open(context: RoleContext): Promise<StorageRole> {
    const { clock, config } = context;
    const scripts = new Verifier(
      { threads: config.storage.verifyThreads },
      { clock, logger: context.logger('storage') },
    );
    try {
      const opened = await openArchive(context, scripts);
      await removeLeftovers(context.dataDir.path, ARCHIVE).catch((error: unknown) => {
        context.logger('storage').warn({ err: error }, 'the remains of a damaged archive cannot be removed now');
      });
      return new StorageRole(context, opened, scripts);
    } catch (error) {
      await scripts.close();
      throw error;
    }
  }

  private constructor(context: RoleContext, { archive, segments, far }: OpenedArchive, scripts: Verifier) {
    this.#context = context;
    this.#archive = archive;
    this.#scripts = scripts;
    this.#far = far;
    const { localBytes } = context.config.storage.segments;
    this.#uploads =
      far && new Uploads({ localBytes }, { ...context, segments, far, logger: context.logger('segments') });
    let isAhead = archive.ahead > 0;
    archive.blockStored.on(() => {
      if (!isAhead || archive.ahead > 0) return;
      isAhead = false;
      context.logger('storage').info({ blocks: archive.nextHeight }, 'the archive is whole again');
    });
    archive.failed.on(() => {
      this.#noting = noteDamage(context.dataDir.path, ARCHIVE).catch(() => undefined);
    });
    this.#rewriting = context.progress('rewrite', { task: 'rewriting the unspent outputs', unit: 'parts' });
    this.#counting = context.progress('count', { task: 'counting the unspent outputs', unit: 'blocks' });
    this.#takingIn = context.progress('heal', { task: 'taking in the segments', unit: 'blocks' });
    this.#bringingOver = context.progress('bring_over', { task: 'bringing over the archive', unit: 'blocks' });
    const storage = new RunningStorageService(
      { producers: context.producers },
      { ...context, archive, logger: context.logger('storage') },
    );
    const catchingUp = context.progress('catch_up', { task: 'catching up', unit: 'blocks' });
    storage.catchUpProgress.on(({ height, target }) => catchingUp.update(height, target));
    storage.caughtUp.on(() => catchingUp.end());
    this.#storage = storage;
    this.#catchingUp = catchingUp;
    this.#index = context.config.storage.index ? this.#makeIndex() : undefined;
    this.services = { storage, ...(this.#index && { chainIndex: this.#index }) };
  }

  #makeIndex(): ChainIndex {
    const { dataDir, logger } = this.#context;
    const progress = this.#context.progress('index', { task: 'building the index of the chain', unit: 'blocks' });
    return new ChainIndex(
      {},
      {
        ...this.#context,
        archive: this.#archive,
        database: indexDatabase(dataDir),
        logger: logger('index'),
        onProgress: (done, total) => progress.update(done, total),
        onCaughtUp: () => progress.end(),
      },
    );
  }

  /**
   * Takes in blocks that the segments have and the database lacks, then those of the object store; an archive of an older version
   * counts its unspent outputs.
   */
  load(): Promise<void> {
    const { stopping } = this.#context;
    const progress = this.#archive.ahead > 0 ? this.#takingIn : this.#counting;
    return this.#retried(async () => {
      await this.#archive.load(({ height, target, isRewriting }) => {
        if (!isRewriting) this.#rewriting.end();
        (isRewriting ? this.#rewriting : progress).update(height, target);
      }, stopping);
      for (const one of [this.#rewriting, progress]) one.end();
      const { problem, nextHeight } = this.#archive;
      if (problem !== null) this.#context.logger('storage').error({ height: nextHeight }, problem);
      else if (this.#far !== undefined) await this.#takeFromStore(this.#far);
    });
  }

  /** Takes in blocks from the object store that this node lacks; the rest may come from other storage nodes. */
  async #takeFromStore(far: FarSegments, isAgain = false): Promise<void> {
    const { producers, stopping: signal, clock, logger } = this.#context;
    const from = this.#archive.nextHeight;
    this.#refused.delete(far);
    const onProgress = (done: number, total: number): void => this.#catchingUp.update(done, total);
    try {
      await takeFromStore(this.#archive, far, { producers, signal, onProgress, clock });
    } catch (error) {
      const isOver = isTesseraError(error, 'shutting_down');
      const isOurs = isTesseraError(error, 'archive_incomplete') || isTesseraError(error, 'block_refused');
      if (!isOurs && !isOver && !isAgain) throw error;
      const problem = `the object store gives no more blocks: ${errorMessage(error)}`;
      logger('storage')[isAgain ? 'debug' : 'error']({ err: error }, problem);
      if (from === 0) this.#refused.set(far, problem);
      // A store that could not be reached may have the blocks later.
      if (!isOver && !signal.aborted && (far.store.problem !== null || !isOurs))
        this.#takeAgain = clock.after(RETRY_MS, () => {
          this.#taken = this.#takeFromStore(far, true);
        });
    } finally {
      this.#catchingUp.end();
    }
    const { nextHeight } = this.#archive;
    if (nextHeight > from)
      logger('storage').info({ from, next: nextHeight }, 'blocks were taken from the object store');
  }

  /** Does work that a full disk may refuse: it is tried again then, and blocks are stored after it. */
  async #retried(work: () => Promise<void>): Promise<void> {
    const { clock, logger } = this.#context;
    try {
      await work();
      this.#refused.delete(work);
    } catch (error) {
      if (!isTesseraError(error) || !TRIED_AGAIN.includes(error.code)) throw error;
      const refusal = `the archive cannot be prepared now, which is tried again: ${errorMessage(error)}`;
      this.#refused.set(work, refusal);
      logger('storage').error({ err: error }, refusal);
      // The archive itself reports damage.
      this.#retry = clock.after(RETRY_MS, () => {
        this.#retrying = this.#retried(work).catch(() => undefined);
      });
    }
  }

  /** Moves blocks of an older data format to the segments while the node serves. */
  async #bringOver(): Promise<void> {
    const { logger, stopping } = this.#context;
    if (!this.#archive.isOlder) return;
    logger('storage').info({ blocks: this.#archive.nextHeight }, 'blocks of an older data format go to segments');
    const onProgress = ({ height, target }: BlockProgress): void => this.#bringingOver.update(height, target);
    await this.#archive.bringOver(onProgress, stopping);
    this.#bringingOver.end();
    logger('storage').info({}, 'all blocks are in segments');
  }

  async start(): Promise<void> {
    await this.#index?.start();
    await this.#storage.start();
    await this.#uploads?.start();
    this.#broughtOver = this.#retried(() => this.#bringOver()).catch(() => undefined);
    const { follow } = this.#context.config.storage;
    if (follow.length > 0) this.#follower = this.#follow(follow);
  }

  #follow(urls: readonly string[]): Follower {
    const follower = new Follower(urls, {
      ...this.#context,
      archive: this.#archive,
      scripts: this.#scripts,
      logger: this.#context.logger('storage'),
      progress: this.#catchingUp,
      onCaughtUp: () => this.#storage.tellMempools(),
    });
    follower.start();
    return follower;
  }

  async stop(): Promise<void> {
    this.#retry?.cancel();
    this.#takeAgain?.cancel();
    await this.#follower?.stop();
    await this.#uploads?.stop();
    await this.#index?.stop();
    await this.#storage.stop();
    await this.#broughtOver;
    await this.#taken;
    await this.#retrying;
    await this.#scripts.close();
    await this.#noting;
  }

  readiness(): readonly string[] {
    const { catchingUp, problem } = this.#storage;
    const tasks = [this.#rewriting, this.#takingIn, this.#counting];
    const working = tasks.map(({ current }) => current).filter((one) => one !== undefined);
    return [
      ...working,
      ...(catchingUp === undefined ? [] : [this.#catchingUp.current ?? 'catching up']),
      ...[problem, this.#follower?.problem ?? null].filter((one) => one !== null),
      ...this.#refused.values(),
      ...(this.#scripts.problem === null ? [] : [this.#scripts.problem]),
    ];
  }

  /** Reasons to be degraded: without its object store it serves recent blocks only; while old blocks go to segments it is busier. */
  degraded(): readonly string[] {
    return [this.#uploads?.problem ?? null, this.#bringingOver.current ?? null].filter((one) => one !== null);
  }

  get failed(): Promise<never> {
    return this.#storage.failed;
  }
}

interface OpenedArchive extends Pick<SegmentsOptions, 'far'> {
  readonly archive: Archive;
  readonly segments: Segments;
}

/** Opens the archive. A damaged database is made again from the segments, where that loses nothing or other nodes have the rest. */
async function openArchive(context: RoleContext, scripts: Verifier): Promise<OpenedArchive> {
  const { config, genesis, producers, dataDir } = context;
  const { cacheBytes } = config.storage;
  const options = await segmentsOf(dataDir, config);
  const rules = { genesis, producers, activationHeight: config.mining.asertActivationHeight };
  const open = async (files: ArchiveFiles): Promise<OpenedArchive> => ({
    archive: await Archive.open({ rules, cacheBytes }, { ...context, ...files, scripts }),
    segments: files.segments,
    far: options.far,
  });
  const hasOthers = config.peers.storage.length > 0;
  const log = context.logger('storage');
  let damage: unknown;
  try {
    const archive = await open(await openArchiveFiles(dataDir, options));
    if (!hasDamageNote(dataDir.path, ARCHIVE)) return archive;
    if (!hasOthers) {
      // All files are whole, so the disk may have recovered; the next reader of the damaged record will see.
      log.warn({}, 'damage was found in the archive when it ran last: tessera verify says where it is');
      await forgetDamage(dataDir.path, ARCHIVE);
      return archive;
    }
  } catch (error) {
    if (!(isTesseraError(error, 'data_corrupt') || isTesseraError(error, 'data_lost'))) throw error;
    if (!(hasOthers || (await canBeMade(dataDir.path, error)))) throw error;
    damage = error;
  }
  log.error({ err: damage }, 'the archive is damaged: its database is made again from the segments');
  return open(await remakeArchiveFiles(dataDir, options));
}
