/** Records of the archive by their names, checked like everything that is read from it: for the chain index. */

import type { Kv } from '../../db/kv.js';
import type { VerifiedBlock } from '../../ledger/block/verified-block.js';
import { fromUtf8 } from '../../lib/bytes.js';
import type { TimeSlices } from '../../lib/time-slices.js';
import { blockKey, digitsOfKey, packedRange, transactionKey } from './layout.js';
import type { NumberedTransaction } from './old-records.js';
import type { ArchiveReader, DecodingTurns, WholeBlock } from './reader.js';
import { type BlockRecord, type ItemRecord, present, type TransactionRecord } from './records.js';

/** Places, by hash, of a block's transactions that an earlier block has by the same bytes, as original nodes let happen. */
export type EarlierPlaces = ReadonlyMap<string, NumberedTransaction>;

/** A block that was just written to disk, as it was verified. */
export interface WrittenBlock {
  readonly record: BlockRecord;
  readonly verified: VerifiedBlock;
  readonly earlier: EarlierPlaces;
}

/** Forms of the beginnings of hashes. */
const BLOCK_NAME = /^b[0-9a-f]*$/;
const TRANSACTION_NAME = /^g[0-9a-f]*$/;

type Guard = <T>(work: () => Promise<T>) => Promise<T>;

export class ArchiveLookups {
  readonly #kv: Kv;
  readonly #reader: ArchiveReader;
  readonly #guard: Guard;

  /** `guard`: reports damage. */
  constructor(kv: Kv, reader: ArchiveReader, guard: Guard) {
    this.#kv = kv;
    this.#reader = reader;
    this.#guard = guard;
  }

  /** The block at a height, which must be there. */
  blockAt(height: number): Promise<BlockRecord> {
    return this.#guard(() => this.#reader.blockAt(height));
  }

  /** The block at a height, which must be there, with its transactions: a fifth of the work of reading them by their names. */
  wholeBlock(height: number, slices: TimeSlices): Promise<WholeBlock> {
    return this.#guard(() => this.#reader.wholeBlock(height, slices));
  }

  block(hash: string): Promise<BlockRecord | undefined> {
    return this.#guard(() => this.#reader.block(hash));
  }

  /**
   * Transactions in the order of the hashes; undefined for those not stored. Ask for a few at a time: all are decoded
   * without a pause, or with `turns` each in a turn of its own.
   */
  transactions(hashes: readonly string[], turns?: DecodingTurns): Promise<(TransactionRecord | undefined)[]> {
    return this.#guard(() => this.#reader.transactions(hashes, turns));
  }

  /** Record of an item's creation; undefined when there is none. */
  item(genesisHash: string): Promise<ItemRecord | undefined> {
    return this.#guard(() => this.#reader.item(genesisHash));
  }

  /** Hashes of transactions, which must be there, in the order of the places. */
  namesAt(places: readonly { readonly height: number; readonly txNum: number }[]): Promise<string[]> {
    return this.#guard(async () => {
      const names = await this.#reader.namesAt(places);
      return names.map((name, i) =>
        present(name, `the name of transaction ${places[i]?.txNum} of block ${places[i]?.height}`),
      );
    });
  }

  /** Names of stored blocks that begin with a text, at most `limit`. */
  blocksFrom(text: string, limit: number): Promise<string[]> {
    return BLOCK_NAME.test(text) ? this.#namesFrom('k', blockKey, text, limit) : Promise.resolve([]);
  }

  /** Names of stored transactions that begin with a text. */
  transactionsFrom(text: string, limit: number): Promise<string[]> {
    if (TRANSACTION_NAME.test(text)) return this.#namesFrom('d', transactionKey, text, limit);
    // All other names are in block 0: its list spares a search of the disk for each number that is typed.
    return this.#guard(async () => {
      const names = await this.#reader.namesOfGenesis();
      return names.filter((name) => name.startsWith(text)).slice(0, limit);
    });
  }

  /** Names from the records of places, and from records of blocks that are in no segment yet. */
  #namesFrom(prefix: 'd' | 'k', oldKey: (name: string) => Uint8Array, text: string, limit: number): Promise<string[]> {
    return this.#guard(async () => {
      const names = new Set<string>();
      const isRest = text.length - 1 <= (prefix === 'k' ? 64 : 31);
      for await (const [key] of this.#kv.entries({
        ...packedRange(prefix, text.slice(1)),
        limit: isRest ? limit : 0,
      })) {
        names.add((text[0] ?? '') + digitsOfKey(key));
      }
      const gte = oldKey(text);
      // The byte 0xff is in no UTF-8 text.
      const lt = Buffer.concat([gte, Uint8Array.of(0xff)]);
      for await (const [key] of this.#kv.entries({ gte, lt, limit })) names.add(fromUtf8(key.subarray(1)));
      return [...names].sort().slice(0, limit);
    });
  }
}
