/** A storage node's database made anew from the segments. What is damaged there comes from other nodes when the node runs again. */

import { existsSync } from 'node:fs';
import type { Genesis } from '../../chain/genesis.js';
import type { Config } from '../../config/schema.js';
import { DataDir } from '../../db/data-dir.js';
import { isTesseraError, TesseraError } from '../../lib/errors.js';
import { Archive } from '../../storage/archive/archive.js';
import { openArchiveFiles, remakeArchiveFiles, segmentsOf } from '../archive-files.js';
import { producersOf } from '../producers.js';

export interface RebuildStorageOptions {
  readonly config: Config;
  readonly genesis: Genesis;
  readonly signal: AbortSignal;
  readonly onProgress: (done: number, total: number) => void;
}

/**
 * Gives the number of blocks, and which damage keeps later ones out, or null. Throws `data_dir_invalid` when there is no archive,
 * `data_dir_locked` while the node runs, `aborted` by the signal.
 */
export async function rebuildStorage({ config, genesis, signal, onProgress }: RebuildStorageOptions) {
  const { node, network, storage, mining } = config;
  if (!existsSync(node.dataDir)) {
    throw new TesseraError('data_dir_invalid', `${node.dataDir} does not exist: there is nothing to rebuild`);
  }
  const directory = await DataDir.open(node.dataDir, { role: 'storage', networkName: network.name });
  const rules = { genesis, producers: producersOf(config, genesis), activationHeight: mining.asertActivationHeight };
  const options = { rules, cacheBytes: storage.cacheBytes };
  const show = ({ height, target }: { height: number; target: number }): void => onProgress(height, target);
  try {
    const segments = await segmentsOf(directory, config);
    const files = await openArchiveFiles(directory, segments).catch(ifDamaged);
    if (files?.segments.isWhole === false) {
      const older = await Archive.open(options, files);
      await older.bringOver(show, signal);
    }
    const archive = await Archive.open(options, await remakeArchiveFiles(directory, segments));
    await archive.load(show, signal);
    return { blocks: archive.nextHeight, problem: archive.problem };
  } finally {
    await directory.close();
  }
}

function ifDamaged(error: unknown): undefined {
  if (isTesseraError(error, 'data_corrupt') || isTesseraError(error, 'data_lost')) return;
  throw error;
}
