/**
 * Unspent outputs after the last block, by storage's own account: they are kept in the archive's database and changed in the batch that stores
 * the block, so that the two never disagree. An archive of a version without the account gets it from its blocks, in steps that survive a kill.
 */

import { decodeTxOut, encodeTxOut } from '../../chain/codec.js';
import { outPointKey } from '../../chain/transaction.js';
import type { OutPoint, TxOut } from '../../chain/types.js';
import type { Kv, KvBatch } from '../../db/kv.js';
import { changesBy, type VerifiedBlock } from '../../ledger/block/verified-block.js';
import { toHex } from '../../lib/bytes.js';
import { TesseraError } from '../../lib/errors.js';
import { atOnce } from '../../lib/pieces.js';
import type { TimeSlices } from '../../lib/time-slices.js';
import { pack, unpack } from '../segments/pack.js';
import { isShortKey, LONG_UNSPENT, outPointOfKey, UNSPENT, UNSPENT_TIP_KEY, unspentKey } from './layout.js';
import type { ArchiveReader } from './reader.js';
import { damaged, encodeLast, readLast } from './records.js';

export interface BlockProgress {
  /** Number of blocks done, and of all blocks; with `isRewriting` of the parts of unspent outputs, by name, that are rewritten. */
  readonly height: number;
  readonly target: number;
  readonly isRewriting?: true;
}

/** Parts of the names that are hashes: by the first two digits. */
const PARTS = 256;
/** First byte of the record of a plain output: a packed TxOut does not begin with hex digits. */
const IS_PLAIN = 0x80;
const ADDRESS_DIGITS = 64;
const PLAIN_ADDRESS = /^[0-9a-f]{64}$/;

type Changed = Pick<VerifiedBlock, 'hash' | 'height' | 'spent' | 'created'>;

export class UnspentOutputs {
  readonly #kv: Kv;
  readonly #reader: ArchiveReader;
  /** Height of the next block to account for. */
  #next: number;
  /** True once records of earlier versions have today's keys. */
  #isShort = false;

  private constructor(kv: Kv, reader: ArchiveReader, next: number) {
    this.#kv = kv;
    this.#reader = reader;
    this.#next = next;
  }

  /** Opens the account. Throws `data_corrupt` when it is about other blocks than the archive's; `stored` is their number. */
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

  /** Puts the changes of the next block into its batch. */
  async change({ hash, height, spent, created }: Changed, batch: KvBatch, slices: TimeSlices): Promise<void> {
    for (const outPoint of spent) {
      if (slices.isUsedUp) await slices.turn();
      batch.del(unspentKey(outPoint));
    }
    for (const { outPoint, txOut } of created) {
      if (slices.isUsedUp) await slices.turn();
      const key = unspentKey(outPoint);
      batch.put(key, isShortKey(key) ? encodeUnspent(txOut) : encodeTxOut(txOut));
    }
    batch.put(UNSPENT_TIP_KEY, encodeLast(height, hash));
  }

  /** Counts the next block as accounted for: the batch with its changes is on disk. */
  changed(): void {
    this.#next++;
  }

  /**
   * Accounts for the blocks up to `target` that were stored without an account. Does not verify them again. Throws `data_corrupt`
   * when one spends an output that is not unspent, and `aborted` when the signal says so.
   */
  async catchUp(
    target: number,
    slices: TimeSlices,
    onProgress: (progress: BlockProgress) => void,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    if (!this.#isShort) await this.#shorten(slices, onProgress, signal);
    for (; this.#next < target; this.changed(), onProgress({ height: this.#next, target })) {
      if (signal?.aborted) throw new TesseraError('aborted', 'the count of unspent outputs was cancelled');
      const { record, transactions } = await this.#reader.wholeBlock(this.#next);
      const { hash, height } = record;
      const changes = atOnce(changesBy(transactions, record.block.header));
      const found = await this.#kv.getMany(changes.spent.map(unspentKey));
      const missing = changes.spent.find((_, i) => found[i] === undefined);
      if (missing !== undefined) throw damaged(`block ${height} spends ${outPointKey(missing)}, which is not unspent`);
      const batch = this.#kv.batch();
      await this.change({ hash, height, ...changes }, batch, slices);
      await this.#kv.write(batch, { sync: height + 1 === target });
    }
  }

  /** Gives records of earlier versions today's key and form, a batch in each turn, in the order of their names; after a kill it goes on. */
  async #shorten(
    slices: TimeSlices,
    onProgress: (progress: BlockProgress) => void,
    signal?: AbortSignal,
  ): Promise<void> {
    let batch = this.#kv.batch();
    for await (const [key, record] of this.#kv.entries(LONG_UNSPENT)) {
      if (signal?.aborted) throw new TesseraError('aborted', 'the count of unspent outputs was cancelled');
      const { tHash, n } = outPointOfKey(key);
      const own = unspentKey({ tHash, n });
      if (!isShortKey(own)) continue;
      batch.del(key).put(own, pack(record));
      onProgress({ height: Number.parseInt(tHash.slice(1, 3), 16), target: PARTS, isRewriting: true });
      if (!slices.isUsedUp) continue;
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

function decoded(key: Uint8Array, record: Uint8Array): TxOut {
  if (!isShortKey(key)) return decodeTxOut(record);
  if (record[0] !== IS_PLAIN) return decodeTxOut(unpack(record));
  const hex = toHex(record.subarray(1));
  const amount = BigInt(`0x0${hex.slice(ADDRESS_DIGITS)}`);
  return { value: { kind: 'token', amount }, locktime: 0n, scriptPublicKey: hex.slice(0, ADDRESS_DIGITS) };
}

/** Most outputs are of tokens, at an address of 32 bytes, and not locked: address and amount are all of them. Others are packed. */
function encodeUnspent(txOut: TxOut): Uint8Array {
  const { value, locktime, scriptPublicKey } = txOut;
  if (value.kind !== 'token' || locktime !== 0n || !PLAIN_ADDRESS.test(scriptPublicKey ?? ''))
    return pack(encodeTxOut(txOut));
  const amount = value.amount.toString(16);
  return Buffer.from(
    `${toHex(Uint8Array.of(IS_PLAIN))}${scriptPublicKey}${amount.length % 2 === 0 ? '' : '0'}${amount}`,
    'hex',
  );
}
