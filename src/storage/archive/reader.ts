/** Reads the archive: everything is hashed again, and records that an index names must be there (rule P3). */

import { decodeTransaction, encodeHeader, inBlock, joinFullBlockPieces } from '../../chain/codec.js';
import { transactionHashOfBytes } from '../../chain/hash.js';
import { namesOf } from '../../chain/transaction.js';
import { readU64 } from '../../db/keys.js';
import type { Kv } from '../../db/kv.js';
import { nextCrc32c } from '../../db/level-files/log.js';
import { systemClock } from '../../lib/clock.js';
import { isTesseraError } from '../../lib/errors.js';
import { inPieces } from '../../lib/pieces.js';
import { TimeSlices } from '../../lib/time-slices.js';
import type { RoundFactsBody } from '../../peers/messages.js';
import { unpack, unpackedLength } from '../segments/pack.js';
import { readFront, readRecord, type SegmentBlock } from '../segments/record.js';
import type { Segments } from '../segments/segments.js';
import {
  BLOCK_PLACES,
  blockPlaceKey,
  HEIGHTS,
  heightOfKey,
  itemKey,
  LAST_KEY,
  numberKey,
  ROUND_KEY,
  transactionPlaceKey,
} from './layout.js';
import { type NumberedTransaction, OldReader } from './old-records.js';
import {
  type BlockPlace,
  encodedBlock,
  readBlockPlace,
  readTransactionPlace,
  type TransactionPlace,
} from './places.js';
import {
  type BlockRecord,
  checked,
  damaged,
  type ItemRecord,
  present,
  readBlock,
  readItemRecord,
  readLast,
  readRoundFacts,
  readTransactionRecord,
  type TransactionRecord,
} from './records.js';

/** Transactions that one read takes. */
const READ_CHUNK = 500;

/** Turns of the event loop, such as those of `TimeSlices`, for decoding so many bytes. */
export interface DecodingTurns {
  turn(bytes: number): Promise<void>;
}

export interface WholeBlock {
  readonly record: BlockRecord;
  readonly transactions: readonly TransactionRecord[];
}

export class ArchiveReader {
  readonly #kv: Kv;
  readonly #segments: Segments | undefined;
  /** Reader of blocks that are in no segment yet; undefined once all are in segments. To be copied before the segments are searched. */
  #old: OldReader | undefined;
  /** The names of block 0's transactions, which come from the configuration and are no hashes. */
  #genesisNames: readonly string[] | undefined;

  /** Turns in which blocks are unpacked and decoded. */
  readonly #slices: TimeSlices;

  constructor(kv: Kv, segments?: Segments, slices = new TimeSlices(systemClock)) {
    this.#kv = kv;
    this.#slices = slices;
    this.#segments = segments;
    this.#old = new OldReader(kv);
  }

  /** Notes that all blocks are in segments from now on. */
  allInSegments(): void {
    this.#old = undefined;
  }

  /** Number and hash of the last block; undefined in an empty archive. */
  async lastName(): Promise<{ readonly height: number; readonly hash: string } | undefined> {
    const record = await this.#kv.get(LAST_KEY);
    if (record !== undefined) return readLast(record);
    for (const range of [HEIGHTS, BLOCK_PLACES]) {
      for await (const _ of this.#kv.entries({ ...range, limit: 1 }))
        throw damaged('the name of the last block is missing');
    }
    return undefined;
  }

  /** The last block; undefined in an empty archive. */
  async last(): Promise<BlockRecord | undefined> {
    const name = await this.lastName();
    if (name === undefined) return undefined;
    const { height, hash } = name;
    if ((await this.hashAt(height)) !== hash) throw damaged(`block ${height} has two hashes`);
    const found = present(await this.block(hash), `the last block, ${hash},`);
    if (found.height !== height) throw damaged(`the last block, ${hash}, has another number than its name`);
    return found;
  }

  /** Height and place of the last block that is named in the segments. */
  async lastPlaced(): Promise<(BlockPlace & { readonly height: number }) | undefined> {
    for await (const [key, record] of this.#kv.entries({ ...BLOCK_PLACES, reverse: true, limit: 1 })) {
      const height = heightOfKey(key);
      return { height, ...readBlockPlace(height, record) };
    }
    return undefined;
  }

  /** Place of a block in the segments; undefined when it is in none. */
  async place(height: number): Promise<BlockPlace | undefined> {
    const record = await this.#kv.get(blockPlaceKey(height));
    return record && readBlockPlace(height, record);
  }

  block(hash: string): Promise<BlockRecord | undefined> {
    return this.#either(
      async () => {
        const record = await this.#kv.get(numberKey(hash));
        if (record === undefined) return undefined;
        const found = await this.blockAt(readU64(record, 0));
        if (found.hash !== hash) throw damaged(`the hash ${hash} leads to another block`);
        return found;
      },
      (old) => old.block(hash),
    );
  }

  /** Facts from the mempool about the round of block `height`; undefined where the stored ones are of another block. */
  async roundFacts(height: number): Promise<RoundFactsBody | undefined> {
    const record = await this.#kv.get(ROUND_KEY);
    return record && readRoundFacts(record, height);
  }

  /** The block at a height, which must be there. */
  async blockAt(height: number): Promise<BlockRecord> {
    const found = await this.#either(
      async () => {
        const place = await this.place(height);
        return place && this.#blockIn(height, place);
      },
      (old) => old.blockAt(height),
    );
    return present(found, `block ${height}`);
  }

  async transaction(hash: string): Promise<TransactionRecord | undefined> {
    const [found] = await this.transactions([hash]);
    return found;
  }

  async item(genesisHash: string): Promise<ItemRecord | undefined> {
    const record = await this.#kv.get(itemKey(genesisHash));
    return record && readItemRecord(genesisHash, record);
  }

  /** Hash of the block at a height, which must be there. */
  async hashAt(height: number): Promise<string> {
    const found = await this.#either(
      async () => (await this.place(height))?.hash,
      (old) => old.hashAt(height),
    );
    return present(found, `the hash of block ${height}`);
  }

  /** Hashes of transactions in the order of the places; undefined for those not found. */
  async namesAt(places: readonly NumberedTransaction[]): Promise<(string | undefined)[]> {
    const older = this.#old;
    const lists = new Map<number, readonly string[] | undefined>();
    for (const { height } of places) if (!lists.has(height)) lists.set(height, await this.#namesOf(height));
    const old = older === undefined ? [] : places.filter(({ height }) => lists.get(height) === undefined);
    const names = (await older?.namesAt(old)) ?? [];
    const byPlace = new Map(old.map((place, i) => [place, names[i]]));
    // Hashes that were in neither may have been moved to the segments between the two looks.
    for (const { height } of old.filter((_, i) => names[i] === undefined))
      lists.set(height, await this.#namesOf(height));
    return places.map((place) => byPlace.get(place) ?? lists.get(place.height)?.[place.txNum]);
  }

  /** Names of all transactions of a block in the segments, the coinbase last. */
  async #namesOf(height: number): Promise<readonly string[] | undefined> {
    const place = await this.place(height);
    if (place === undefined) return undefined;
    return namesOf((await this.#blockIn(height, place)).block);
  }

  /** The block at a height, which must be there, with all its transactions in order, the coinbase last. */
  async wholeBlock(height: number, slices = this.#slices): Promise<WholeBlock> {
    const found = await this.#either(
      async () => {
        const place = await this.place(height);
        return place && readWholeBlock(height, await this.#recordIn(height, place), slices);
      },
      async (old) => {
        const record = await old.blockAt(height);
        if (record === undefined) return undefined;
        const names = namesOf(record.block);
        const transactions = await this.transactions(names);
        return { record, transactions: transactions.map((tx, i) => present(tx, `transaction ${names[i]}`)) };
      },
    );
    return present(found, `block ${height}`);
  }

  /** The encoded header of the block at a height, which must be there. */
  async headerBytes(height: number): Promise<Uint8Array> {
    return encodeHeader((await this.blockAt(height)).block.header);
  }

  /** The encoded FullBlock of a height, which must be there. */
  async fullBlockBytes(height: number, isPacked = false): Promise<Uint8Array> {
    const place = await this.place(height);
    if (place !== undefined) {
      const record = await this.#recordIn(height, place);
      return isPacked ? record.bytes : encodedBlock(record, this.#slices);
    }
    const { record, transactions } = await this.wholeBlock(height);
    const all = transactions.map(({ bytes }) => bytes);
    const mining = present(all.pop(), `the coinbase of ${record.hash}`);
    return inPieces(joinFullBlockPieces(record.bytes, all, mining), () => this.#slices.turn());
  }

  /** The hashes among these that are names of stored transactions. */
  async storedTransactions(hashes: readonly string[]): Promise<string[]> {
    const places = await this.#kv.getMany(hashes.map(transactionPlaceKey));
    const old = (await this.#old?.transactions(hashes)) ?? [];
    return hashes.filter((_, i) => places[i] !== undefined || old[i] !== undefined);
  }

  /** Sets the names of block 0's transactions, once it is stored. */
  genesisStored(names: readonly string[]): void {
    this.#genesisNames = names;
  }

  /** Transactions in the order of the hashes; undefined for those not stored. With `turns` each is decoded in a turn of its own. */
  async transactions(hashes: readonly string[], turns?: DecodingTurns): Promise<(TransactionRecord | undefined)[]> {
    const names = await this.namesOfGenesis();
    const found: (TransactionRecord | undefined)[] = [];
    for (let from = 0; from < hashes.length; from += READ_CHUNK) {
      const chunk = hashes.slice(from, from + READ_CHUNK);
      const records = await this.#transactionBytes(chunk);
      for (const [i, hash] of chunk.entries()) {
        const record = records[i];
        await turns?.turn(record === undefined ? 0 : this.#sizeOf(record));
        if (record === undefined) found.push(undefined);
        else if (record.place === undefined) found.push(readTransactionRecord(hash, record.bytes, names));
        else found.push(this.#placed(hash, record.place, record.bytes, names));
      }
    }
    return found;
  }

  /** The names of block 0's transactions; none while it is not stored. */
  async namesOfGenesis(): Promise<readonly string[]> {
    if (this.#genesisNames !== undefined) return this.#genesisNames;
    const isStored = (await this.#kv.get(LAST_KEY)) !== undefined;
    this.#genesisNames = isStored ? (await this.blockAt(0)).block.transactions : undefined;
    return this.#genesisNames ?? [];
  }

  async #transactionBytes(hashes: readonly string[]): Promise<readonly (TransactionBytes | undefined)[]> {
    const older = this.#old;
    const found = await this.#placedBytes(hashes);
    const missing = hashes.filter((_, i) => found[i] === undefined);
    if (older === undefined || missing.length === 0) return found;
    const old = await older.transactions(missing);
    const moved = missing.filter((_, i) => old[i] === undefined);
    // Transactions that were in neither may have been moved to the segments between the two looks.
    const again = moved.length === 0 ? [] : await this.#placedBytes(moved);
    const others = new Map<string, TransactionBytes | undefined>(moved.map((hash, i) => [hash, again[i]]));
    for (const [i, hash] of missing.entries()) {
      const bytes = old[i];
      if (bytes !== undefined) others.set(hash, { place: undefined, bytes });
    }
    return hashes.map((hash, i) => found[i] ?? others.get(hash));
  }

  async #placedBytes(hashes: readonly string[]): Promise<(TransactionBytes | undefined)[]> {
    const segments = this.#segments;
    if (segments === undefined) return hashes.map(() => undefined);
    const records = await this.#kv.getMany(hashes.map(transactionPlaceKey));
    return Promise.all(
      hashes.map(async (hash, i) => {
        const record = records[i];
        if (record === undefined) return undefined;
        const place = readTransactionPlace(hash, record);
        return { place, bytes: await segments.read(place.height, place) };
      }),
    );
  }

  #placed(hash: string, place: TransactionPlace, bytes: Uint8Array, names: readonly string[]): TransactionRecord {
    return this.#inSegment(place.height, () => readPlaced(hash, place, bytes, names));
  }

  /** Bytes of the encoded transaction, which may be many times those of its packed form. */
  #sizeOf({ place, bytes }: TransactionBytes): number {
    return place === undefined ? bytes.length : this.#inSegment(place.height, () => unpackedLength(bytes));
  }

  /** Reads from a segment; an error names the segment when its bytes are not what its name says. */
  #inSegment<T>(height: number, read: () => T): T {
    try {
      return read();
    } catch (error) {
      const isDamage = error instanceof RangeError || isTesseraError(error, 'data_corrupt');
      if (isDamage) throw this.#segments?.damaged(height, error);
      throw error;
    }
  }

  async #blockIn(height: number, place: BlockPlace): Promise<BlockRecord> {
    const segments = present(this.#segments, `the segment of block ${height}`);
    const front = readFront(await segments.read(height, { ...place, length: place.front }));
    if (front?.height !== height) throw segments.damaged(height);
    const record = this.#inSegment(height, () => readBlock(height, front.issued, unpack(front.block)));
    if (record.hash !== place.hash) throw damaged(`block ${height} has two hashes`);
    return record;
  }

  async #recordIn(height: number, place: BlockPlace) {
    const segments = present(this.#segments, `the segment of block ${height}`);
    const record = readRecord(await segments.read(height, place));
    if (record?.height !== height) throw segments.damaged(height);
    return record;
  }

  /** Reads from the segments, else from older records, and again from the segments: a block may be moved meanwhile. */
  async #either<T>(
    fromSegments: () => Promise<T | undefined>,
    fromRecords: (old: OldReader) => Promise<T | undefined>,
  ): Promise<T | undefined> {
    const old = this.#old;
    const found = this.#segments === undefined ? undefined : await fromSegments();
    if (found !== undefined || old === undefined) return found;
    try {
      const older = await fromRecords(old);
      if (older !== undefined || this.#segments === undefined) return older;
    } catch (error) {
      const moved = isTesseraError(error, 'data_corrupt') ? await fromSegments() : undefined;
      if (moved !== undefined) return moved;
      throw error;
    }
    return fromSegments();
  }
}

interface TransactionBytes {
  /** Place in the segments; undefined for a record of an older format. */
  readonly place: TransactionPlace | undefined;
  readonly bytes: Uint8Array;
}

/** A transaction from a segment. Those of block 0 are checked by a checksum, since their names are no hashes. */
function readPlaced(
  hash: string,
  { height, txNum, isOriginal, sum }: TransactionPlace,
  packed: Uint8Array,
  genesisNames: readonly string[],
): TransactionRecord {
  return checked(`transaction ${hash}`, () => {
    const bytes = unpack(packed);
    const isListed = height === 0 && genesisNames[txNum] === hash && sum === nextCrc32c(packed, 0);
    if (!isListed && transactionHashOfBytes(bytes) !== hash) return undefined;
    const transaction = inBlock(decodeTransaction(bytes), isOriginal ? { isOriginal } : {});
    return { hash, height, txNum, bytes, transaction };
  });
}

/** The block of a record, with its transactions, each of which must hash to its name. */
export async function readWholeBlock(
  height: number,
  { issued, block, transactions: allPacked }: SegmentBlock,
  slices: TimeSlices,
): Promise<WholeBlock> {
  const record = readBlock(height, issued, unpack(block));
  const names = namesOf(record.block);
  if (names.length !== allPacked.length) throw damaged(`block ${height} has not the transactions that it lists`);
  const transactions: TransactionRecord[] = [];
  for (const [txNum, packed] of allPacked.entries()) {
    if (slices.isUsedUp) await slices.turn();
    const hash = names[txNum] ?? '';
    const bytes = unpack(packed);
    const found = checked(`transaction ${hash}`, () => {
      const isRight = (height === 0 && txNum < names.length - 1) || transactionHashOfBytes(bytes) === hash;
      const transaction = inBlock(decodeTransaction(bytes), record.block.header);
      return isRight ? { hash, height, txNum, bytes, transaction } : undefined;
    });
    transactions.push(found);
  }
  return { record, transactions };
}
