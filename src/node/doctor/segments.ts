/** Checks the files of blocks of a storage node, by their names, and whether its object store answers. */

import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../../config/schema.js';
import { factsOf } from '../../lib/roles.js';
import { closedAmong, gapIn } from '../../storage/segments/names.js';
import { segmentsOf } from '../archive-files.js';
import { type Examination, type Finding, fail, ok, reasonOf } from './finding.js';

export function segmentExaminations(config: Config): readonly Examination[] {
  if (!factsOf(config.node.role).databases.includes('archive')) return [];
  return [
    { name: 'segments', run: () => segmentFindings(config) },
    { name: 'object store', run: (signal) => storeFindings(config, signal) },
  ];
}

async function segmentFindings({ node, storage }: Config): Promise<readonly Finding[]> {
  const names = await readdir(join(node.dataDir, 'segments')).catch(() => undefined);
  if (names === undefined) return [];
  const closed = closedAmong(names);
  const gap = gapIn(closed);
  const far = closed.filter(({ isHere }) => !isHere).length;
  if (gap !== undefined) {
    const advice = 'restore the file or a backup, or run tessera rebuild: missing blocks come from other storage nodes';
    return [fail('segments', `the file with the blocks from ${gap} on is missing`, advice)];
  }
  if (far > 0 && storage.segments.store === 'local') {
    const found = `${far} of ${closed.length} closed files are only in an object store, and none is configured`;
    return [fail('segments', found, 'set storage.segments as it was when they were put there')];
  }
  return [ok('segments', `${closed.length} closed files of blocks, ${far} of them only in the object store`)];
}

async function storeFindings(config: Config, signal: AbortSignal): Promise<readonly Finding[]> {
  const { far } = await segmentsOf({ path: config.node.dataDir }, config);
  if (far === undefined) return [];
  signal.addEventListener('abort', () => far.close(), { once: true });
  try {
    await far.store.probe();
    const { endpoint, bucket } = config.storage.segments;
    return [ok('object store', `${endpoint}, bucket ${bucket}, answers; tessera verify --store checks what it has`)];
  } catch (error) {
    return [fail('object store', reasonOf(error), 'see docs/operations.md#old-blocks-in-an-object-store')];
  }
}
