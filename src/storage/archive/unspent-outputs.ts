/**
 * Unspent outputs after the last block, by storage's own account: they are kept in the archive's database and changed in the batch that stores
 * the block, so that the two never disagree. An archive of a version without it gets one from its blocks, in steps that a kill does not undo.
 */

import { decodeTxOut, encodeTxOut } from '../../chain/codec.js';
import { outPointKey } from '../../chain/transaction.js';
import type { OutPoint, TxOut } from '../../chain/types.js';
import type { Kv, KvBatch } from '../../db/kv.js';
import { changesBy, type VerifiedBlock } from '../../ledger/block/verified-block.js';
import { TesseraError } from '../../lib/errors.js';
import { atOnce } from '../../lib/pieces.js';
import type { TimeSlices } from '../../lib/time-slices.js';
import { pack, unpack } from '../segments/pack.js';
import { isShortKey, LONG_UNSPENT, outPointOfKey, UNSPENT, UNSPENT_TIP_KEY, unspentKey } from './layout.js';
import type { ArchiveReader } from './reader.js';
import { damaged, encodeLast, readLast } from './records.js';

export interface BlockProgress {
  /** Blocks done, and blocks that there are. */
  readonly height: number;
  readonly target: number;
}

type Changed = Pick<VerifiedBlock, 'hash' | 'height' | 'spent' | 'created'>;

export class UnspentOutputs {
  readonly #kv: Kv;
  readonly #reader: ArchiveReader;
  /** Height of the block that is accounted for next. */
  #next: number;
  /** Records of earlier versions have the keys of today. */
  #isShort = false;

  private constructor(kv: Kv, reader: ArchiveReader, next: number) {
    this.#kv = kv;
    this.#reader = reader;
    this.#next = next;
  }

  /** Throws `data_corrupt` when the account is not about the blocks of this archive; `stored` is how many it has. */
  static async open(kv: Kv, reader: ArchiveReader, stored: number): Promise<UnspentOutputs> {
    const record = await kv.get(UNSPENT_TIP_KEY);
    if (record === undefined) return new UnspentOutputs(kv, reader, 0);
    const { height, hash } = readLast(record);
    if (height >= stored || (await reader.hashAt(height)) !== hash) {
      throw damaged(`its unspent outputs are those of block ${height}, ${hash}, which is not the one stored`);
    }
    return new UnspentOutputs(kv, reader, height + 1);
  }

  /** Number of blocks that are accounted for. */
  get next(): number {
    return this.#next;
  }

  /** Outputs in the order asked; undefined for those that are spent or unknown. */
  async get(outPoints: readonly OutPoint[]): Promise<(TxOut | undefined)[]> {
    const keys = outPoints.map(unspentKey);
    const records = await this.#kv.getMany(keys);
    return records.map((record, i) => record && decoded(keys[i] ?? record, record));
  }

  /** Puts what the next block changes into its batch. */
  async change({ hash, height, spent, created }: Changed, batch: KvBatch, slices: TimeSlices): Promise<void> {
    for (const outPoint of spent) {
      if (slices.isUsedUp) await slices.turn();
      batch.del(unspentKey(outPoint));
    }
    for (const { outPoint, txOut } of created) {
      if (slices.isUsedUp) await slices.turn();
      const key = unspentKey(outPoint);
      batch.put(key, isShortKey(key) ? pack(encodeTxOut(txOut)) : encodeTxOut(txOut));
    }
    batch.put(UNSPENT_TIP_KEY, encodeLast(height, hash));
  }

  /** The batch with the changes of the next block is on disk. */
  changed(): void {
    this.#next++;
  }

  /**
   * Accounts for the blocks up to `target` that were stored without it. Does not verify them again. Throws `data_corrupt`
   * when one spends what is not unspent, and `aborted` when the signal says so.
   */
  async catchUp(
    target: number,
    slices: TimeSlices,
    onProgress: (progress: BlockProgress) => void,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    if (!this.#isShort) await this.#shorten(slices, signal);
    for (; this.#next < target; this.changed(), onProgress({ height: this.#next, target })) {
      if (signal?.aborted) throw new TesseraError('aborted', 'the count of unspent outputs was cancelled');
      const { record, transactions } = await this.#reader.wholeBlock(this.#next);
      const { hash, height } = record;
      const changes = atOnce(changesBy(transactions, record.block.header));
      const found = await this.#kv.getMany(changes.spent.map(unspentKey));
      const missing = changes.spent.find((_, i) => found[i] === undefined);
      if (missing !== undefined) throw notUnspent(height, outPointKey(missing));
      const batch = this.#kv.batch();
      await this.change({ hash, height, ...changes }, batch, slices);
      await this.#kv.write(batch, { sync: height + 1 === target });
    }
  }

  /** Gives records of earlier versions the key and form of today, a batch in each turn: a kill undoes nothing. */
  async #shorten(slices: TimeSlices, signal: AbortSignal | undefined): Promise<void> {
    let batch = this.#kv.batch();
    for await (const [key, record] of this.#kv.entries(LONG_UNSPENT)) {
      if (signal?.aborted) throw new TesseraError('aborted', 'the count of unspent outputs was cancelled');
      const own = unspentKey(outPointOfKey(key));
      if (isShortKey(own)) batch.del(key).put(own, pack(record));
      if (batch.size === 0 || !slices.isUsedUp) continue;
      await slices.turn();
      await this.#kv.write(batch, { sync: false });
      batch = this.#kv.batch();
    }
    if (batch.size > 0) await this.#kv.write(batch, { sync: false });
    this.#isShort = true;
  }
}

/** All unspent outputs in an archive's database. */
export async function* unspentIn(kv: Kv): AsyncGenerator<readonly [OutPoint, TxOut]> {
  for await (const [key, record] of kv.entries(UNSPENT)) yield [outPointOfKey(key), decoded(key, record)];
}

const decoded = (key: Uint8Array, record: Uint8Array): TxOut => decodeTxOut(isShortKey(key) ? unpack(record) : record);

function notUnspent(height: number, key: string): TesseraError {
  return damaged(`block ${height} spends ${key}, which is not unspent`);
}
