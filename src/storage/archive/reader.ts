/** Reading the archive's records: each is hashed again, and what an index names must be there (rule P3). */

import { encodeHeader, joinFullBlock } from '../../chain/codec.js';
import type { Kv } from '../../db/kv.js';
import { fromUtf8 } from '../../lib/bytes.js';
import {
  blockAtKey,
  blockKey,
  HEIGHTS,
  heightKey,
  indexKey,
  itemKey,
  LAST_KEY,
  NAMES_EACH,
  namesKey,
  transactionKey,
} from './layout.js';
import {
  type BlockRecord,
  damaged,
  type ItemRecord,
  readBlockNumber,
  readBlockRecord,
  readHash,
  readItemRecord,
  readLast,
  readNames,
  readTransactionRecord,
  type TransactionRecord,
} from './records.js';

/** Transactions that one read of the database takes. */
const READ_CHUNK = 500;

/** Source of the records: the archive's database, or what can be read of a damaged one. */
export type ArchiveRecords = Pick<Kv, 'get' | 'getMany' | 'entries'>;

/** Turns of the event loop, such as `TimeSlices`, for the decoding of so many bytes. */
export interface DecodingTurns {
  turn(bytes: number): Promise<void>;
}

interface TransactionPlace {
  readonly height: number;
  readonly txNum: number;
}

/** Places with the same text have their hashes in one record. */
const recordOf = ({ height, txNum }: TransactionPlace): string => `${height}/${Math.floor(txNum / NAMES_EACH)}`;

export interface WholeBlock {
  readonly record: BlockRecord;
  readonly transactions: readonly TransactionRecord[];
}

export class ArchiveReader {
  readonly #kv: ArchiveRecords;
  /** The names that configuration, not hashing, gave to the transactions of block 0. */
  #genesisNames: readonly string[] | undefined;

  constructor(kv: ArchiveRecords) {
    this.#kv = kv;
  }

  /** The last block; undefined in an empty archive. */
  async last(): Promise<BlockRecord | undefined> {
    const record = await this.#kv.get(LAST_KEY);
    if (record === undefined) {
      for await (const _ of this.#kv.entries({ ...HEIGHTS, limit: 1 }))
        throw damaged('the name of the last block is missing');
      return undefined;
    }
    const { height, hash } = readLast(record);
    if ((await this.hashAt(height)) !== hash) throw damaged(`block ${height} has two hashes`);
    const found = present(await this.block(hash), `the last block, ${hash},`);
    if (found.height !== height) throw damaged(`the last block, ${hash}, has another number than its name`);
    return found;
  }

  async block(hash: string): Promise<BlockRecord | undefined> {
    const found = await this.#kv.get(blockKey(hash));
    if (found === undefined) return undefined;
    const height = readBlockNumber(found);
    const record = height === undefined ? found : await this.#kv.get(blockAtKey(height));
    return readBlockRecord(hash, present(record, `block ${height}, ${hash},`));
  }

  /** A block that must be there. */
  async blockAt(height: number): Promise<BlockRecord> {
    const record = await this.#kv.get(blockAtKey(height));
    if (record !== undefined) return readBlockRecord(height, record);
    const hash = await this.hashAt(height);
    return present(await this.block(hash), `block ${hash}`);
  }

  async transaction(hash: string): Promise<TransactionRecord | undefined> {
    const [found] = await this.transactions([hash]);
    return found;
  }

  async item(genesisHash: string): Promise<ItemRecord | undefined> {
    const record = await this.#kv.get(itemKey(genesisHash));
    return record && readItemRecord(genesisHash, record);
  }

  /** Hash of a block that must be there. */
  async hashAt(height: number): Promise<string> {
    return readHash(`block ${height}`, present(await this.#kv.get(heightKey(height)), `the hash of block ${height}`));
  }

  /** Hashes of transactions in the order of the places; undefined where there is none. */
  async namesAt(places: readonly TransactionPlace[]): Promise<(string | undefined)[]> {
    const firsts = new Map(places.map((place) => [recordOf(place), place]));
    const records = await this.#kv.getMany([...firsts.values()].map(({ height, txNum }) => namesKey(height, txNum)));
    const names = new Map<string, readonly string[]>();
    for (const [i, [name, { height }]] of [...firsts].entries()) {
      const record = records[i];
      if (record !== undefined) names.set(name, readNames(height, record));
    }
    const found = places.map((place) => names.get(recordOf(place))?.[place.txNum % NAMES_EACH]);
    return names.size === firsts.size ? found : this.#withOlderNames(places, found);
  }

  /** Fills in those of data format 1. */
  async #withOlderNames(
    places: readonly TransactionPlace[],
    found: readonly (string | undefined)[],
  ): Promise<(string | undefined)[]> {
    const records = await this.#kv.getMany(places.map(({ height, txNum }) => indexKey(height, txNum)));
    return places.map(({ height, txNum }, i) => {
      const record = records[i];
      return found[i] ?? (record && readHash(`transaction ${txNum} of block ${height}`, record));
    });
  }

  /** A block that must be there, with all its transactions in order, the coinbase last. */
  async wholeBlock(height: number): Promise<WholeBlock> {
    return this.#withTransactions(await this.blockAt(height));
  }

  /** The same by its hash. */
  async wholeBlockOf(hash: string): Promise<WholeBlock> {
    return this.#withTransactions(present(await this.block(hash), `block ${hash}`));
  }

  async #withTransactions(record: BlockRecord): Promise<WholeBlock> {
    const names = [...record.block.transactions, record.block.header.miningTxHash];
    const found = await this.transactions(names);
    return { record, transactions: found.map((tx, i) => present(tx, `transaction ${names[i]}`)) };
  }

  /** The encoding of a header that must be there. */
  async headerBytes(height: number): Promise<Uint8Array> {
    return encodeHeader((await this.blockAt(height)).block.header);
  }

  /** The encoding of a FullBlock that must be there. */
  async fullBlockBytes(height: number): Promise<Uint8Array> {
    const { record, transactions } = await this.wholeBlock(height);
    const all = transactions.map(({ bytes }) => bytes);
    const mining = present(all.pop(), `the coinbase of ${record.hash}`);
    return joinFullBlock(record.bytes, all, mining);
  }

  /** Hashes among these that are names of stored transactions. */
  async storedTransactions(hashes: readonly string[]): Promise<string[]> {
    const records = await this.#kv.getMany(hashes.map(transactionKey));
    return hashes.filter((_, i) => records[i] !== undefined);
  }

  /** Tells the names of block 0's transactions, once it is stored. */
  genesisStored(names: readonly string[]): void {
    this.#genesisNames = names;
  }

  /** Transactions in the order of the hashes; undefined for those not stored. With `turns` each is decoded in a turn of its own. */
  async transactions(hashes: readonly string[], turns?: DecodingTurns): Promise<(TransactionRecord | undefined)[]> {
    const names = await this.namesOfGenesis();
    const found: (TransactionRecord | undefined)[] = [];
    for (let from = 0; from < hashes.length; from += READ_CHUNK) {
      const chunk = hashes.slice(from, from + READ_CHUNK);
      const records = await this.#kv.getMany(chunk.map(transactionKey));
      for (const [i, hash] of chunk.entries()) {
        const record = records[i];
        await turns?.turn(record?.length ?? 0);
        found.push(record && readTransactionRecord(hash, record, names));
      }
    }
    return found;
  }

  /** The names of block 0's transactions; none while it is not stored. */
  async namesOfGenesis(): Promise<readonly string[]> {
    if (this.#genesisNames !== undefined) return this.#genesisNames;
    const hash = await this.#kv.get(heightKey(0));
    const record = hash && (await this.block(fromUtf8(hash)));
    this.#genesisNames = record?.block.transactions;
    return this.#genesisNames ?? [];
  }
}

/** The value; throws `data_corrupt` when it is undefined. */
export function present<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw damaged(`${what} is missing`);
  return value;
}
