/**
 * A storage node's archive made anew from what can be read of the one that it has. What cannot be read comes from other
 * nodes when the node runs again; until then the old archive is kept.
 */

import { existsSync } from 'node:fs';
import type { Genesis } from '../../chain/genesis.js';
import type { Config } from '../../config/schema.js';
import { DataDir } from '../../db/data-dir.js';
import { damagedFolders, removeAside, removeLeftovers } from '../../db/put-aside.js';
import { Verifier } from '../../ledger/verifier/verifier.js';
import { systemClock } from '../../lib/clock.js';
import { isTesseraError, TesseraError } from '../../lib/errors.js';
import { silentLogger } from '../../lib/logger.js';
import { noMetrics } from '../../observability/metrics.js';
import { Archive } from '../../storage/archive/archive.js';
import { DamagedArchive } from '../../storage/heal/damaged-archive.js';
import { Healing } from '../../storage/heal/healing.js';
import { producersOf } from '../producers.js';

const ARCHIVE = 'archive';

export interface RebuildStorageOptions {
  readonly config: Config;
  readonly genesis: Genesis;
  readonly signal: AbortSignal;
  /** Blocks done, blocks that were there. */
  readonly onProgress: (done: number, total: number) => void;
}

export interface RebuiltArchive {
  /** Number of blocks in the new archive. */
  readonly blocks: number;
  /** Block that is waited for, in words; null when the archive is whole. */
  readonly problem: string | null;
  /** Folders that were put aside earlier or now, and of which nothing can be read. */
  readonly kept: readonly string[];
}

/** Throws `data_dir_invalid` when there is no archive, `data_dir_locked` while the node runs, `aborted` by the signal. */
export async function rebuildStorage(options: RebuildStorageOptions): Promise<RebuiltArchive> {
  const { node, network } = options.config;
  if (!existsSync(node.dataDir)) {
    throw new TesseraError('data_dir_invalid', `${node.dataDir} does not exist: there is nothing to rebuild`);
  }
  const directory = await DataDir.open(node.dataDir, { role: 'storage', networkName: network.name });
  const scripts = new Verifier({ threads: options.config.storage.verifyThreads });
  try {
    await scripts.start();
    await removeLeftovers(node.dataDir, ARCHIVE);
    // An interrupted call, or start, has left a new archive: that goes on.
    const isBegun = (await damagedFolders(node.dataDir, ARCHIVE)).length > 0;
    const begun = isBegun ? await openArchive(directory, scripts, options) : undefined;
    if (begun === undefined) await directory.putAside(ARCHIVE);
    return await fill(begun ?? (await openNew(directory, scripts, options)), options);
  } finally {
    await scripts.close();
    await directory.close();
  }
}

/** Undefined when it is damaged. */
async function openArchive(...args: Parameters<typeof openNew>): Promise<Archive | undefined> {
  try {
    return await openNew(...args);
  } catch (error) {
    if (isTesseraError(error, 'data_corrupt') || isTesseraError(error, 'data_lost')) return undefined;
    throw error;
  }
}

async function openNew(directory: DataDir, scripts: Verifier, { config, genesis }: RebuildStorageOptions) {
  const producers = producersOf(config, genesis);
  const rules = { genesis, producers, activationHeight: config.mining.asertActivationHeight };
  const { cacheBytes } = config.storage;
  return Archive.open({ rules, cacheBytes }, { kv: await directory.open(ARCHIVE, { isLarge: true }), scripts });
}

async function fill(archive: Archive, options: RebuildStorageOptions): Promise<RebuiltArchive> {
  const { dataDir } = options.config.node;
  const healing = new Healing({
    archive,
    damaged: new DamagedArchive(await damagedFolders(dataDir, ARCHIVE)),
    clock: systemClock,
    logger: silentLogger,
    metrics: noMetrics,
    onProgress: options.onProgress,
    onDone: (folders) => removeAside(dataDir, folders),
  });
  const abort = (): void => void healing.stop().catch(() => undefined);
  options.signal.addEventListener('abort', abort, { once: true });
  try {
    await healing.take();
    return { blocks: archive.nextHeight, problem: healing.problem, kept: healing.kept };
  } finally {
    options.signal.removeEventListener('abort', abort);
    await healing.stop();
  }
}
