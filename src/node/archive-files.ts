/** Segments and database of a storage node's archive, as its data folder has them. */

import { join } from 'node:path';
import type { DataDir } from '../db/data-dir.js';
import type { Kv } from '../db/kv.js';
import { forgetDamage } from '../db/put-aside.js';
import type { TesseraError } from '../lib/errors.js';
import { setUnusedAside } from '../storage/segments/names.js';
import { Segments } from '../storage/segments/segments.js';

const ARCHIVE = 'archive';
const SEGMENTS = 'segments';

export interface ArchiveFiles {
  readonly kv: Kv;
  readonly segments: Segments;
}

/** Opens the segments; the data folder closes them. `maxBytes`: of a new one. */
export async function openSegments(dataDir: DataDir, maxBytes?: number): Promise<Segments> {
  const segments = await Segments.open(join(dataDir.path, SEGMENTS), { maxBytes });
  dataDir.adopt(SEGMENTS, segments);
  return segments;
}

/** Opens both; the data folder closes them. Throws `data_lost` or `data_corrupt` when one of them is not whole. */
export async function openArchiveFiles(dataDir: DataDir, maxBytes?: number): Promise<ArchiveFiles> {
  const segments = await openSegments(dataDir, maxBytes);
  return { kv: await dataDir.open('archive', { isLarge: true, mayBeGone: segments.isWhole }), segments };
}

/**
 * The same with a new database, which the archive fills from the segments when it loads. The damaged one is put aside if it may
 * hold blocks that are in no segment.
 */
export async function remakeArchiveFiles(dataDir: DataDir, maxBytes?: number): Promise<ArchiveFiles> {
  const path = join(dataDir.path, SEGMENTS);
  await setUnusedAside(path);
  const segments = await Segments.open(path);
  await segments.close();
  if (segments.isWhole) await dataDir.removeDerived(ARCHIVE);
  else await dataDir.putAside(ARCHIVE);
  await forgetDamage(dataDir.path, ARCHIVE);
  return openArchiveFiles(dataDir, maxBytes);
}

/** True for damage of the database alone, all of which the segments can give again. */
export async function canBeMade(path: string, damage: TesseraError): Promise<boolean> {
  return damage.details.database === ARCHIVE && (await Segments.open(join(path, SEGMENTS))).isWhole;
}
