/** Makes the index of a storage node's chain anew from its archive; or a second one beside it, to compare the two. */

import { existsSync } from 'node:fs';
import type { Genesis } from '../../chain/genesis.js';
import type { Config } from '../../config/schema.js';
import { DataDir } from '../../db/data-dir.js';
import { endlessRoom } from '../../db/disk-room.js';
import type { Kv } from '../../db/kv.js';
import { equalBytes } from '../../lib/bytes.js';
import { systemClock } from '../../lib/clock.js';
import { TesseraError } from '../../lib/errors.js';
import { silentLogger } from '../../lib/logger.js';
import { noMetrics } from '../../observability/metrics.js';
import { Archive } from '../../storage/archive/archive.js';
import { ChainIndex, type IndexDatabase } from '../../storage/chain-index/chain-index.js';
import { openArchiveFiles, segmentsOf } from '../archive-files.js';
import { producersOf } from '../producers.js';

/** Folder of the second index while the two are compared. */
const CHECK = 'index-check';
const ALL_KEYS = { gte: new Uint8Array(), lt: Uint8Array.of(0xff) };

export interface RebuildIndexOptions {
  readonly config: Config;
  readonly genesis: Genesis;
  readonly signal: AbortSignal;
  readonly onProgress: (done: number, total: number) => void;
}

/**
 * Rebuilds the index. Gives the number of its blocks, null where it is switched off, and whether an older one was removed. Throws
 * `data_dir_invalid` when there is no folder, `data_dir_locked` while the node runs, `aborted` by the signal.
 */
export async function rebuildIndex({ config, genesis, signal, onProgress }: RebuildIndexOptions) {
  const { node, network, storage, mining } = config;
  if (!existsSync(node.dataDir)) {
    throw new TesseraError('data_dir_invalid', `${node.dataDir} does not exist: there is nothing to rebuild`);
  }
  const directory = await DataDir.open(node.dataDir, { role: 'storage', networkName: network.name });
  try {
    const removed = await directory.removeDerived(INDEX);
    if (!storage.index) return { blocks: null, removed };
    const rules = { genesis, producers: producersOf(config, genesis), activationHeight: mining.asertActivationHeight };
    const archive = await Archive.open(
      { rules, cacheBytes: 0 },
      await openArchiveFiles(directory, await segmentsOf(directory, config)),
    );
    await archive.load(undefined, signal);
    await buildIndex(directory, INDEX, archive, archive.nextHeight, { signal, onProgress });
    return { blocks: archive.nextHeight, removed };
  } finally {
    await directory.close();
  }
}

/** Builds a second index and compares every record; gives the number of blocks. Throws `data_corrupt`, `aborted`. */
export async function compareIndex(
  directory: DataDir,
  kv: Kv,
  archive: Archive,
  progress: Pick<RebuildIndexOptions, 'signal' | 'onProgress'>,
): Promise<number> {
  await directory.removeDerived(CHECK);
  try {
    const blocks = await ChainIndex.blocksIn(kv);
    if (blocks > archive.nextHeight) throw different(`it has ${blocks} blocks and the archive ${archive.nextHeight}`);
    await compareRecords(kv, await buildIndex(directory, CHECK, archive, blocks, progress));
    return blocks;
  } finally {
    await directory.removeDerived(CHECK);
  }
}

async function buildIndex(
  directory: DataDir,
  name: string,
  archive: Archive,
  end: number,
  { signal, onProgress }: Pick<RebuildIndexOptions, 'signal' | 'onProgress'>,
): Promise<Kv> {
  const kv = await directory.openDerived(name);
  const database = { ...indexDatabase(directory), open: async () => kv };
  const modules = {
    archive,
    database,
    room: endlessRoom,
    clock: systemClock,
    logger: silentLogger,
    metrics: noMetrics,
  };
  const index = new ChainIndex({}, { ...modules, onProgress });
  try {
    await index.build(end, signal);
    return kv;
  } finally {
    await index.stop();
  }
}

async function compareRecords(kv: Kv, expected: Kv): Promise<void> {
  const others = expected.entries(ALL_KEYS)[Symbol.asyncIterator]();
  try {
    for await (const [key, value] of kv.entries(ALL_KEYS)) {
      const other = await others.next();
      const isSame = !other.done && equalBytes(key, other.value[0]) && equalBytes(value, other.value[1]);
      if (!isSame) throw different(`the record ${Buffer.from(key).toString('hex')} is not what they give`);
    }
    if (!(await others.next()).done) throw different('records are missing');
  } finally {
    await others.return?.();
  }
}

function different(what: string): TesseraError {
  return new TesseraError(
    'data_corrupt',
    `the index of the chain does not agree with the stored blocks: ${what}. tessera rebuild --index makes it again`,
  );
}

export const INDEX = 'index';

export function indexDatabase(dataDir: DataDir): IndexDatabase {
  return {
    open: () => dataDir.openDerived(INDEX),
    remove: async () => void (await dataDir.removeDerived(INDEX)),
  };
}
