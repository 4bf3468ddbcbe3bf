/** The last stored blocks, for a storage node restored from an older copy (docs/adr/0011-two-ages-converge.md). */

import type { KvBatch } from '../../db/kv.js';
import type { Pieces } from '../../lib/pieces.js';
import { keys } from './layout.js';
import { encodeKept, encodeKeptNames, type KeptName, type KeptRecord } from './records.js';

const MAX_KEPT_BLOCKS = 64;
/** Bytes of all of them; the last block is kept whatever its size. */
const MAX_KEPT_BYTES = 256 * 1024 * 1024;

export class KeptBlocks {
  #names: readonly KeptName[];

  constructor(names: readonly KeptName[] = []) {
    this.#names = names;
  }

  hashAt(height: number): string | undefined {
    return this.#names.find((name) => name.height === height)?.hash;
  }

  /** Adds a block to the batch and removes those that are too old, in pieces. */
  *keep(height: number, hash: string, record: KeptRecord, batch: KvBatch): Pieces<void> {
    const parts = encodeKept(record);
    yield* batch.putInPieces(keys.kept(height), parts);
    yield;
    const names = [...this.#names, { height, hash, size: parts.reduce((sum, part) => sum + part.length, 0) }];
    let size = names.reduce((sum, name) => sum + name.size, 0);
    while (names.length > MAX_KEPT_BLOCKS || (size > MAX_KEPT_BYTES && names.length > 1)) {
      const oldest = names.shift();
      if (oldest === undefined) break;
      size -= oldest.size;
      batch.del(keys.kept(oldest.height));
    }
    batch.put(keys.keptNames, encodeKeptNames(names));
    this.#names = names;
  }
}
