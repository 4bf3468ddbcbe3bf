/**
 * The blocks that can still be read of archives that were damaged and put aside, and how many there were. Each block is
 * whole and hashes to its name, as far as that can be seen here; the archive that takes it checks it by every rule.
 */

import { existsSync } from 'node:fs';
import type { Certificate } from '../../chain/certificate.js';
import type { FullBlock } from '../../chain/types.js';
import { Salvage } from '../../db/salvage.js';
import { isTesseraError } from '../../lib/errors.js';
import type { RoundFactsBody } from '../../peers/messages.js';
import { readCertificate } from '../archive/certificates.js';
import {
  BLOCKS,
  CERTIFICATES,
  certificateKey,
  HEIGHTS,
  heightOfKey,
  INDEXED,
  LAST_KEY,
  NAMES,
  ROUND_KEY,
} from '../archive/layout.js';
import { ArchiveReader, type WholeBlock } from '../archive/reader.js';
import { type BlockRecord, readLast, readRoundFacts } from '../archive/records.js';

/** Records in a row whose loss is bridged: what is asked for each of them grows with their number. */
const MAX_BRIDGED = 32;

export interface SavedBlock {
  readonly full: FullBlock;
  readonly certificate: Certificate | undefined;
  /** Facts that the mempool gave about its round, if it was the last block. */
  readonly facts: RoundFactsBody | undefined;
}

/** One of the folders. */
interface Source {
  readonly salvage: Salvage;
  /** Number of blocks that it has held; 0 when that cannot be told. */
  readonly blocks: number;
}

export class DamagedArchive {
  readonly #folders: readonly string[];
  #sources: readonly Source[] = [];
  #isOpen = false;
  #blocks = 0;
  #isCertified = false;

  /** The folders, the newest first: the first that has a block gives it. */
  constructor(folders: readonly string[]) {
    this.#folders = folders;
  }

  /** True once `open` has succeeded. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** The number of blocks that were there, as far as records and seals tell; 0 before `open`. */
  get blocks(): number {
    return this.#blocks;
  }

  /** True when one of its blocks had a certificate, or it cannot be told yet. */
  get isCertified(): boolean {
    return !this.#isOpen || this.#isCertified;
  }

  /** The folders whose content is accounted for: they are not needed once an archive has all `blocks`. */
  get known(): readonly string[] {
    return this.#sources.filter(isKnown).map(({ salvage }) => salvage.path);
  }

  /** The folders that hold something of which nothing can be said. */
  get unknown(): readonly string[] {
    return this.#sources.filter((source) => !isKnown(source)).map(({ salvage }) => salvage.path);
  }

  /**
   * Opens the folders, after a repair where it needs one, which reads every byte. Does nothing the second time. Throws
   * `database_failed` when the system refuses; a later call may succeed.
   */
  async open(): Promise<void> {
    if (this.#isOpen) return;
    const opened: Salvage[] = [];
    try {
      for (const folder of this.#folders) if (existsSync(folder)) opened.push(await Salvage.open(folder));
      this.#sources = await Promise.all(
        opened.map(async (salvage) => ({ salvage, blocks: await countBlocks(salvage) })),
      );
      this.#blocks = Math.max(0, ...this.#sources.map(({ blocks }) => blocks));
      for (const salvage of opened) this.#isCertified ||= await hasCertificates(salvage);
      this.#isOpen = true;
    } catch (error) {
      for (const salvage of opened) await salvage.close();
      throw error;
    }
  }

  /** Undefined for a block that is not there, or not whole. */
  async block(height: number): Promise<SavedBlock | undefined> {
    for (const { salvage } of this.#sources) {
      for (const find of FINDERS) {
        const block = await unlessDamaged(async () => {
          const whole = await find(salvage, height);
          return whole && readBlock(salvage, height, whole);
        });
        if (block !== undefined) return block;
      }
    }
    return undefined;
  }

  async close(): Promise<void> {
    for (const { salvage } of this.#sources) await salvage.close();
    this.#sources = [];
  }
}

function isKnown({ salvage: { facts }, blocks }: Source): boolean {
  return blocks > 0 || facts.bytes === 0;
}

type Finder = (source: Salvage, height: number) => Promise<WholeBlock | undefined>;

const byHash =
  (hashOf: (source: Salvage, height: number) => Promise<string | undefined>): Finder =>
  async (source, height) => {
    const hash = await hashOf(source, height);
    return hash === undefined ? undefined : new ArchiveReader(source).wholeBlockOf(hash);
  };

/** The ways to a block, of which some may be damaged. */
const FINDERS: readonly Finder[] = [
  (source, height) => new ArchiveReader(source).wholeBlock(height),
  byHash(hashInIndex),
  byHash(hashInNext),
  byHash(hashInLast),
];

async function hashInIndex(source: Salvage, height: number): Promise<string> {
  return new ArchiveReader(source).hashAt(height);
}

/** The block after it names it too, which the one after that names, and so on. */
async function hashInNext(source: Salvage, height: number): Promise<string | undefined> {
  for (let known = height + 1; known <= height + MAX_BRIDGED; known++) {
    for (const hashOf of [hashInIndex, hashInLast]) {
      const hash = await unlessDamaged(async () => hashBehind(source, height, known, await hashOf(source, known)));
      if (hash !== undefined) return hash;
    }
  }
  return undefined;
}

/** The hash of the block at `height`, from the blocks between it and a later one. */
async function hashBehind(
  source: Salvage,
  height: number,
  later: number,
  hash: string | undefined,
): Promise<string | undefined> {
  const reader = new ArchiveReader(source);
  let found = hash;
  for (let at = later; at > height && found !== undefined; at--) {
    const block: BlockRecord | undefined = await reader.block(found);
    found = block?.height === at ? (block.block.header.previousHash ?? undefined) : undefined;
  }
  return found;
}

async function hashInLast(source: Salvage, height: number): Promise<string | undefined> {
  const record = await source.get(LAST_KEY);
  const last = record && readLast(record);
  return last?.height === height ? last.hash : undefined;
}

async function readBlock(
  source: Salvage,
  height: number,
  { record, transactions }: WholeBlock,
): Promise<SavedBlock | undefined> {
  const all = transactions.map(({ transaction }) => transaction);
  const miningTransaction = all.pop();
  if (miningTransaction === undefined || record.height !== height) return undefined;
  const certificate = await unlessDamaged(async () => {
    const bytes = await source.get(certificateKey(height));
    return bytes && readCertificate(height, bytes);
  });
  const facts = await unlessDamaged(async () => {
    const bytes = await source.get(ROUND_KEY);
    return bytes && readRoundFacts(bytes, height);
  });
  return { full: { block: record.block, transactions: all, miningTransaction }, certificate, facts };
}

/**
 * Number of blocks that an archive has held: those that some record names, and those whose writes were acknowledged and are
 * in no file. Each block was one write.
 */
async function countBlocks(source: Salvage): Promise<number> {
  const { acknowledged, lost } = source.facts;
  let blocks = 0;
  for (const range of [HEIGHTS, BLOCKS, NAMES, INDEXED, CERTIFICATES]) {
    const height = await unlessDamaged(async () => {
      const key = await source.lastKey(range);
      return key && heightOfKey(key);
    });
    blocks = Math.max(blocks, (height ?? -1) + 1);
  }
  const last = await unlessDamaged(async () => {
    const record = await source.get(LAST_KEY);
    return record && readLast(record);
  });
  blocks = Math.max(blocks, (last?.height ?? -1) + 1);
  return source.isReadable && lost !== null ? blocks + lost : Math.max(blocks, acknowledged);
}

async function hasCertificates(source: Salvage): Promise<boolean> {
  try {
    for await (const _ of source.entries({ ...CERTIFICATES, limit: 1 })) return true;
    return false;
  } catch (error) {
    // A damaged record of one is one all the same.
    if (isTesseraError(error, 'data_corrupt')) return source.isReadable;
    throw error;
  }
}

async function unlessDamaged<T>(read: () => Promise<T | undefined>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (isTesseraError(error, 'data_corrupt')) return undefined;
    throw error;
  }
}
