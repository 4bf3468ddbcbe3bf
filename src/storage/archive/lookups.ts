/** Records of the archive by their names, checked as all that is read from it: for the index of the chain. */

import type { Kv } from '../../db/kv.js';
import type { VerifiedBlock } from '../../ledger/block/verified-block.js';
import { fromUtf8 } from '../../lib/bytes.js';
import type { TimeSlices } from '../../lib/time-slices.js';
import { blockKey, indexKey, transactionKey } from './layout.js';
import { type ArchiveReader, present } from './reader.js';
import { type BlockRecord, type ItemRecord, readHash, type TransactionRecord } from './records.js';

/** A block that is on disk now, as it was verified. */
export interface WrittenBlock {
  readonly record: BlockRecord;
  readonly verified: VerifiedBlock;
}

type Guard = <T>(work: () => Promise<T>) => Promise<T>;

export class ArchiveLookups {
  readonly #kv: Kv;
  readonly #reader: ArchiveReader;
  readonly #guard: Guard;

  /** `guard` reports what is damaged. */
  constructor(kv: Kv, reader: ArchiveReader, guard: Guard) {
    this.#kv = kv;
    this.#reader = reader;
    this.#guard = guard;
  }

  /** A block that must be there. */
  blockAt(height: number): Promise<BlockRecord> {
    return this.#guard(async () => {
      const hash = await this.#reader.hashAt(height);
      return present(await this.#reader.block(hash), `block ${hash}`);
    });
  }

  block(hash: string): Promise<BlockRecord | undefined> {
    return this.#guard(() => this.#reader.block(hash));
  }

  /**
   * In the order of the hashes; undefined for what is not stored. A few at a time: they are decoded without a pause, or with `slices`
   * each in a turn of its own.
   */
  transactions(
    hashes: readonly string[],
    slices?: Pick<TimeSlices, 'turn'>,
  ): Promise<(TransactionRecord | undefined)[]> {
    return this.#guard(() => this.#reader.transactions(hashes, slices));
  }

  /** How an item was created. */
  item(genesisHash: string): Promise<ItemRecord | undefined> {
    return this.#guard(() => this.#reader.item(genesisHash));
  }

  /** Hashes of transactions that must be there, in the order of the places. */
  namesAt(places: readonly { readonly height: number; readonly txNum: number }[]): Promise<string[]> {
    return this.#guard(async () => {
      const records = await this.#kv.getMany(places.map(({ height, txNum }) => indexKey(height, txNum)));
      return records.map((record, i) => {
        const what = `transaction ${places[i]?.txNum} of block ${places[i]?.height}`;
        return readHash(what, present(record, `the name of ${what}`));
      });
    });
  }

  /** Names of stored blocks that begin with a text, at most `limit`. */
  blocksFrom(text: string, limit: number): Promise<string[]> {
    return this.#namesFrom(blockKey, text, limit);
  }

  /** Names of stored transactions that begin with a text. */
  transactionsFrom(text: string, limit: number): Promise<string[]> {
    return this.#namesFrom(transactionKey, text, limit);
  }

  #namesFrom(keyOf: (name: string) => Uint8Array, text: string, limit: number): Promise<string[]> {
    return this.#guard(async () => {
      const gte = keyOf(text);
      const names: string[] = [];
      // No UTF-8 text has this byte.
      for await (const [key] of this.#kv.entries({ gte, lt: Buffer.concat([gte, Uint8Array.of(0xff)]), limit })) {
        names.push(fromUtf8(key.subarray(1)));
      }
      return names;
    });
  }
}
