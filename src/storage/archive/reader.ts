/** Reading the archive's records: each is hashed again, and what an index names must be there (rule P3). */

import { joinFullBlock } from '../../chain/codec.js';
import type { Kv } from '../../db/kv.js';
import { fromUtf8 } from '../../lib/bytes.js';
import { blockKey, indexKey, itemKey, LAST_KEY, NUMBERS, numberKey, transactionKey } from './layout.js';
import {
  type BlockRecord,
  damaged,
  type ItemRecord,
  readBlockRecord,
  readItemRecord,
  readLast,
  readTransactionRecord,
  type TransactionRecord,
} from './records.js';

/** Transactions that one read of the database takes. */
const READ_CHUNK = 500;

export interface ArchiveReader {
  /** The last block; undefined in an empty archive. */
  last(): Promise<BlockRecord | undefined>;
  block(hash: string): Promise<BlockRecord | undefined>;
  transaction(hash: string): Promise<TransactionRecord | undefined>;
  item(genesisHash: string): Promise<ItemRecord | undefined>;
  /** Hash of a block that must be there. */
  hashAt(blockNum: number): Promise<string>;
  transactionHashAt(blockNum: number, txNum: number): Promise<string | undefined>;
  /** A block that must be there, with all its transactions in order, the mining transaction last. */
  wholeBlock(blockNum: number): Promise<WholeBlock>;
  /** The encoding of a FullBlock that must be there. */
  fullBlockBytes(blockNum: number): Promise<Uint8Array>;
  /** Those of the hashes that are names of stored transactions. */
  storedTransactions(hashes: readonly string[]): Promise<string[]>;
  /** The value; `data_corrupt` when it is undefined. */
  present<T>(value: T | undefined, what: string): T;
  /** Tells the names of block 0's transactions, once it is stored. */
  genesisStored(names: readonly string[]): void;
}

export interface WholeBlock {
  readonly record: BlockRecord;
  readonly transactions: readonly TransactionRecord[];
}

export function createArchiveReader(kv: Kv): ArchiveReader {
  let genesisNames: readonly string[] | undefined;

  const present = <T>(value: T | undefined, what: string): T => {
    if (value === undefined) throw damaged(`${what} is missing`);
    return value;
  };
  const block = async (hash: string): Promise<BlockRecord | undefined> => {
    const record = await kv.get(blockKey(hash));
    return record && readBlockRecord(hash, record);
  };
  const hashAt = async (blockNum: number): Promise<string> =>
    fromUtf8(present(await kv.get(numberKey(blockNum)), `the hash of block ${blockNum}`));

  /** The names that configuration, not hashing, gave to the transactions of block 0. */
  const namesOfGenesis = async (): Promise<readonly string[]> => {
    if (genesisNames !== undefined) return genesisNames;
    const hash = await kv.get(numberKey(0));
    const record = hash && (await block(fromUtf8(hash)));
    genesisNames = record?.block.transactions;
    return genesisNames ?? [];
  };

  const transactions = async (hashes: readonly string[]): Promise<(TransactionRecord | undefined)[]> => {
    const names = await namesOfGenesis();
    const found: (TransactionRecord | undefined)[] = [];
    for (let from = 0; from < hashes.length; from += READ_CHUNK) {
      const chunk = hashes.slice(from, from + READ_CHUNK);
      const records = await kv.getMany(chunk.map(transactionKey));
      for (const [i, hash] of chunk.entries()) {
        const record = records[i];
        found.push(record && readTransactionRecord(hash, record, names));
      }
    }
    return found;
  };

  const wholeBlock = async (blockNum: number): Promise<WholeBlock> => {
    const hash = await hashAt(blockNum);
    const record = present(await block(hash), `block ${hash}`);
    const names = [...record.block.transactions, record.block.header.miningTxHash];
    const found = await transactions(names);
    return { record, transactions: found.map((tx, i) => present(tx, `transaction ${names[i]}`)) };
  };

  return {
    async last() {
      const record = await kv.get(LAST_KEY);
      if (record === undefined) {
        for await (const _ of kv.entries({ ...NUMBERS, limit: 1 }))
          throw damaged('the name of the last block is missing');
        return undefined;
      }
      const { blockNum, hash } = readLast(record);
      if ((await hashAt(blockNum)) !== hash) throw damaged(`block ${blockNum} has two hashes`);
      const found = present(await block(hash), `the last block, ${hash},`);
      if (found.blockNum !== blockNum) throw damaged(`the last block, ${hash}, has another number than its name`);
      return found;
    },
    block,
    async transaction(hash) {
      const [found] = await transactions([hash]);
      return found;
    },
    async item(genesisHash) {
      const record = await kv.get(itemKey(genesisHash));
      return record && readItemRecord(genesisHash, record);
    },
    hashAt,
    async transactionHashAt(blockNum, txNum) {
      const hash = await kv.get(indexKey(blockNum, txNum));
      return hash && fromUtf8(hash);
    },
    wholeBlock,
    async fullBlockBytes(blockNum) {
      const { record, transactions: records } = await wholeBlock(blockNum);
      const all = records.map(({ bytes }) => bytes);
      return joinFullBlock(
        record.bytes,
        all.slice(0, -1),
        present(all.at(-1), `the mining transaction of ${record.hash}`),
      );
    },
    async storedTransactions(hashes) {
      const records = await kv.getMany(hashes.map(transactionKey));
      return hashes.filter((_, i) => records[i] !== undefined);
    },
    present,
    genesisStored(names) {
      genesisNames = names;
    },
  };
}
