/** The role storage: the archive in its own database, and its messages with other nodes. */

import {
  damagedFolders,
  forgetDamage,
  hasDamageNote,
  noteDamage,
  removeAside,
  removeLeftovers,
} from '../../db/put-aside.js';
import { Verifier } from '../../ledger/verifier/verifier.js';
import type { Timer } from '../../lib/clock.js';
import { errorMessage, isTesseraError } from '../../lib/errors.js';
import { together } from '../../lib/together.js';
import type { Progress } from '../../observability/progress.js';
import { Archive } from '../../storage/archive/archive.js';
import type { UnspentProgress } from '../../storage/archive/unspent-outputs.js';
import { ChainIndex } from '../../storage/chain-index/chain-index.js';
import { DamagedArchive } from '../../storage/heal/damaged-archive.js';
import { Healing } from '../../storage/heal/healing.js';
import { RunningStorageService } from '../../storage/storage-service.js';
import { readGenesis } from '../genesis-file.js';
import { indexDatabase } from '../index-database.js';
import type { Role, RoleContext, RoleDefinition, RoleServices } from './role.js';

const ARCHIVE = 'archive';
/** Milliseconds until a count that the disk has refused is tried again. */
const COUNT_RETRY_MS = 5_000;

export const storage: RoleDefinition = {
  open: (context) => StorageRole.open(context),
  verify: async (data) => (await import('../verify/verify-storage.js')).verifyStorage(data),

  async rebuild(options) {
    const { rebuildStorage } = await import('../rebuild/rebuild-storage.js');
    const genesis = await readGenesis(options.config.network.genesisFile);
    const { blocks, problem, kept } = await rebuildStorage({ ...options, genesis });
    const none = 'nothing can be read: all blocks must come from another storage node or a backup';
    return {
      text: `rebuilt with ${blocks} blocks`,
      report: { blocks, kept },
      problems: [
        ...(blocks === 0 ? [none] : []),
        ...kept.map((folder) => `nothing of ${folder} can be read: it is kept`),
        ...(problem === null ? [] : [`${problem}: start the node, which goes on by itself`]),
      ],
    };
  },
};

export class StorageRole implements Role {
  readonly services: RoleServices;
  readonly #context: RoleContext;
  readonly #archive: Archive;
  readonly #scripts: Verifier;
  readonly #storage: RunningStorageService;
  readonly #healing: Healing | undefined;
  #healProgress: Progress | undefined;
  #noting: Promise<void> | undefined;
  readonly #counting: Progress;
  /** Why the outputs could not be counted; null when they were. */
  #countProblem: string | null = null;
  #countRetry: Timer | undefined;
  readonly #catchingUp: Progress;
  /** Undefined when it is switched off. */
  readonly #index: ChainIndex | undefined;

  /** Opens the archive. */
  static async open(context: RoleContext): Promise<StorageRole> {
    const { clock, config } = context;
    const scripts = new Verifier(
      { threads: config.storage.verifyThreads },
      { clock, logger: context.logger('storage') },
    );
    try {
      const [archive] = await together(openArchive(context, scripts), scripts.start());
      await removeLeftovers(context.dataDir.path, ARCHIVE).catch((error: unknown) => {
        context.logger('storage').warn({ err: error }, 'the remains of a damaged archive cannot be removed now');
      });
      const folders = await damagedFolders(context.dataDir.path, ARCHIVE);
      const damaged = folders.length === 0 ? undefined : new DamagedArchive(folders);
      return new StorageRole(context, archive, scripts, damaged);
    } catch (error) {
      await scripts.close();
      throw error;
    }
  }

  private constructor(context: RoleContext, archive: Archive, scripts: Verifier, damaged: DamagedArchive | undefined) {
    this.#context = context;
    this.#archive = archive;
    this.#scripts = scripts;
    this.#healing = damaged && this.#heal(damaged);
    archive.failed.on(() => {
      this.#noting = noteDamage(context.dataDir.path, ARCHIVE).catch(() => undefined);
    });
    this.#counting = context.progress('count', { task: 'counting the unspent outputs', unit: 'blocks' });
    const storage = new RunningStorageService(
      { producers: context.producers },
      { ...context, archive, healing: this.#healing, logger: context.logger('storage') },
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

  /** An archive that is being healed takes over what can be read; one of an older version counts its unspent outputs. */
  async load(): Promise<void> {
    const { stopping } = this.#context;
    const abort = (): void => void this.#healing?.stop().catch(() => undefined);
    stopping.addEventListener('abort', abort, { once: true });
    await this.#healing?.takeOrRetry().finally(() => stopping.removeEventListener('abort', abort));
    await this.#count();
  }

  /** A full disk ends no node: the count is tried again, and blocks are stored after it. */
  async #count(): Promise<void> {
    const { clock, logger, stopping } = this.#context;
    const onProgress = ({ height, target }: UnspentProgress): void => this.#counting.update(height, target);
    try {
      await this.#archive.countUnspent(onProgress, stopping);
      this.#countProblem = null;
      this.#counting.end();
    } catch (error) {
      if (!(isTesseraError(error, 'database_failed') || isTesseraError(error, 'write_failed'))) throw error;
      this.#countProblem = `the unspent outputs cannot be counted now: ${errorMessage(error)}`;
      logger('storage').error({ err: error }, this.#countProblem);
      // Damage is reported by the archive itself.
      this.#countRetry = clock.after(COUNT_RETRY_MS, () => void this.#count().catch(() => undefined));
    }
  }

  async start(): Promise<void> {
    await this.#index?.start();
    await this.#storage.start();
  }

  async stop(): Promise<void> {
    this.#countRetry?.cancel();
    await this.#index?.stop();
    await this.#storage.stop();
    await this.#scripts.close();
    await this.#noting;
  }

  #heal(damaged: DamagedArchive): Healing {
    const { dataDir, clock, metrics, logger } = this.#context;
    const progress = this.#context.progress('heal', { task: 'healing the archive', unit: 'blocks' });
    this.#healProgress = progress;
    return new Healing({
      archive: this.#archive,
      damaged,
      clock,
      metrics,
      logger: logger('storage'),
      onProgress: (done, total) => progress.update(done, total),
      async onDone(folders) {
        progress.end();
        await removeAside(dataDir.path, folders);
      },
    });
  }

  readiness(): readonly string[] {
    const { catchingUp, problem } = this.#storage;
    const counting = this.#counting.current;
    const healing = this.#healProgress?.current;
    return [
      ...(healing === undefined ? [] : [healing]),
      ...(counting === undefined ? [] : [counting]),
      ...(catchingUp === undefined ? [] : [this.#catchingUp.current ?? 'catching up']),
      ...(problem === null ? [] : [problem]),
      ...(this.#countProblem === null ? [] : [this.#countProblem]),
      ...(this.#scripts.problem === null ? [] : [this.#scripts.problem]),
    ];
  }

  get failed(): Promise<never> {
    return this.#storage.failed;
  }
}

/** Opens the archive; a damaged one is put aside when other storage nodes can fill the gaps. */
async function openArchive(context: RoleContext, scripts: Verifier): Promise<Archive> {
  const { config, genesis, producers, dataDir } = context;
  const rules = { genesis, producers, activationHeight: config.mining.asertActivationHeight };
  const open = async (): Promise<Archive> =>
    Archive.open(
      { rules, cacheBytes: config.storage.cacheBytes },
      { ...context, kv: await dataDir.open(ARCHIVE, { isLarge: true }), scripts },
    );
  const hasOthers = config.peers.storage.length > 0;
  const log = context.logger('storage');
  let damage: unknown;
  try {
    const archive = await open();
    if (!hasDamageNote(dataDir.path, ARCHIVE)) return archive;
    if (!hasOthers) {
      // Every byte of the files is right, so the disk may have recovered; whoever reads the record again will see.
      log.warn({}, 'damage was found in the archive when it ran last: tessera verify says where it is');
      await forgetDamage(dataDir.path, ARCHIVE);
      return archive;
    }
  } catch (error) {
    if (!hasOthers || !(isTesseraError(error, 'data_corrupt') || isTesseraError(error, 'data_lost'))) throw error;
    damage = error;
  }
  log.error(
    { err: damage },
    'the archive is damaged and put aside: a new one takes what can be read of it, and the rest from other storage nodes',
  );
  await dataDir.putAside(ARCHIVE);
  return open();
}
