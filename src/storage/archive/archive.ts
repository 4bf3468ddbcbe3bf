/**
 * The archive: every block and transaction of the chain by every key that clients know, verified before it is written and
 * hashed again when it is read. A block is stored when its segment and the batch that names it are synced, so that the archive is
 * contiguous from block 0 whenever the process ends. Answers are rendered once and cached by bytes.
 */

import type { Certificate } from '../../chain/certificate.js';
import type { FullBlock } from '../../chain/types.js';
import { isUnreadable } from '../../db/database-error.js';
import { endlessRoom, type Room } from '../../db/disk-room.js';
import type { Kv } from '../../db/kv.js';
import type { ChainRules, ChainTip } from '../../ledger/block/rules.js';
import type { LedgerView, ScriptVerifier } from '../../ledger/block/spending.js';
import { BlockVerifier } from '../../ledger/block/verify-block.js';
import { Verifier } from '../../ledger/verifier/verifier.js';
import { type Clock, systemClock } from '../../lib/clock.js';
import { isTesseraError, TesseraError } from '../../lib/errors.js';
import { Mutex } from '../../lib/mutex.js';
import { type Signal, SignalSource } from '../../lib/signal.js';
import { TimeSlices } from '../../lib/time-slices.js';
import { type HistogramHandle, type Metrics, noMetrics, startTimer } from '../../observability/metrics.js';
import type { RoundFactsBody } from '../../peers/messages.js';
import { type AuditProgress, type AuditRange, type AuditResult, auditArchive } from '../blocks/audit.js';
import type { Segments } from '../segments/segments.js';
import type { ItemInfo, LatestBlock, StorageService, StoredBlock, StoredEntry } from '../service.js';
import { BlockWriter, type BlockWriterModules } from './block-writer.js';
import { Certificates } from './certificates.js';
import { Entries } from './entries.js';
import { ArchiveLookups, type WrittenBlock } from './lookups.js';
import { ArchiveReader } from './reader.js';
import { type BlockProgress, UnspentOutputs } from './unspent-outputs.js';

/** Bytes of rendered answers and their canonical bytes kept in memory. */
const DEFAULT_CACHE_BYTES = 64 * 1024 * 1024;

export interface ArchiveOptions {
  readonly rules: ChainRules;
  /** Bytes of the cache of answers; 64 MiB by default. */
  readonly cacheBytes?: number;
}

export interface ArchiveModules {
  /** The archive's own database. Whoever opened it closes it. */
  readonly kv: Kv;
  /** Segments of blocks; without them blocks are records of the database, as before data format 3. Whoever opened them closes them. */
  readonly segments?: Segments;
  /** Verifier of signatures and scripts; by default they are verified on the main thread, a few in each turn. */
  readonly scripts?: ScriptVerifier;
  /** Room on the disk; unlimited when left out. */
  readonly room?: Room;
  readonly clock?: Clock;
  readonly metrics?: Metrics;
}

export interface BlockName {
  readonly height: number;
  readonly hash: string;
}

export interface StoredBlockName extends BlockName {
  /** Number of transactions, without the coinbase. */
  readonly transactions: number;
}

/** Parts that an archive reads when it opens. */
interface OpenParts extends Pick<BlockWriterModules, 'certificates' | 'reader' | 'segments' | 'unspent'> {
  readonly last: WrittenBlock['record'] | undefined;
}

export class Archive implements StorageService {
  /** Records by their names, for the chain index. */
  readonly lookups: ArchiveLookups;
  /** Verifier of this archive's blocks. */
  readonly scripts: ScriptVerifier;
  readonly #rules: ChainRules;
  readonly #kv: Kv;
  readonly #clock: Clock;
  readonly #room: Room;
  readonly #reader: ArchiveReader;
  readonly #segments: Segments | undefined;
  readonly #writer: BlockWriter;
  readonly #unspent: UnspentOutputs;
  readonly #certificates: Certificates;
  readonly #verifier: BlockVerifier;
  readonly #entries: Entries;
  /** Number of blocks that were in the segments when the archive was opened. */
  readonly #found: number;
  readonly #slices: TimeSlices;
  readonly #storing = new Mutex();
  readonly #metrics: Metrics;
  readonly #storeSeconds: HistogramHandle;
  readonly #blockStored = new SignalSource<StoredBlockName>();
  readonly #blockWritten = new SignalSource<WrittenBlock>();
  readonly #failed = new SignalSource<TesseraError>();
  #tip: ChainTip;

  private constructor(
    { rules, cacheBytes = DEFAULT_CACHE_BYTES }: ArchiveOptions,
    {
      kv,
      metrics = noMetrics,
      clock = systemClock,
      scripts = new Verifier({ threads: 0 }),
      room = endlessRoom,
    }: ArchiveModules,
    { reader, last, segments, unspent, certificates }: OpenParts,
  ) {
    this.#rules = rules;
    this.#kv = kv;
    this.#clock = clock;
    this.#slices = new TimeSlices(clock);
    this.#room = room;
    this.#reader = reader;
    this.#segments = segments;
    this.#writer = new BlockWriter({ kv, segments, reader, unspent, certificates, slices: this.#slices });
    this.#unspent = unspent;
    this.#certificates = certificates;
    this.scripts = scripts;
    this.#verifier = new BlockVerifier(rules, { ledger: this.#ledger(), scripts, clock });
    this.#entries = new Entries(cacheBytes, { reader, metrics, next: () => this.#tip.next });
    this.#found = segments?.next ?? 0;
    this.lookups = new ArchiveLookups(kv, reader, (work) => this.#guard(work));
    this.#tip = last
      ? { next: last.height + 1, hash: last.hash, issued: last.issued, coinbase: last.block.header.miningTxHash }
      : { next: 0, hash: null, issued: 0n };
    if (last !== undefined) this.#entries.found(last);
    this.#metrics = metrics;
    this.#storeSeconds = metrics.histogram('tessera_storage_block_write_duration_seconds');
    const height = metrics.gauge('tessera_block_height');
    metrics.beforeScrape(() => height.set(this.#tip.next - 1));
  }

  /**
   * Opens the archive in `kv`. Throws `data_corrupt` when its last records are inconsistent, and `data_lost` when the segments have
   * not all blocks that it names.
   */
  static async open(options: ArchiveOptions, modules: ArchiveModules): Promise<Archive> {
    const { kv, segments, clock = systemClock } = modules;
    const reader = new ArchiveReader(kv, segments, new TimeSlices(clock));
    const [placed, name] = [await reader.lastPlaced(), await reader.lastName()];
    // Blocks that were appended but not named yet are still in the older records.
    await segments?.settle(placed, placed?.height === name?.height);
    if (segments !== undefined && segments.next > (name?.height ?? -1)) {
      if (!segments.isWhole) await segments.noteWhole();
      reader.allInSegments();
    }
    const last = await reader.last();
    const height = last === undefined ? -1 : last.height;
    const unspent = await UnspentOutputs.open(kv, reader, height + 1);
    const certificates = await Certificates.open(kv, options.rules.producers, height);
    return new Archive(options, modules, { reader, last, segments, unspent, certificates });
  }

  /** Height of the next block: the number of stored blocks, for there are no gaps. */
  get nextHeight(): number {
    return this.#tip.next;
  }

  get tip(): ChainTip {
    return this.#tip;
  }

  /** Fires for each block, when it is on disk. */
  get blockStored(): Signal<StoredBlockName> {
    return this.#blockStored;
  }

  /** Fires for each block, when it is on disk, with its contents. */
  get blockWritten(): Signal<WrittenBlock> {
    return this.#blockWritten;
  }

  /** Fires when a call has met damage or an error of the disk: the node must stop (rule P3). */
  get failed(): Signal<TesseraError> {
    return this.#failed;
  }

  entry(key: string): Promise<StoredEntry | undefined> {
    return this.#guard(() => this.#entries.entry(key));
  }

  blockAt(height: number): Promise<StoredBlock | undefined> {
    return this.#guard(() => this.#entries.blockAt(height));
  }

  async latest(): Promise<LatestBlock | undefined> {
    return this.#entries.latest;
  }

  item(genesisHash: string): Promise<ItemInfo | undefined> {
    return this.#guard(async () => {
      const item = await this.#reader.item(genesisHash);
      return item && { genesisHash, ...item };
    });
  }

  /** Hash of a block; undefined when there is no such block. */
  hashAt(height: number): Promise<string | undefined> {
    return this.#guard(() => this.#entries.hashAt(height));
  }

  /** The certificate of the last block, if it has one. */
  get tipCertificate(): Certificate | undefined {
    return this.#certificates.last;
  }

  /** True when a stored block has a certificate: from then on every block is proven by one. */
  get isCertified(): boolean {
    return !this.#certificates.isEmpty || this.#writer.isCertified;
  }

  /** The certificate of a stored block, if it has one. */
  certificateAt(height: number): Promise<Certificate | undefined> {
    return this.#guard(() => this.#certificates.at(height));
  }

  /** Facts from the mempool about the round of the last block. */
  roundFacts(): Promise<RoundFactsBody | undefined> {
    return this.#guard(() => this.#reader.roundFacts(this.#tip.next - 1));
  }

  /** The encoded header; undefined when there is no such block. */
  headerBytes(height: number): Promise<Uint8Array | undefined> {
    return this.#guard(async () => (this.#entries.isStored(height) ? this.#reader.headerBytes(height) : undefined));
  }

  /** The encoded FullBlock, from the stored bytes, or, where `isInSegments`, its record as it is; undefined when there is no such block. */
  fullBlockBytes(height: number, isPacked?: boolean): Promise<Uint8Array | undefined> {
    const read = () => this.#reader.fullBlockBytes(height, isPacked);
    return this.#guard(async () => (this.#entries.isStored(height) ? read() : undefined));
  }

  /**
   * Takes in blocks that the segments have and the database lacks, and counts the unspent outputs of an archive of a version without
   * a count; until then no block can be stored. Throws `aborted`; a later call goes on.
   */
  load(onProgress: (progress: BlockProgress) => void = () => undefined, signal?: AbortSignal): Promise<void> {
    return this.#storing.run(() =>
      this.#guard(async () => {
        await this.#unspent.catchUp(this.#tip.next, this.#slices, onProgress, signal);
        await this.#takeIn(onProgress, signal);
      }),
    );
  }

  /** Number of blocks in the segments that wait for a damaged block before them; `load` takes them in once that is there. */
  get ahead(): number {
    return Math.max(this.#found - this.#tip.next, 0);
  }

  /** Number of damaged blocks from the next one on; undefined when the next one is not damaged. */
  get missing(): number | undefined {
    return this.#writer.missing;
  }

  /** Names the segment in which the next block is damaged; null when that is not so. */
  get problem(): string | null {
    return this.#writer.problem;
  }

  /** True while blocks are still in records of an older data format although there are segments. */
  get isOlder(): boolean {
    return this.#segments !== undefined && this.#segments.next < this.#tip.next;
  }

  /** True when every block is in a segment, as it is from then on. */
  get isInSegments(): boolean {
    return this.#segments !== undefined && !this.isOlder;
  }

  /** Moves blocks of an older data format to the segments, one by one while new ones are stored. Throws `aborted`. */
  async bringOver(onProgress: (progress: BlockProgress) => void, signal: AbortSignal): Promise<void> {
    while (this.#segments !== undefined && this.isOlder) {
      if (signal.aborted) throw new TesseraError('aborted', 'bringing over the archive was cancelled');
      const { next } = this.#segments;
      await this.#storing.run(() => this.#guard(() => this.#writer.bringOver(next)));
      onProgress({ height: next + 1, target: this.#tip.next });
      if (this.isOlder) continue;
      await this.#segments.noteWhole();
      this.#reader.allInSegments();
    }
  }

  /**
   * Verifies the block and writes it, with its certificate if that is by a producer of this network; resolves when it survives power loss. The caller
   * decides whether a block needs a certificate. Throws `block_refused` (`details.rule` says which rule) and changes nothing then, `write_failed` or
   * `database_failed` when the disk does not take it. Calls are served one after the other.
   */
  store(full: FullBlock, certificate?: Certificate, round?: RoundFactsBody): Promise<BlockName> {
    return this.#storing.run(() => this.#guard(() => this.#store(full, certificate, round)));
  }

  /** Checks a block by the rules of the next one, and stores nothing. Throws `block_refused`. */
  check(full: FullBlock): Promise<void> {
    return this.#storing.run(() => this.#guard(async () => void (await this.#verify(full, undefined))));
  }

  /** True while a block is being stored. */
  get isStoring(): boolean {
    return this.#storing.isBusy;
  }

  /** Resolves at once while no block is being stored, otherwise between two blocks: for work of less urgency. */
  async betweenBlocks(): Promise<void> {
    if (this.isStoring) await this.#storing.run(() => undefined);
  }

  /** Reads a range of blocks again and checks each by every rule and index. Throws `data_corrupt` at the first fault. */
  verify(
    range?: AuditRange,
    onProgress?: (progress: AuditProgress) => void,
    signal?: AbortSignal,
  ): Promise<AuditResult> {
    const archive = {
      kv: this.#kv,
      reader: this.#reader,
      tip: this.#tip,
      rules: this.#rules,
      scripts: this.scripts,
      clock: this.#clock,
      certificates: this.#certificates,
      counted: () => this.#unspent.next,
    };
    return this.#guard(() => auditArchive(archive, range, onProgress, signal));
  }

  #ledger(): LedgerView {
    return {
      knownHashes: (hashes) => this.#reader.storedTransactions(hashes),
      unspent: (outPoints) => this.#unspent.get(outPoints),
    };
  }

  /** Does work of a caller, who may only be a client's request, and reports errors that must end the node. */
  async #guard<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (isTesseraError(error, 'data_corrupt') || isUnreadable(error)) this.#failed.emit(error);
      throw error;
    }
  }

  async #store(full: FullBlock, told: Certificate | undefined, round: RoundFactsBody | undefined): Promise<BlockName> {
    this.#room.check();
    const stopTimer = startTimer(this.#storeSeconds, this.#clock);
    await this.#unspent.catchUp(this.#tip.next, this.#slices, () => undefined, undefined);
    await this.#takeIn(() => undefined, undefined);
    const { verified, certificate } = await this.#verify(full, told);
    const record = await this.#writer.recordOf(verified, full.block);
    const keepRendered = await this.#entries.rendered(record, () => this.#slices.turn());
    const isHealed = this.missing !== undefined;
    const earlier = await this.#writer.write(verified, record.bytes, { certificate, round });
    const written = { record, verified, earlier };
    this.#stored(written, certificate);
    keepRendered();
    stopTimer();
    this.#told(written);
    if (isHealed) {
      this.#metrics.counter('tessera_storage_blocks_healed_total', 'nodes').inc();
      // If the load fails, it is tried again with the next block.
      this.load().catch(() => undefined);
    }
    return { height: record.height, hash: record.hash };
  }

  async #takeIn(onProgress: (progress: BlockProgress) => void, signal: AbortSignal | undefined): Promise<void> {
    if (this.ahead === 0 || this.problem !== null) return;
    const taken = (written: WrittenBlock, certificate: Certificate | undefined): void => {
      this.#stored(written, certificate);
      this.#entries.found(written.record);
      this.#told(written);
      this.#metrics.counter('tessera_storage_blocks_healed_total', 'segments').inc();
      onProgress({ height: this.#tip.next, target: this.#tip.next + this.ahead });
    };
    await this.#writer.takeIn(this.#tip.next, taken, signal);
  }

  /** Makes a block the last one: it is on disk. */
  #stored({ record }: WrittenBlock, certificate: Certificate | undefined): void {
    const { hash, height, issued } = record;
    this.#unspent.changed();
    this.#certificates.stored(certificate);
    this.#tip = { next: height + 1, hash, issued, coinbase: record.block.header.miningTxHash };
    if (height === 0) this.#reader.genesisStored(record.block.transactions);
  }

  #told(written: WrittenBlock): void {
    const { hash, height, block } = written.record;
    this.#blockWritten.emit(written);
    this.#blockStored.emit({ height, hash, transactions: block.transactions.length });
  }

  async #verify(full: FullBlock, told: Certificate | undefined) {
    try {
      const verified = await this.#verifier.verify(full, this.#tip);
      return { verified, certificate: this.#certificates.keepable(verified, told) };
    } catch (error) {
      // Blocks that are stored already are sent again now and then; they break no rule.
      const isNew = full.block.header.bNum >= BigInt(this.#tip.next);
      if (isNew && isTesseraError(error, 'block_refused')) {
        this.#metrics.counter('tessera_storage_blocks_refused_total', String(error.details.rule)).inc();
      }
      throw error;
    }
  }
}
