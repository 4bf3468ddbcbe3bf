/** Commands on a stopped storage node: its verification, and a new database made from the segments. */

import { existsSync } from 'node:fs';
import type { Config } from '../../../config/schema.js';
import { DataDir } from '../../../db/data-dir.js';
import { Verifier } from '../../../ledger/verifier/verifier.js';
import { isTesseraError, TesseraError } from '../../../lib/errors.js';
import { Archive } from '../../../storage/archive/archive.js';
import type { Segments } from '../../../storage/segments/segments.js';
import { openArchiveFiles, openSegments, remakeArchiveFiles, segmentsOf } from '../../archive-files.js';
import { readGenesis } from '../../genesis-file.js';
import { producersOf } from '../../producers.js';
import { compareIndex, INDEX } from '../../rebuild/rebuild-index.js';
import type { RebuildOptions, Rebuilt, VerifiedData } from '../role.js';

/** Verifies every block by the rules of the chain, and compares the index with one that is built anew. */
export async function verifyStorage(data: VerifiedData): Promise<void> {
  const segments = await openSegments(data.directory, await segmentsOf(data.directory, data.config));
  data.note(await checkArchive(data, segments));
  await checkIndex(data, segments);
}

async function checkArchive(data: VerifiedData, segments: Segments): Promise<string> {
  const scripts = new Verifier({ threads: data.config.storage.verifyThreads });
  const archive = await openArchive(data, segments, scripts);
  await archive.load(undefined, data.signal);
  await segments.verify(data.signal);
  const progress = data.progress('blocks', 'blocks');
  const show = ({ height, target }: { height: number; target: number }) => progress.update(height + 1, target + 1);
  const { blocks, transactions } = await archive.verify({}, show, data.signal).finally(() => scripts.close());
  progress.end();
  return `${blocks} blocks with ${transactions} transactions, all valid`;
}

/** Checks the index of the chain, if the node has one: every record, and that the blocks give the same index again. */
async function checkIndex(data: VerifiedData, segments: Segments): Promise<void> {
  const { directory, signal } = data;
  if (!directory.hasDerived(INDEX)) return;
  const kv = await directory.openDerived(INDEX);
  await data.readAll(INDEX, kv);
  const archive = await openArchive(data, segments);
  const progress = data.progress('indexing again', 'blocks');
  const onProgress = (done: number, total: number): void => progress.update(done, total);
  const blocks = await compareIndex(directory, kv, archive, { signal, onProgress }).finally(() => progress.end());
  data.note(`the same as the blocks give again, ${blocks} of ${archive.nextHeight}`, INDEX);
}

async function openArchive({ config, kv }: VerifiedData, segments: Segments, scripts?: Verifier): Promise<Archive> {
  const rules = await rulesOf(config);
  return Archive.open({ rules, cacheBytes: config.storage.cacheBytes }, { kv, segments, ...(scripts && { scripts }) });
}

/** Rebuilds the database. Throws `data_dir_invalid` without an archive, `data_dir_locked` while the node runs, `aborted`. */
export async function rebuildStorage({ config, signal, onProgress }: RebuildOptions): Promise<Rebuilt> {
  const { node, network } = config;
  if (!existsSync(node.dataDir)) {
    throw new TesseraError('data_dir_invalid', `${node.dataDir} does not exist: there is nothing to rebuild`);
  }
  const options = { rules: await rulesOf(config), cacheBytes: config.storage.cacheBytes };
  const directory = await DataDir.open(node.dataDir, { role: 'storage', networkName: network.name });
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
    const { nextHeight: blocks, problem } = archive;
    const none = 'nothing can be read: all blocks must come from another storage node or a backup';
    return {
      text: `rebuilt with ${blocks} blocks`,
      report: { blocks },
      problems: [...(blocks === 0 ? [none] : []), ...(problem === null ? [] : [problem])],
    };
  } finally {
    await directory.close();
  }
}

function ifDamaged(error: unknown): undefined {
  if (isTesseraError(error, 'data_corrupt') || isTesseraError(error, 'data_lost')) return;
  throw error;
}

async function rulesOf(config: Config) {
  const genesis = await readGenesis(config.network.genesisFile);
  const { asertActivationHeight: activationHeight } = config.mining;
  return { genesis, producers: producersOf(config, genesis), activationHeight };
}
