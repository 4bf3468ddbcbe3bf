/**
 * The archive: every block and transaction of the chain by every key that clients know, verified before it is written and
 * hashed again when it is read. One synced batch stores a block, so that the archive is contiguous from block 0 whenever the
 * process ends. Answers are rendered once and cached by bytes.
 */

import { LRUCache } from 'lru-cache';
import { encodeBlock } from '../../chain/codec.js';
import type { FullBlock } from '../../chain/types.js';
import type { Kv } from '../../db/kv.js';
import { type ChainRules, type ChainTip, type VerifiedBlock, verifyBlock } from '../../ledger/block/verify-block.js';
import { type Clock, systemClock } from '../../lib/clock.js';
import { isTesseraError, type TesseraError } from '../../lib/errors.js';
import { createMutex } from '../../lib/mutex.js';
import { createSignal, type Signal } from '../../lib/signal.js';
import { type Metrics, noMetrics, startTimer } from '../../observability/metrics.js';
import { type AuditProgress, type AuditRange, type AuditResult, auditArchive } from '../blocks/audit.js';
import type { ItemInfo, LatestBlock, StorageService, StoredBlock, StoredEntry, StoredTransaction } from '../service.js';
import { itemsAfter } from './items.js';
import { blockKey, indexKey, itemKey, LAST_KEY, numberKey, parseEntryKey, transactionKey } from './layout.js';
import { type ArchiveReader, createArchiveReader } from './reader.js';
import { encodeBlockRecord, encodeItemRecord, encodeLast, encodeTransactionRecord } from './records.js';
import { type Rendered, renderBlock, renderLatest, renderTransaction } from './render.js';

/** Bytes of rendered answers and their canonical bytes kept in memory. */
const DEFAULT_CACHE_BYTES = 64 * 1024 * 1024;
/** Block numbers whose hash is kept in memory. */
const CACHED_NUMBERS = 100_000;

export interface ArchiveOptions {
  /** A database of its own. It stays open: who opened it closes it. */
  readonly kv: Kv;
  readonly rules: ChainRules;
  /** Bytes; 64 MiB by default. */
  readonly cacheBytes?: number;
  readonly metrics?: Metrics;
  /** For the metrics. */
  readonly clock?: Clock;
}

export interface BlockName {
  readonly blockNum: number;
  readonly hash: string;
}

export interface StoredBlockName extends BlockName {
  /** Without the mining transaction. */
  readonly transactions: number;
}

export interface Archive extends StorageService {
  /** Number of the block that comes next: the number of blocks stored, for there is no gap. */
  readonly nextHeight: number;
  readonly tip: ChainTip;
  /** Each block, when it is on disk. */
  readonly blockStored: Signal<StoredBlockName>;
  /**
   * Every `data_corrupt` that a call met, and a block that could not be written: the node must stop (rule P3). After a failed
   * write the database takes no others, and what is on disk of it is known only when it is opened again.
   */
  readonly failed: Signal<TesseraError>;
  /**
   * Verifies the block and writes it; resolves when it survives power loss. Throws `block_refused` (`details.rule` says
   * which rule) and changes nothing then. Calls are served one after the other.
   */
  store(full: FullBlock): Promise<BlockName>;
  /** Undefined when there is no such block. */
  hashAt(blockNum: number): Promise<string | undefined>;
  /** The encoded FullBlock, from the stored bytes; undefined when there is no such block. */
  fullBlockBytes(blockNum: number): Promise<Uint8Array | undefined>;
  /** Reads a range of blocks again, holding each against every rule and index. Throws `data_corrupt` at the first fault. */
  verify(
    range?: AuditRange,
    onProgress?: (progress: AuditProgress) => void,
    signal?: AbortSignal,
  ): Promise<AuditResult>;
}

/** Opens the archive in `kv`. Throws `data_corrupt` when its end does not hold together. */
export async function createArchive(options: ArchiveOptions): Promise<Archive> {
  const { kv, rules, cacheBytes = DEFAULT_CACHE_BYTES, metrics = noMetrics, clock = systemClock } = options;
  const storeSeconds = metrics.histogram('tessera_storage_block_write_duration_seconds');
  const reads = {
    cache: metrics.counter('tessera_storage_reads_total', 'cache'),
    disk: metrics.counter('tessera_storage_reads_total', 'disk'),
    missing: metrics.counter('tessera_storage_reads_total', 'missing'),
  };
  const reader = createArchiveReader(kv);
  const last = await reader.last();
  let tip: ChainTip = last
    ? { next: last.blockNum + 1, hash: last.hash, issued: last.issued }
    : { next: 0, hash: null, issued: 0n };
  let latest: LatestBlock | undefined = last && renderLatest(last);

  const cache = new LRUCache<string, StoredEntry>({ maxSize: Math.max(cacheBytes, 1) });
  const hashes = new LRUCache<number, string>({ max: CACHED_NUMBERS });
  const writing = createMutex();
  const height = metrics.gauge('tessera_block_height');
  metrics.beforeScrape(() => height.set(tip.next - 1));
  const blockStored = createSignal<StoredBlockName>();
  const failed = createSignal<TesseraError>();

  /** Reports `data_corrupt` beyond the caller, who may be a client's request. */
  const guard = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      if (isTesseraError(error, 'data_corrupt')) failed.emit(error);
      throw error;
    }
  };

  const keep = <T extends StoredEntry>({ entry, size }: Rendered<T>): T => {
    cache.set(entry.key, entry, { size });
    return entry;
  };
  const cached = (key: string): StoredEntry | undefined => {
    const entry = cache.get(key);
    if (entry !== undefined) reads.cache.inc();
    return entry;
  };
  const fromDisk = <T extends StoredEntry>(rendered: Rendered<T>): T => {
    reads.disk.inc();
    return keep(rendered);
  };
  const noted = <T>(found: T | undefined): T | undefined => {
    if (found === undefined) reads.missing.inc();
    return found;
  };
  /** Numbers from outside may be no integers at all. */
  const isStored = (blockNum: number): boolean => Number.isInteger(blockNum) && blockNum >= 0 && blockNum < tip.next;
  const hashAt = async (blockNum: number): Promise<string | undefined> => {
    if (!isStored(blockNum)) return undefined;
    const known = hashes.get(blockNum);
    if (known !== undefined) return known;
    const hash = await reader.hashAt(blockNum);
    hashes.set(blockNum, hash);
    return hash;
  };
  const blockByHash = async (hash: string): Promise<StoredBlock | undefined> => {
    const known = cached(hash);
    if (known?.kind === 'block') return known;
    const record = await reader.block(hash);
    return record && fromDisk(renderBlock(record));
  };
  const blockByNumber = async (blockNum: number): Promise<StoredBlock | undefined> => {
    const hash = await hashAt(blockNum);
    return hash === undefined ? undefined : reader.present(await blockByHash(hash), `block ${hash}`);
  };
  const transactionByHash = async (hash: string): Promise<StoredTransaction | undefined> => {
    const known = cached(hash);
    if (known?.kind === 'tx') return known;
    const record = await reader.transaction(hash);
    return record && fromDisk(renderTransaction(record));
  };
  const transactionAt = async (blockNum: number, txNum: number): Promise<StoredTransaction | undefined> => {
    const hash = isStored(blockNum) ? await reader.transactionHashAt(blockNum, txNum) : undefined;
    return hash === undefined ? undefined : reader.present(await transactionByHash(hash), `transaction ${hash}`);
  };
  const entry = async (key: string): Promise<StoredEntry | undefined> => {
    const parsed = parseEntryKey(key);
    switch (parsed.kind) {
      case 'last':
        return blockByNumber(tip.next - 1);
      case 'block-number':
        return blockByNumber(parsed.blockNum);
      case 'transaction-index':
        return transactionAt(parsed.blockNum, parsed.txNum);
      case 'block-hash':
        return (await blockByHash(key)) ?? transactionByHash(key);
      case 'transaction-hash':
        return transactionByHash(key);
    }
  };

  const store = async (full: FullBlock): Promise<BlockName> => {
    const stopTimer = startTimer(storeSeconds, clock);
    const verified = await verifyBlock(full, tip, rules, reader.storedTransactions);
    const { hash, blockNum, issued } = verified;
    const blockBytes = encodeBlock(full.block);
    await writeBlock(kv, reader, verified, blockBytes).catch((error: unknown) => {
      if (isTesseraError(error, 'database_failed')) failed.emit(error);
      throw error;
    });
    tip = { next: blockNum + 1, hash, issued };
    hashes.set(blockNum, hash);
    const record = { hash, blockNum, issued, bytes: blockBytes, block: full.block };
    keep(renderBlock(record));
    latest = renderLatest(record);
    if (blockNum === 0) reader.genesisStored(full.block.transactions);
    stopTimer();
    blockStored.emit({ blockNum, hash, transactions: full.block.transactions.length });
    return { blockNum, hash };
  };

  return {
    get nextHeight() {
      return tip.next;
    },
    get tip() {
      return tip;
    },
    blockStored,
    failed,
    entry: (key) => guard(async () => noted(await entry(key))),
    blockByNumber: (num) => guard(async () => noted(await blockByNumber(num))),
    latest: async () => latest,
    item: (genesisHash) => guard(() => itemInfo(reader, genesisHash)),
    store: (full) => writing.run(() => guard(() => store(full))),
    hashAt: (num) => guard(() => hashAt(num)),
    fullBlockBytes: (num) => guard(async () => (isStored(num) ? reader.fullBlockBytes(num) : undefined)),
    verify: (range, onProgress, signal) => guard(() => auditArchive({ reader, tip, rules }, range, onProgress, signal)),
  };
}

/** Everything that a block adds, in one synced batch. */
async function writeBlock(
  kv: Kv,
  reader: ArchiveReader,
  { hash, blockNum, issued, ...verified }: VerifiedBlock,
  blockBytes: Uint8Array,
): Promise<void> {
  const batch = kv.batch();
  for (const [txNum, { hash: txHash, bytes }] of verified.transactions.entries()) {
    batch.put(transactionKey(txHash), encodeTransactionRecord(blockNum, txNum, bytes));
    batch.put(indexKey(blockNum, txNum), Buffer.from(txHash, 'utf8'));
  }
  const items = await itemsAfter({ hash, blockNum, issued, ...verified }, reader.item);
  for (const [genesisHash, item] of items) batch.put(itemKey(genesisHash), encodeItemRecord(item));
  batch.put(blockKey(hash), encodeBlockRecord(issued, blockBytes));
  batch.put(numberKey(blockNum), Buffer.from(hash, 'utf8'));
  batch.put(LAST_KEY, encodeLast(blockNum, hash));
  await kv.write(batch, { sync: true });
}

async function itemInfo(reader: ArchiveReader, genesisHash: string): Promise<ItemInfo | undefined> {
  const item = await reader.item(genesisHash);
  return item && { genesisHash, ...item };
}
