/**
 * Answers for clients: read once, checked, made JSON (docs/chain.md#json, decisions V8 to V10), and kept in memory up to a number of
 * bytes; counts whether reads were answered from memory or from disk.
 */

import { LRUCache } from 'lru-cache';
import { decodeBlock, decodeTransaction } from '../../chain/codec.js';
import { blockJson, transactionJson } from '../../chain/json.js';
import { keptUtf8 } from '../../lib/bytes.js';
import type { CounterHandle, Metrics } from '../../observability/metrics.js';
import type { LatestBlock, StoredBlock, StoredEntry, StoredTransaction } from '../service.js';
import { parseEntryKey } from './layout.js';
import type { ArchiveReader } from './reader.js';
import { type BlockRecord, damaged, present, type TransactionRecord } from './records.js';

/** Heights whose block hash is kept in memory. */
const CACHED_HASHES = 100_000;
/** Bytes that an entry takes besides its JSON and its canonical bytes; the cache counts them in. */
const ENTRY_OVERHEAD = 512;

interface Rendered<T> {
  readonly entry: T;
  /** Bytes of memory that the entry takes. */
  readonly size: number;
}

export interface EntriesModules {
  readonly reader: ArchiveReader;
  readonly metrics: Metrics;
  /** Number of blocks stored. */
  readonly next: () => number;
}

export class Entries {
  readonly #reader: ArchiveReader;
  readonly #next: () => number;
  readonly #kept: LRUCache<string, StoredEntry>;
  readonly #fromCache: CounterHandle;
  readonly #fromDisk: CounterHandle;
  readonly #missing: CounterHandle;
  readonly #hashes = new LRUCache<number, string>({ maxSize: CACHED_HASHES, sizeCalculation: () => 1 });
  #latest: LatestBlock | undefined;

  constructor(cacheBytes: number, { reader, metrics, next }: EntriesModules) {
    this.#reader = reader;
    this.#next = next;
    this.#kept = new LRUCache({ maxSize: Math.max(cacheBytes, 1) });
    this.#fromCache = metrics.counter('tessera_storage_reads_total', 'cache');
    this.#fromDisk = metrics.counter('tessera_storage_reads_total', 'disk');
    this.#missing = metrics.counter('tessera_storage_reads_total', 'missing');
  }

  async entry(key: string): Promise<StoredEntry | undefined> {
    return this.#noted(await this.#entry(key));
  }

  async blockAt(height: number): Promise<StoredBlock | undefined> {
    return this.#noted(await this.#blockAt(height));
  }

  async hashAt(height: number): Promise<string | undefined> {
    const known = this.#hashes.get(height);
    if (known !== undefined || !this.isStored(height)) return known;
    const hash = await this.#reader.hashAt(height);
    this.#hashes.set(height, hash);
    return hash;
  }

  /** The last block, rendered. */
  get latest(): LatestBlock | undefined {
    return this.#latest;
  }

  /** Makes a block the last one, which was found at the start or taken in. */
  found(record: BlockRecord): void {
    this.#latest = renderLatest(record);
    this.#hashes.set(record.height, record.hash);
  }

  /** Renders a block before it is written, in turns. The result is called when the block is on disk, and does little, whatever its size. */
  async rendered(record: BlockRecord, turn: () => Promise<void>): Promise<() => void> {
    await turn();
    const rendered = renderBlock(record);
    await turn();
    const latest = renderLatest(record);
    return () => {
      this.#hashes.set(record.height, record.hash);
      this.#keep(rendered);
      this.#latest = latest;
    };
  }

  /** True if a block of this height is stored. Heights from outside may be no integers at all. */
  isStored(height: number): boolean {
    return Number.isInteger(height) && height >= 0 && height < this.#next();
  }

  #get<K extends StoredEntry['kind']>(key: string, kind: K): Extract<StoredEntry, { kind: K }> | undefined {
    const entry = this.#kept.get(key);
    if (entry === undefined) return undefined;
    this.#fromCache.inc();
    return entry.kind === kind ? (entry as Extract<StoredEntry, { kind: K }>) : undefined;
  }

  #keep<T extends StoredEntry>({ entry, size }: Rendered<T>): T {
    this.#kept.set(entry.key, entry, { size });
    return entry;
  }

  #read<T extends StoredEntry>(rendered: Rendered<T>): T {
    this.#fromDisk.inc();
    return this.#keep(rendered);
  }

  #noted<T>(found: T | undefined): T | undefined {
    if (found === undefined) this.#missing.inc();
    return found;
  }

  #entry(key: string): Promise<StoredEntry | undefined> {
    const parsed = parseEntryKey(key);
    switch (parsed.kind) {
      case 'last':
        return this.#blockAt(this.#next() - 1);
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

  /** Entry of a block, else of a transaction: those of block 0 may have any name, also that of a block. */
  async #blockOrTransaction(hash: string): Promise<StoredEntry | undefined> {
    return (await this.#block(hash)) ?? this.#transaction(hash);
  }

  async #block(hash: string): Promise<StoredBlock | undefined> {
    const known = this.#get(hash, 'block');
    if (known !== undefined) return known;
    const record = await this.#reader.block(hash);
    return record && this.#read(renderBlock(record));
  }

  async #blockAt(height: number): Promise<StoredBlock | undefined> {
    if (!this.isStored(height)) return undefined;
    const known = this.#hashes.get(height);
    const kept = known === undefined ? undefined : this.#get(known, 'block');
    if (kept !== undefined) return kept;
    const record = await this.#reader.blockAt(height);
    if (known !== undefined && record.hash !== known) throw damaged(`block ${height} has two hashes`);
    this.#hashes.set(height, record.hash);
    return this.#read(renderBlock(record));
  }

  async #transaction(hash: string): Promise<StoredTransaction | undefined> {
    const known = this.#get(hash, 'tx');
    if (known !== undefined) return known;
    const record = await this.#reader.transaction(hash);
    return record && this.#read(renderTransaction(record));
  }

  async #transactionAt(height: number, txNum: number): Promise<StoredTransaction | undefined> {
    if (!this.isStored(height)) return undefined;
    const [hash] = await this.#reader.namesAt([{ height, txNum }]);
    return hash === undefined ? undefined : present(await this.#transaction(hash), `transaction ${hash}`);
  }
}

const blockDataJson = ({ block }: BlockRecord): string => `{"block":${blockJson(block)}}`;

function renderBlock(record: BlockRecord): Rendered<StoredBlock> {
  const { hash, height, block, bytes } = record;
  const txLen = block.transactions.length + 1;
  const meta = `{"type":"block","block_num":${height},"tx_len":${txLen}}`;
  const json = keptUtf8(`{"key":"${hash}","data":${blockDataJson(record)},"item_meta":${meta}}`);
  return {
    entry: { kind: 'block', key: hash, height, txLen, json, block: () => decodeBlock(bytes) },
    size: json.length + bytes.length + ENTRY_OVERHEAD,
  };
}

function renderTransaction(record: TransactionRecord): Rendered<StoredTransaction> {
  const { hash, height, txNum, bytes, transaction } = record;
  const meta = `{"type":"tx","block_num":${height},"tx_num":${txNum}}`;
  // The hash of a genesis transaction may be any text.
  const json = keptUtf8(`{"key":${JSON.stringify(hash)},"data":${transactionJson(transaction)},"item_meta":${meta}}`);
  return {
    entry: { kind: 'tx', key: hash, height, txNum, json, transaction: () => decodeTransaction(bytes) },
    size: json.length + bytes.length + ENTRY_OVERHEAD,
  };
}

function renderLatest(record: BlockRecord): LatestBlock {
  const { hash, height, bytes } = record;
  const json = keptUtf8(`{"block":${blockDataJson(record)}}`);
  return { hash, height, json, block: () => decodeBlock(bytes) };
}
