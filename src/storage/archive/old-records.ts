/** Blocks that are in no segment yet: reads, writes and removes their records of data formats 1 and 2. */

import { encodeU64 } from '../../db/keys.js';
import type { Kv, KvBatch } from '../../db/kv.js';
import type { VerifiedBlock } from '../../ledger/block/verified-block.js';
import { utf8 } from '../../lib/bytes.js';
import type { TimeSlices } from '../../lib/time-slices.js';
import { blockAtKey, blockKey, heightKey, indexKey, NAMES_EACH, namesKey, transactionKey } from './layout.js';
import {
  type BlockRecord,
  encodeBlockRecord,
  encodeNames,
  encodeTransactionRecord,
  present,
  readBlockNumber,
  readBlockRecord,
  readHash,
  readNames,
  type TransactionRecord,
} from './records.js';

export interface NumberedTransaction {
  readonly height: number;
  readonly txNum: number;
}

/** Name of the record that has the hash at a place. */
const recordOf = ({ height, txNum }: NumberedTransaction): string => `${height}/${Math.floor(txNum / NAMES_EACH)}`;

export class OldReader {
  readonly #kv: Kv;

  constructor(kv: Kv) {
    this.#kv = kv;
  }

  async block(hash: string): Promise<BlockRecord | undefined> {
    const found = await this.#kv.get(blockKey(hash));
    if (found === undefined) return undefined;
    const height = readBlockNumber(found);
    const record = height === undefined ? found : await this.#kv.get(blockAtKey(height));
    return readBlockRecord(hash, present(record, `block ${height}, ${hash},`));
  }

  /** The block at a height; undefined when neither it nor its hash is there. */
  async blockAt(height: number): Promise<BlockRecord | undefined> {
    const record = await this.#kv.get(blockAtKey(height));
    if (record !== undefined) return readBlockRecord(height, record);
    const hash = await this.hashAt(height);
    return hash === undefined ? undefined : present(await this.block(hash), `block ${hash}`);
  }

  async hashAt(height: number): Promise<string | undefined> {
    const record = await this.#kv.get(heightKey(height));
    return record && readHash(`block ${height}`, record);
  }

  /** Hashes of transactions in the order of the places; undefined for those not found. */
  async namesAt(places: readonly NumberedTransaction[]): Promise<(string | undefined)[]> {
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

  /** Adds the hashes that are in records of data format 1. */
  async #withOlderNames(
    places: readonly NumberedTransaction[],
    found: readonly (string | undefined)[],
  ): Promise<(string | undefined)[]> {
    const records = await this.#kv.getMany(places.map(({ height, txNum }) => indexKey(height, txNum)));
    return places.map(({ height, txNum }, i) => {
      const record = records[i];
      return found[i] ?? (record && readHash(`transaction ${txNum} of block ${height}`, record));
    });
  }

  /** Records of transactions in the order of the hashes. */
  transactions(hashes: readonly string[]): Promise<(Uint8Array | undefined)[]> {
    return this.#kv.getMany(hashes.map(transactionKey));
  }
}

/**
 * Writes the records of a block of data format 2, as new blocks are kept while older ones are moved to the segments.
 * `blockBytes`: the encoded block, without its transactions.
 */
export async function putBlock(
  { hash, height, issued, transactions }: VerifiedBlock,
  blockBytes: Uint8Array,
  batch: KvBatch,
  slices: TimeSlices,
): Promise<void> {
  for (const [txNum, { hash: txHash, bytes, transaction }] of transactions.entries()) {
    if (slices.isUsedUp) await slices.turn();
    batch.put(transactionKey(txHash), encodeTransactionRecord(height, txNum, bytes, transaction));
  }
  for (let first = 0; first < transactions.length; first += NAMES_EACH) {
    if (slices.isUsedUp) await slices.turn();
    const names = transactions.slice(first, first + NAMES_EACH).map((one) => one.hash);
    batch.put(namesKey(height, first), encodeNames(names));
  }
  batch.put(blockAtKey(height), encodeBlockRecord(issued, blockBytes));
  batch.put(blockKey(hash), encodeU64(height));
  batch.put(heightKey(height), utf8(hash));
}

/** Deletes the records of a block of data formats 1 and 2. */
export function removeRecords(
  { hash, height }: BlockRecord,
  transactions: readonly TransactionRecord[],
  batch: KvBatch,
): void {
  for (const { hash: txHash, txNum } of transactions) {
    batch.del(transactionKey(txHash));
    batch.del(indexKey(height, txNum));
    if (txNum % NAMES_EACH === 0) batch.del(namesKey(height, txNum));
  }
  batch.del(blockAtKey(height)).del(blockKey(hash)).del(heightKey(height));
}
