/** Names and times of the transactions at some places. */

import type { Kv } from '../../db/kv.js';
import type { ArchiveLookups } from '../archive/lookups.js';
import { present } from '../archive/reader.js';
import { blockKey, type Place } from './layout.js';
import { readBlock } from './records.js';
import type { BlockSummary, TransactionPlace } from './service.js';

/** Summaries of blocks that must be there, by height. */
async function readBlocks(kv: Kv, heights: Iterable<number>): Promise<ReadonlyMap<number, BlockSummary>> {
  const unique = [...new Set(heights)];
  const records = await kv.getMany(unique.map(blockKey));
  return new Map(
    unique.map((height, i) => [height, readBlock(height, present(records[i], `the summary of block ${height}`))]),
  );
}

/** In the order of the places, which must all be indexed. */
export async function transactionsAt(
  kv: Kv,
  archive: ArchiveLookups,
  places: readonly Place[],
): Promise<TransactionPlace[]> {
  const [names, blocks] = await Promise.all([
    archive.namesAt(places),
    readBlocks(
      kv,
      places.map(({ height }) => height),
    ),
  ]);
  return places.map(({ height, txNum }, i) => ({
    hash: names[i] ?? '',
    height,
    txNum,
    time: blocks.get(height)?.time ?? 0n,
  }));
}
