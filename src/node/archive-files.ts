/** Segments and database of a storage node's archive, as its data folder has them. */

import { join } from 'node:path';
import type { Config } from '../config/schema.js';
import type { DataDir } from '../db/data-dir.js';
import type { Kv } from '../db/kv.js';
import { forgetDamage } from '../db/put-aside.js';
import type { TesseraError } from '../lib/errors.js';
import { FarSegments } from '../storage/segments/far-segments.js';
import { setUnusedAside } from '../storage/segments/names.js';
import { Segments, type SegmentsOptions } from '../storage/segments/segments.js';

const ARCHIVE = 'archive';
const SEGMENTS = 'segments';
/** Folder of segments that were fetched from the object store. */
const FETCHED = 'fetched';

export interface ArchiveFiles {
  readonly kv: Kv;
  readonly segments: Segments;
}

/** Options of the segments in the folder. The client of object stores takes memory, so it is loaded only where there is a store. */
export async function segmentsOf(
  { path }: Pick<DataDir, 'path'>,
  { network, storage }: Config,
): Promise<SegmentsOptions> {
  const { segmentBytes: maxBytes, segments } = storage;
  const { endpoint, bucket, accessKey, secretKey, cacheBytes } = segments;
  if (segments.store === 'local' || !endpoint || !bucket || !accessKey || !secretKey) return { maxBytes };
  const prefix = `${segments.prefix}/${network.name}`;
  const { ObjectStore } = await import('../storage/segments/object-store.js');
  const store = new ObjectStore({ ...segments, endpoint, bucket, accessKey, secretKey, prefix });
  return { maxBytes, far: new FarSegments({ path: join(path, FETCHED), cacheBytes }, store) };
}

/** Opens the segments. They are closed with the data folder. */
export async function openSegments(dataDir: DataDir, options?: SegmentsOptions): Promise<Segments> {
  const segments = await Segments.open(join(dataDir.path, SEGMENTS), options);
  dataDir.adopt(SEGMENTS, segments);
  return segments;
}

/** Opens segments and database, closed with the data folder. Throws `data_lost` or `data_corrupt` when one of them is not whole. */
export async function openArchiveFiles(dataDir: DataDir, options?: SegmentsOptions): Promise<ArchiveFiles> {
  const segments = await openSegments(dataDir, options);
  return { kv: await dataDir.open('archive', { mayBeGone: segments.isWhole }), segments };
}

/**
 * Opens the segments with a new database, which the archive fills from them when it loads. The damaged one is put aside if it may
 * hold blocks that are in no segment.
 */
export async function remakeArchiveFiles(dataDir: DataDir, options?: SegmentsOptions): Promise<ArchiveFiles> {
  const path = join(dataDir.path, SEGMENTS);
  await setUnusedAside(path);
  const segments = await Segments.open(path);
  await segments.close();
  if (segments.isWhole) await dataDir.removeDerived(ARCHIVE);
  else await dataDir.putAside(ARCHIVE);
  await forgetDamage(dataDir.path, ARCHIVE);
  return openArchiveFiles(dataDir, options);
}

/** True for damage of the database alone, when the segments have all that it held. */
export async function canBeMade(path: string, damage: TesseraError): Promise<boolean> {
  return damage.details.database === ARCHIVE && (await Segments.open(join(path, SEGMENTS))).isWhole;
}
