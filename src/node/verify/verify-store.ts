/** Checks of `tessera verify --store`: the segments in the object store, from block 0 on, by their bytes alone. */

import type { Config } from '../../config/schema.js';
import { systemClock } from '../../lib/clock.js';
import { TesseraError } from '../../lib/errors.js';
import { TimeSlices } from '../../lib/time-slices.js';
import type { Progress } from '../../observability/progress.js';
import { readWholeBlock } from '../../storage/archive/reader.js';
import { listSegments, recordsOf } from '../../storage/blocks/from-store.js';
import type { FarSegments } from '../../storage/segments/far-segments.js';
import { gapIn } from '../../storage/segments/names.js';
import { segmentsOf } from '../archive-files.js';

export interface VerifyStoreOptions {
  readonly config: Config;
  /** Folder for the segment that is being checked. */
  readonly path: string;
  readonly progress: Progress;
  readonly signal: AbortSignal;
}

/** Verifies the store; gives a report. Throws `invalid_config` without a store, `archive_incomplete` at the first fault, and `aborted`. */
export async function verifyStore({ config, path, progress, signal }: VerifyStoreOptions): Promise<readonly string[]> {
  const { far } = await segmentsOf({ path }, config);
  if (far === undefined) throw new TesseraError('invalid_config', 'storage.segments.store names no object store');
  const abort = (): void => far.close();
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await checkAll(far, progress);
  } catch (error) {
    throw signal.aborted ? new TesseraError('aborted', 'the check was cancelled') : error;
  } finally {
    signal.removeEventListener('abort', abort);
    progress.end();
  }
}

async function checkAll(far: FarSegments, progress: Progress): Promise<readonly string[]> {
  let foreign = 0;
  const segments = await listSegments(far, () => foreign++);
  // Nodes with different certificates make different files of the same blocks.
  const firsts = segments.filter(({ first }, i) => segments[i - 1]?.first !== first);
  const gap = gapIn(firsts);
  if (gap !== undefined) throw fault(`has no segment with block ${gap}, and later ones`);
  const total = (segments.at(-1)?.last ?? -1) + 1;
  const hashes = new Map<number, string>();
  const slices = new TimeSlices(systemClock);
  for (const segment of segments) {
    const fetched = await far.fetch(segment.name);
    try {
      let before = hashes.get(segment.first - 1);
      for await (const record of recordsOf(segment, fetched)) {
        const { hash, block } = (await readWholeBlock(record.height, record, slices)).record;
        if (record.height > 0 && block.header.previousHash !== before)
          throw fault(`has a block ${record.height} in ${segment.name} that does not follow the one before it`);
        before = hash;
        progress.update(record.height + 1, total);
      }
      if (before !== undefined) hashes.set(segment.last, before);
    } finally {
      await fetched.close();
    }
  }
  const more = foreign === 0 ? [] : [`${foreign} objects are no segments, and were passed over`];
  return [`${segments.length} segments with ${total} blocks, all with the digests of their names`, ...more];
}

function fault(what: string): TesseraError {
  return new TesseraError('archive_incomplete', `the object store ${what}`);
}
