/**
 * Writing blocks: a block is appended to the segments, synced, and then named by one synced batch, with all that it changes. Blocks
 * that the segments have and the database lacks, after a crash or a loss of the database, are taken in from there; blocks in
 * records of an older data format are moved to the segments.
 */

import type { Certificate } from '../../chain/certificate.js';
import { decodeBlock, encodeBlockPieces } from '../../chain/codec.js';
import { outPointKey } from '../../chain/transaction.js';
import type { Block, OutPoint } from '../../chain/types.js';
import type { Kv, KvBatch } from '../../db/kv.js';
import { assertRule, blockFault } from '../../ledger/block/rules.js';
import { changesBy, type VerifiedBlock } from '../../ledger/block/verified-block.js';
import { TesseraError } from '../../lib/errors.js';
import { failpoint } from '../../lib/failpoints.js';
import { inPieces } from '../../lib/pieces.js';
import type { TimeSlices } from '../../lib/time-slices.js';
import type { RoundFactsBody } from '../../peers/messages.js';
import { unpack } from '../segments/pack.js';
import type { SegmentBlock } from '../segments/record.js';
import { type Found, fits } from '../segments/scan.js';
import type { Segments } from '../segments/segments.js';
import { type Certificates, readCertificate } from './certificates.js';
import { itemsAfter } from './items.js';
import { itemKey, LAST_KEY, ROUND_KEY, transactionPlaceKey } from './layout.js';
import type { EarlierPlaces, WrittenBlock } from './lookups.js';
import { putBlock, removeRecords } from './old-records.js';
import { putPlaces, readTransactionPlace, segmentBlock, type TransactionPlace } from './places.js';
import { type ArchiveReader, readWholeBlock, type WholeBlock } from './reader.js';
import { type BlockRecord, encodeItemRecord, encodeLast, encodeRoundFacts } from './records.js';
import type { UnspentOutputs } from './unspent-outputs.js';

/** Number of blocks that are taken in between two syncs. */
const TAKEN_AT_ONCE = 64;
/** Number of places that one read of the database takes. */
const LOOKED_UP_AT_ONCE = 512;
const NONE: EarlierPlaces = new Map();

export interface BlockWriterModules {
  readonly kv: Kv;
  /** Segments; undefined for an archive that keeps blocks in records, as before data format 3. */
  readonly segments: Segments | undefined;
  readonly reader: ArchiveReader;
  readonly unspent: UnspentOutputs;
  readonly certificates: Certificates;
  readonly slices: TimeSlices;
}

/** Data that is kept with a block. */
export interface WrittenWith {
  readonly certificate: Certificate | undefined;
  readonly round: RoundFactsBody | undefined;
}

export class BlockWriter {
  readonly #modules: BlockWriterModules;
  /** The damaged part of the segments where the next block belongs, and the block after that part. */
  #gap: (Found & { readonly after: SegmentBlock | undefined }) | undefined;

  constructor(modules: BlockWriterModules) {
    this.#modules = modules;
  }

  /** Number of damaged blocks from the next one on; undefined when the next one is not damaged. */
  get missing(): number | undefined {
    return this.#gap && this.#gap.to - this.#gap.height + 1;
  }

  /** True when blocks after a damaged one have certificates. */
  get isCertified(): boolean {
    return this.#gap !== undefined && this.#modules.segments?.isCertified === true;
  }

  /** Why blocks wait for a damaged one; null when none do. */
  get problem(): string | null {
    const { segments } = this.#modules;
    return this.#gap === undefined || segments === undefined ? null : segments.damaged(this.#gap.height).message;
  }

  async recordOf({ hash, height, issued }: VerifiedBlock, block: Block): Promise<BlockRecord> {
    const bytes = await inPieces(encodeBlockPieces(block), () => this.#modules.slices.turn());
    return { hash, height, issued, bytes, block };
  }

  /** Writes the next block; resolves when it survives power loss, with the places of transactions that an earlier block has too. */
  async write(verified: VerifiedBlock, bytes: Uint8Array, { certificate, round }: WrittenWith): Promise<EarlierPlaces> {
    const { kv, segments, slices } = this.#modules;
    const batch = kv.batch();
    const isAppended = segments !== undefined && segments.next === verified.height;
    if (segments === undefined || segments.next < verified.height) await putBlock(verified, bytes, batch, slices);
    else await this.#place(segments, verified, await segmentBlock(verified, bytes, certificate, slices), batch);
    try {
      const earlier = await this.#change(verified, certificate, batch);
      if (round === undefined) batch.del(ROUND_KEY);
      else batch.put(ROUND_KEY, encodeRoundFacts(verified.height, round));
      failpoint('archive.batch.before', 'archive');
      await kv.write(batch, { sync: true });
      failpoint('archive.batch.after', 'archive');
      this.#gap = undefined;
      return earlier;
    } catch (error) {
      if (isAppended) segments.takeBack();
      throw error;
    }
  }

  /**
   * Takes in blocks of the segments from a height on. It ends before a damaged block, which then comes as any block does, and
   * is written in its old place. Throws `aborted`.
   */
  async takeIn(
    from: number,
    onTaken: (written: WrittenBlock, certificate: Certificate | undefined) => void,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const { kv, segments, reader, slices } = this.#modules;
    if (segments === undefined || segments.next <= from) return;
    const before = from === 0 ? undefined : await reader.place(from - 1);
    let gap: Found | undefined;
    for await (const found of segments.records(from, before && before.offset + before.length)) {
      if (signal?.aborted) throw new TesseraError('aborted', 'taking in the segments was cancelled');
      if (gap !== undefined || found.record === undefined) {
        gap ??= found;
        this.#gap = { ...gap, after: found.record };
        if (found.record === undefined) continue;
        break;
      }
      const whole = await readWholeBlock(found.height, found.record, slices);
      const proof = found.record.certificate;
      const certificate = proof && readCertificate(found.height, proof);
      const verified = await this.#changes(whole);
      const batch = kv.batch();
      await putPlaces(verified, found.record, found, batch, slices);
      const earlier = await this.#change(verified, certificate, batch);
      batch.del(ROUND_KEY);
      const isLast = found.height + 1 === segments.next;
      await kv.write(batch, { sync: isLast || found.height % TAKEN_AT_ONCE === 0 });
      onTaken({ record: whole.record, verified, earlier }, certificate);
    }
  }

  /** Moves the next block from older records to the segments, and removes the records. */
  async bringOver(height: number): Promise<void> {
    const { kv, segments, reader, certificates, slices } = this.#modules;
    if (segments === undefined) return;
    const whole = await reader.wholeBlock(height);
    const { hash, issued, bytes } = whole.record;
    const block = await segmentBlock({ height, issued, ...whole }, bytes, await certificates.at(height), slices);
    const place = await segments.append(block, slices);
    try {
      const batch = kv.batch();
      await putPlaces({ hash, height, ...whole }, block, place, batch, slices);
      removeRecords(whole.record, whole.transactions, batch);
      await kv.write(batch, { sync: true });
    } catch (error) {
      segments.takeBack();
      throw error;
    }
  }

  async #place(segments: Segments, verified: VerifiedBlock, block: SegmentBlock, batch: KvBatch): Promise<void> {
    const { slices } = this.#modules;
    const gap = this.#gap;
    if (gap !== undefined) assertSame(gap, verified, block);
    const place = gap === undefined ? await segments.append(block, slices) : await segments.replace(gap, block);
    await putPlaces(verified, block, place, batch, slices);
  }

  /** Puts the changes by a block, besides its own records, into the batch. */
  async #change(verified: VerifiedBlock, certificate: Certificate | undefined, batch: KvBatch): Promise<EarlierPlaces> {
    const { reader, unspent, certificates, slices } = this.#modules;
    let spent: ReadonlySet<string> | undefined;
    const isUnspent = async (outPoint: OutPoint) => {
      if ((await unspent.get([outPoint]))[0] === undefined) return false;
      spent ??= new Set(verified.spent.map(outPointKey));
      return !spent.has(outPointKey(outPoint));
    };
    const items = await itemsAfter(verified, (genesisHash) => reader.item(genesisHash), isUnspent, slices);
    for (const [genesisHash, item] of items) batch.put(itemKey(genesisHash), encodeItemRecord(item));
    if (certificate !== undefined) certificates.put(verified.height, certificate, batch);
    await unspent.change(verified, batch, slices);
    const earlier = verified.isOriginal ? await this.#keepFirstPlaces(verified, batch) : NONE;
    batch.put(LAST_KEY, encodeLast(verified.height, verified.hash));
    // The gathered changes are handed over in a turn of their own.
    await slices.turn();
    return earlier;
  }

  /** Keeps the first place of transactions that original nodes accepted again, by the same bytes. */
  async #keepFirstPlaces({ height, transactions }: VerifiedBlock, batch: KvBatch): Promise<EarlierPlaces> {
    const earlier = new Map<string, TransactionPlace>();
    const { kv, slices } = this.#modules;
    for (let from = 0; from < transactions.length; from += LOOKED_UP_AT_ONCE) {
      if (slices.isUsedUp) await slices.turn();
      const some = transactions.slice(from, from + LOOKED_UP_AT_ONCE);
      const places = await kv.getMany(some.map(({ hash }) => transactionPlaceKey(hash)));
      for (const [i, { hash }] of some.entries()) {
        const record = places[i];
        if (record === undefined) continue;
        const place = readTransactionPlace(hash, record);
        if (place.height >= height) continue;
        batch.put(transactionPlaceKey(hash), record);
        earlier.set(hash, place);
      }
    }
    return earlier;
  }

  async #changes({ record, transactions }: WholeBlock): Promise<VerifiedBlock> {
    const { slices } = this.#modules;
    const { hash, height, issued, block } = record;
    const { isOriginal } = block.header;
    const changes = await inPieces(changesBy(transactions, block.header), () => slices.turn());
    return { hash, height, issued, isOriginal, transactions, ...changes };
  }
}

/** Throws `block_refused` for another block than the one whose record is damaged: its length, and the next block's link, tell. */
function assertSame(
  gap: Found & { readonly after: SegmentBlock | undefined },
  { hash, height }: VerifiedBlock,
  block: SegmentBlock,
): void {
  const isFollowed = gap.after?.height === height + 1;
  const isOther = isFollowed && decodeBlock(unpack(gap.after.block)).header.previousHash !== hash;
  if (!isOther && fits(gap, block)) return;
  assertRule(blockFault('link', `block ${height}, ${hash}, is not the one that is damaged here`));
}
