/**
 * Unspent outputs after the last block, by storage's own account: they are kept in the archive's database and changed in the
 * batch that stores the block, so that the two never disagree. Nothing of it is held in memory. An archive of a version that
 * had no such account gets one from its blocks, in steps that a kill does not undo.
 */

import { decodeTxOut, encodeTxOut } from '../../chain/codec.js';
import { outPointKey } from '../../chain/transaction.js';
import type { OutPoint, TxOut } from '../../chain/types.js';
import type { Kv, KvBatch } from '../../db/kv.js';
import { changesBy, type VerifiedBlock } from '../../ledger/block/verified-block.js';
import { TesseraError } from '../../lib/errors.js';
import { atOnce } from '../../lib/pieces.js';
import type { TimeSlices } from '../../lib/time-slices.js';
import { UNSPENT_TIP_KEY, unspentKey } from './layout.js';
import type { ArchiveReader } from './reader.js';
import { damaged, encodeLast, readLast } from './records.js';

const DEFAULT_STEP_CHANGES = 10_000;

export interface UnspentOutputsOptions {
  /** Number of changes that are gathered before a write while the account is built from blocks. */
  readonly stepChanges?: number;
}

export interface UnspentProgress {
  /** Blocks that are accounted for, and blocks stored. */
  readonly height: number;
  readonly target: number;
}

type Changed = Pick<VerifiedBlock, 'hash' | 'height' | 'spent' | 'created'>;

export class UnspentOutputs {
  readonly #kv: Kv;
  readonly #reader: ArchiveReader;
  readonly #stepChanges: number;
  /** Height of the block that is accounted for next. */
  #next: number;

  private constructor(kv: Kv, reader: ArchiveReader, next: number, options: UnspentOutputsOptions) {
    this.#kv = kv;
    this.#reader = reader;
    this.#next = next;
    this.#stepChanges = options.stepChanges ?? DEFAULT_STEP_CHANGES;
  }

  /** Throws `data_corrupt` when the account is not about the blocks of this archive; `stored` is how many it has. */
  static async open(
    kv: Kv,
    reader: ArchiveReader,
    stored: number,
    options: UnspentOutputsOptions = {},
  ): Promise<UnspentOutputs> {
    const record = await kv.get(UNSPENT_TIP_KEY);
    if (record === undefined) return new UnspentOutputs(kv, reader, 0, options);
    const { height, hash } = readLast(record);
    if (height >= stored || (await reader.hashAt(height)) !== hash) {
      throw damaged(`its unspent outputs are those of block ${height}, ${hash}, which is not the one stored`);
    }
    return new UnspentOutputs(kv, reader, height + 1, options);
  }

  /** Number of blocks that are accounted for. */
  get next(): number {
    return this.#next;
  }

  /** Outputs in the order asked; undefined for those that are spent or unknown. */
  async get(outPoints: readonly OutPoint[]): Promise<(TxOut | undefined)[]> {
    const records = await this.#kv.getMany(outPoints.map(unspentKey));
    return records.map((record) => record && decodeTxOut(record));
  }

  /** Puts what the next block changes into its batch. */
  async change({ hash, height, spent, created }: Changed, batch: KvBatch, slices: TimeSlices): Promise<void> {
    for (const outPoint of spent) {
      if (slices.isUsedUp) await slices.turn();
      batch.del(unspentKey(outPoint));
    }
    for (const { outPoint, txOut } of created) {
      if (slices.isUsedUp) await slices.turn();
      batch.put(unspentKey(outPoint), encodeTxOut(txOut));
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
    onProgress: (progress: UnspentProgress) => void,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    let step = new Step(this.#kv);
    while (this.#next + step.blocks < target) {
      if (signal?.aborted) throw new TesseraError('aborted', 'the count of unspent outputs was cancelled');
      const { record, transactions } = await this.#reader.wholeBlock(this.#next + step.blocks);
      const { hash, height } = record;
      await step.add({ hash, height, ...atOnce(changesBy(transactions)) });
      if (step.changes < this.#stepChanges && height + 1 < target) continue;
      await step.write(height + 1 === target);
      this.#next = height + 1;
      step = new Step(this.#kv);
      onProgress({ height: this.#next, target });
    }
  }
}

/** The changes of some blocks together: what is created and spent within them is never written. */
class Step {
  readonly #kv: Kv;
  readonly #created = new Map<string, readonly [OutPoint, TxOut]>();
  readonly #spent = new Map<string, OutPoint>();
  #tip: { readonly height: number; readonly hash: string } | undefined;
  blocks = 0;

  constructor(kv: Kv) {
    this.#kv = kv;
  }

  get changes(): number {
    return this.#created.size + this.#spent.size;
  }

  async add({ hash, height, spent, created }: Changed): Promise<void> {
    const onDisk: OutPoint[] = [];
    for (const outPoint of spent) {
      const key = outPointKey(outPoint);
      if (this.#created.delete(key)) continue;
      if (this.#spent.has(key)) throw notUnspent(height, key);
      this.#spent.set(key, outPoint);
      onDisk.push(outPoint);
    }
    const found = await this.#kv.getMany(onDisk.map(unspentKey));
    const missing = onDisk.find((_, i) => found[i] === undefined);
    if (missing !== undefined) throw notUnspent(height, outPointKey(missing));
    for (const { outPoint, txOut } of created) this.#created.set(outPointKey(outPoint), [outPoint, txOut]);
    this.#tip = { height, hash };
    this.blocks++;
  }

  async write(sync: boolean): Promise<void> {
    const batch = this.#kv.batch();
    for (const outPoint of this.#spent.values()) batch.del(unspentKey(outPoint));
    for (const [outPoint, txOut] of this.#created.values()) batch.put(unspentKey(outPoint), encodeTxOut(txOut));
    if (this.#tip !== undefined) batch.put(UNSPENT_TIP_KEY, encodeLast(this.#tip.height, this.#tip.hash));
    await this.#kv.write(batch, { sync });
  }
}

function notUnspent(height: number, key: string): TesseraError {
  return damaged(`block ${height} spends ${key}, which is not unspent`);
}
