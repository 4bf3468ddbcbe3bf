/**
 * The archive: every block and transaction of the chain by every key that clients know, verified before it is written and
 * hashed again when it is read. One synced batch stores a block, so that the archive is contiguous from block 0 whenever the
 * process ends. Answers are rendered once and cached by bytes.
 */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { Certificate } from '../../chain/certificate.js';
import { encodeBlockPieces } from '../../chain/codec.js';
import type { FullBlock } from '../../chain/types.js';
import { isUnreadable } from '../../db/database-error.js';
import { endlessRoom, type Room } from '../../db/disk-room.js';
import type { Kv } from '../../db/kv.js';
import type { ChainRules, ChainTip } from '../../ledger/block/rules.js';
import type { LedgerView, ScriptVerifier } from '../../ledger/block/spending.js';
import type { VerifiedBlock } from '../../ledger/block/verified-block.js';
import { BlockVerifier } from '../../ledger/block/verify-block.js';
import { Verifier } from '../../ledger/verifier/verifier.js';
import { type Clock, systemClock } from '../../lib/clock.js';
import { isTesseraError, type TesseraError } from '../../lib/errors.js';
import { Mutex } from '../../lib/mutex.js';
import { inPieces } from '../../lib/pieces.js';
import { type Signal, SignalSource } from '../../lib/signal.js';
import { TimeSlices } from '../../lib/time-slices.js';
import { type HistogramHandle, type Metrics, noMetrics, startTimer } from '../../observability/metrics.js';
import type { RoundFactsBody } from '../../peers/messages.js';
import { type AuditProgress, type AuditRange, type AuditResult, auditArchive } from '../blocks/audit.js';
import type { ItemInfo, LatestBlock, StorageService, StoredBlock, StoredEntry, StoredTransaction } from '../service.js';
import { Certificates } from './certificates.js';
import { EntryCache } from './entry-cache.js';
import { itemsAfter } from './items.js';
import { itemKey, parseEntryKey, ROUND_KEY } from './layout.js';
import { ArchiveLookups, type WrittenBlock } from './lookups.js';
import { putBlock } from './put-block.js';
import { ArchiveReader, present } from './reader.js';
import { type BlockRecord, damaged, encodeItemRecord, encodeRoundFacts, readRoundFacts } from './records.js';
import { renderBlock, renderLatest, renderTransaction } from './render.js';
import { UnspentOutputs, type UnspentProgress } from './unspent-outputs.js';

/** Bytes of rendered answers and their canonical bytes kept in memory. */
const DEFAULT_CACHE_BYTES = 64 * 1024 * 1024;
/** Heights whose block hash is kept in memory. */
const CACHED_HASHES = 100_000;

export interface ArchiveOptions {
  readonly rules: ChainRules;
  /** Bytes; 64 MiB by default. */
  readonly cacheBytes?: number;
}

export interface ArchiveModules {
  /** A database of its own. It stays open: who opened it closes it. */
  readonly kv: Kv;
  /** Verifies signatures and scripts; on the main thread, a few in each turn, when it is left out. */
  readonly scripts?: ScriptVerifier;
  readonly metrics?: Metrics;
  readonly clock?: Clock;
  /** Room on the disk; unlimited when left out. */
  readonly room?: Room;
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
interface OpenParts {
  readonly reader: ArchiveReader;
  readonly last: BlockRecord | undefined;
  readonly unspent: UnspentOutputs;
  readonly certificates: Certificates;
}

export class Archive implements StorageService {
  /** Records by their names, for the index of the chain. */
  readonly lookups: ArchiveLookups;
  /** Verifier of its blocks. */
  readonly scripts: ScriptVerifier;
  readonly #rules: ChainRules;
  readonly #kv: Kv;
  readonly #clock: Clock;
  readonly #room: Room;
  readonly #reader: ArchiveReader;
  readonly #unspent: UnspentOutputs;
  readonly #certificates: Certificates;
  readonly #verifier: BlockVerifier;
  readonly #cache: EntryCache;
  readonly #hashes = new LRUCache<number, string>({ max: CACHED_HASHES });
  readonly #slices: TimeSlices;
  readonly #storing = new Mutex();
  readonly #metrics: Metrics;
  readonly #storeSeconds: HistogramHandle;
  readonly #blockStored = new SignalSource<StoredBlockName>();
  readonly #blockWritten = new SignalSource<WrittenBlock>();
  readonly #failed = new SignalSource<TesseraError>();
  #tip: ChainTip;
  #latest: LatestBlock | undefined;

  private constructor(
    { rules, cacheBytes = DEFAULT_CACHE_BYTES }: ArchiveOptions,
    {
      kv,
      metrics = noMetrics,
      clock = systemClock,
      scripts = new Verifier({ threads: 0 }),
      room = endlessRoom,
    }: ArchiveModules,
    { reader, last, unspent, certificates }: OpenParts,
  ) {
    this.#rules = rules;
    this.#kv = kv;
    this.#clock = clock;
    this.#slices = new TimeSlices(clock);
    this.#room = room;
    this.#reader = reader;
    this.#unspent = unspent;
    this.#certificates = certificates;
    this.scripts = scripts;
    this.#verifier = new BlockVerifier(rules, { ledger: this.#ledger(), scripts, clock });
    this.#cache = new EntryCache(cacheBytes, metrics);
    this.lookups = new ArchiveLookups(kv, reader, (work) => this.#guard(work));
    this.#tip = last
      ? { next: last.height + 1, hash: last.hash, issued: last.issued, coinbase: last.block.header.miningTxHash }
      : { next: 0, hash: null, issued: 0n };
    this.#latest = last && renderLatest(last);
    this.#metrics = metrics;
    this.#storeSeconds = metrics.histogram('tessera_storage_block_write_duration_seconds');
    const height = metrics.gauge('tessera_block_height');
    metrics.beforeScrape(() => height.set(this.#tip.next - 1));
  }

  /** Opens the archive in `kv`. Throws `data_corrupt` when its last records are inconsistent. */
  static async open(options: ArchiveOptions, modules: ArchiveModules): Promise<Archive> {
    const reader = new ArchiveReader(modules.kv);
    const last = await reader.last();
    const height = last === undefined ? -1 : last.height;
    const unspent = await UnspentOutputs.open(modules.kv, reader, height + 1);
    const certificates = await Certificates.open(modules.kv, options.rules.producers, height);
    return new Archive(options, modules, { reader, last, unspent, certificates });
  }

  /** Height of the block that comes next: the number of blocks stored, for there is no gap. */
  get nextHeight(): number {
    return this.#tip.next;
  }

  get tip(): ChainTip {
    return this.#tip;
  }

  /** Each block, when it is on disk. */
  get blockStored(): Signal<StoredBlockName> {
    return this.#blockStored;
  }

  /** The same with all that is in it. */
  get blockWritten(): Signal<WrittenBlock> {
    return this.#blockWritten;
  }

  /** Damage, or an error of the disk, that a call has met: the node must stop (rule P3). */
  get failed(): Signal<TesseraError> {
    return this.#failed;
  }

  entry(key: string): Promise<StoredEntry | undefined> {
    return this.#guard(async () => this.#cache.noted(await this.#entry(key)));
  }

  blockAt(height: number): Promise<StoredBlock | undefined> {
    return this.#guard(async () => this.#cache.noted(await this.#blockAt(height)));
  }

  async latest(): Promise<LatestBlock | undefined> {
    return this.#latest;
  }

  item(genesisHash: string): Promise<ItemInfo | undefined> {
    return this.#guard(async () => {
      const item = await this.#reader.item(genesisHash);
      return item && { genesisHash, ...item };
    });
  }

  /** Undefined when there is no such block. */
  hashAt(height: number): Promise<string | undefined> {
    return this.#guard(() => this.#hashAt(height));
  }

  /** The certificate of the last block, where it has one. */
  get tipCertificate(): Certificate | undefined {
    return this.#certificates.last;
  }

  /** True when a stored block has a certificate: from then on every block is proven by one. */
  get isCertified(): boolean {
    return !this.#certificates.isEmpty;
  }

  /** The certificate of a stored block, where it has one. */
  certificateAt(height: number): Promise<Certificate | undefined> {
    return this.#guard(() => this.#certificates.at(height));
  }

  /** Facts from the mempool about the round of the last block. */
  roundFacts(): Promise<RoundFactsBody | undefined> {
    return this.#guard(async () => {
      const record = await this.#kv.get(ROUND_KEY);
      return record && readRoundFacts(record, this.#tip.next - 1);
    });
  }

  /** The encoded header; undefined when there is no such block. */
  headerBytes(height: number): Promise<Uint8Array | undefined> {
    return this.#guard(async () => (this.#isStored(height) ? this.#reader.headerBytes(height) : undefined));
  }

  /** The encoded FullBlock, from the stored bytes; undefined when there is no such block. */
  fullBlockBytes(height: number): Promise<Uint8Array | undefined> {
    return this.#guard(async () => (this.#isStored(height) ? this.#reader.fullBlockBytes(height) : undefined));
  }

  /** Counts the unspent outputs of an archive of a version without them; until then no block can be stored. Throws `aborted`; goes on then. */
  countUnspent(onProgress: (progress: UnspentProgress) => void = () => undefined, signal?: AbortSignal): Promise<void> {
    return this.#storing.run(() => this.#guard(() => this.#unspent.catchUp(this.#tip.next, onProgress, signal)));
  }

  /**
   * Verifies the block and writes it, with its certificate if that is by a producer of this network; resolves when it
   * survives power loss. Whether a block needs a certificate is up to whoever brings it. Throws `block_refused`
   * (`details.rule` says which rule) and changes nothing then, `write_failed` or `database_failed` when the disk does not
   * take it. Calls are served one after the other.
   */
  store(full: FullBlock, certificate?: Certificate, round?: RoundFactsBody): Promise<BlockName> {
    return this.#storing.run(() => this.#guard(() => this.#store(full, certificate, round)));
  }

  /** True while a block is being stored. */
  get isStoring(): boolean {
    return this.#storing.isBusy;
  }

  /** Resolves at once while no block is being stored, otherwise between two of them: for work that comes second. */
  async betweenBlocks(): Promise<void> {
    if (this.isStoring) await this.#storing.run(() => undefined);
  }

  /** Reads a range of blocks again, checking each against every rule and index. Throws `data_corrupt` at the first fault. */
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

  /** Reports what must end the node beyond the caller, which may only be a client's request. */
  async #guard<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (isTesseraError(error, 'data_corrupt') || isUnreadable(error)) this.#failed.emit(error);
      throw error;
    }
  }

  /** Heights from outside may not be integers at all. */
  #isStored(height: number): boolean {
    return Number.isInteger(height) && height >= 0 && height < this.#tip.next;
  }

  async #hashAt(height: number): Promise<string | undefined> {
    const known = this.#hashes.get(height);
    if (known !== undefined || !this.#isStored(height)) return known;
    const hash = await this.#reader.hashAt(height);
    this.#hashes.set(height, hash);
    return hash;
  }

  #entry(key: string): Promise<StoredEntry | undefined> {
    const parsed = parseEntryKey(key);
    switch (parsed.kind) {
      case 'last':
        return this.#blockAt(this.#tip.next - 1);
      case 'block-height':
        return this.#blockAt(parsed.height);
      case 'transaction-index':
        return this.#transactionAt(parsed.height, parsed.txNum);
      case 'block-hash':
        return this.#blockOrTransaction(key);
      case 'transaction-hash':
        return this.#transaction(key);
    }
  }

  /** The transactions of block 0 may have any name, that of a block too. */
  async #blockOrTransaction(hash: string): Promise<StoredEntry | undefined> {
    return (await this.#block(hash)) ?? this.#transaction(hash);
  }

  async #block(hash: string): Promise<StoredBlock | undefined> {
    const known = this.#cache.get(hash, 'block');
    if (known !== undefined) return known;
    const record = await this.#reader.block(hash);
    return record && this.#cache.putRead(renderBlock(record));
  }

  async #blockAt(height: number): Promise<StoredBlock | undefined> {
    if (!this.#isStored(height)) return undefined;
    const known = this.#hashes.get(height);
    const kept = known === undefined ? undefined : this.#cache.get(known, 'block');
    if (kept !== undefined) return kept;
    const record = await this.#reader.blockAt(height);
    if (known !== undefined && record.hash !== known) throw damaged(`block ${height} has two hashes`);
    this.#hashes.set(height, record.hash);
    return this.#cache.putRead(renderBlock(record));
  }

  async #transaction(hash: string): Promise<StoredTransaction | undefined> {
    const known = this.#cache.get(hash, 'tx');
    if (known !== undefined) return known;
    const record = await this.#reader.transaction(hash);
    return record && this.#cache.putRead(renderTransaction(record));
  }

  async #transactionAt(height: number, txNum: number): Promise<StoredTransaction | undefined> {
    if (!this.#isStored(height)) return undefined;
    const [hash] = await this.#reader.namesAt([{ height, txNum }]);
    return hash === undefined ? undefined : present(await this.#transaction(hash), `transaction ${hash}`);
  }

  async #store(full: FullBlock, told: Certificate | undefined, round: RoundFactsBody | undefined): Promise<BlockName> {
    this.#room.check();
    const stopTimer = startTimer(this.#storeSeconds, this.#clock);
    await this.#unspent.catchUp(this.#tip.next, () => undefined, undefined);
    const { verified, certificate } = await this.#verify(full, told);
    const { hash, height, issued } = verified;
    const bytes = await inPieces(encodeBlockPieces(full.block), () => this.#slices.turn());
    const record = { hash, height, issued, bytes, block: full.block };
    // Before the write, and each in its turn: what is done at once when it is on disk is little, however large the block is.
    await this.#slices.turn();
    const rendered = renderBlock(record);
    await this.#slices.turn();
    const latest = renderLatest(record);
    await this.#write(verified, record.bytes, certificate, round);
    this.#unspent.changed();
    this.#certificates.stored(certificate);
    this.#tip = { next: height + 1, hash, issued, coinbase: full.block.header.miningTxHash };
    this.#hashes.set(height, hash);
    this.#cache.put(rendered);
    this.#latest = latest;
    if (height === 0) this.#reader.genesisStored(full.block.transactions);
    stopTimer();
    this.#blockWritten.emit({ record, verified });
    this.#blockStored.emit({ height, hash, transactions: full.block.transactions.length });
    return { height, hash };
  }

  async #verify(full: FullBlock, told: Certificate | undefined) {
    try {
      const verified = await this.#verifier.verify(full, this.#tip);
      return { verified, certificate: this.#certificates.keepable(verified, told) };
    } catch (error) {
      // A block that is stored already is sent again now and then, and breaks no rule.
      const isNew = full.block.header.bNum >= BigInt(this.#tip.next);
      if (isNew && isTesseraError(error, 'block_refused')) {
        this.#metrics.counter('tessera_storage_blocks_refused_total', String(error.details.rule)).inc();
      }
      throw error;
    }
  }

  /** Everything that a block adds, in one synced batch. */
  async #write(
    verified: VerifiedBlock,
    blockBytes: Uint8Array,
    certificate: Certificate | undefined,
    round: RoundFactsBody | undefined,
  ): Promise<void> {
    const { height } = verified;
    const batch = this.#kv.batch();
    await putBlock(verified, blockBytes, batch, this.#slices);
    const items = await itemsAfter(verified, (genesisHash) => this.#reader.item(genesisHash), this.#slices);
    for (const [genesisHash, item] of items) batch.put(itemKey(genesisHash), encodeItemRecord(item));
    if (round === undefined) batch.del(ROUND_KEY);
    else batch.put(ROUND_KEY, encodeRoundFacts(height, round));
    if (certificate !== undefined) this.#certificates.put(height, certificate, batch);
    await this.#unspent.change(verified, batch, this.#slices);
    // Handing over what was gathered takes a turn of its own.
    await nextTurn();
    await this.#kv.write(batch, { sync: true });
  }
}
