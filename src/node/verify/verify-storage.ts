/** Checks of `tessera verify` on a storage node: every block by the rules of the chain, and the index against one that is built once more. */

import { Verifier } from '../../ledger/verifier/verifier.js';
import { Archive } from '../../storage/archive/archive.js';
import type { Segments } from '../../storage/segments/segments.js';
import { openSegments, segmentsOf } from '../archive-files.js';
import { readGenesis } from '../genesis-file.js';
import { producersOf } from '../producers.js';
import { compareIndex, INDEX } from '../rebuild/rebuild-index.js';
import type { VerifiedData } from '../roles/role.js';

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

/** The index of the chain, which a storage node may have: every record, and that the blocks give the same once more. */
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
  const genesis = await readGenesis(config.network.genesisFile);
  const activationHeight = config.mining.asertActivationHeight;
  const rules = { genesis, producers: producersOf(config, genesis), activationHeight };
  return Archive.open({ rules, cacheBytes: config.storage.cacheBytes }, { kv, segments, ...(scripts && { scripts }) });
}
