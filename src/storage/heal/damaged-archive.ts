/**
 * The blocks that can still be read of archives that were damaged and put aside. Each is whole and hashes to its name, as
 * far as that can be seen here; the archive that takes it checks it by every rule.
 */

import type { Certificate } from '../../chain/certificate.js';
import type { FullBlock } from '../../chain/types.js';
import { Salvage } from '../../db/salvage.js';
import { isTesseraError } from '../../lib/errors.js';
import type { RoundFactsBody } from '../../peers/messages.js';
import { readCertificate } from '../archive/certificates.js';
import { CERTIFICATES, certificateKey, HEIGHTS, heightOfKey, ROUND_KEY } from '../archive/layout.js';
import { ArchiveReader } from '../archive/reader.js';
import { readRoundFacts } from '../archive/records.js';

export interface SavedBlock {
  readonly full: FullBlock;
  readonly certificate: Certificate | undefined;
  /** What the mempool said of its round, if it was the last block. */
  readonly facts: RoundFactsBody | undefined;
}

export class DamagedArchive {
  readonly #folders: readonly string[];
  readonly #sources: Salvage[] = [];
  #isOpen = false;
  #blocks = 0;
  #isCertified = false;

  /** The folders, the newest first: the first that has a block gives it. */
  constructor(folders: readonly string[]) {
    this.#folders = folders;
  }

  /** The number of blocks that were there, as far as their records tell; 0 before `open`. */
  get blocks(): number {
    return this.#blocks;
  }

  /** True when one of its blocks had a certificate, as far as can be read; false before `open`. */
  get isCertified(): boolean {
    return this.#isCertified;
  }

  /** Opens the folders, after a repair where there was none yet, which reads every byte. Does nothing the second time. */
  async open(): Promise<void> {
    if (this.#isOpen) return;
    this.#isOpen = true;
    for (const folder of this.#folders) {
      const source = await Salvage.open(folder);
      if (source === undefined) continue;
      this.#sources.push(source);
      this.#blocks = Math.max(this.#blocks, await countBlocks(source));
      this.#isCertified ||= await hasCertificates(source);
    }
  }

  /** Undefined for a block that is not there, or not whole. */
  async block(height: number): Promise<SavedBlock | undefined> {
    for (const source of this.#sources) {
      const block = await unlessDamaged(() => readBlock(source, height));
      if (block !== undefined) return block;
    }
    return undefined;
  }

  async close(): Promise<void> {
    for (const source of this.#sources.splice(0)) await source.close();
  }
}

async function readBlock(source: Salvage, height: number): Promise<SavedBlock | undefined> {
  const { record, transactions } = await new ArchiveReader(source).wholeBlock(height);
  const all = transactions.map(({ transaction }) => transaction);
  const miningTransaction = all.pop();
  if (miningTransaction === undefined) return undefined;
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

async function countBlocks(source: Salvage): Promise<number> {
  let blocks = 0;
  const count = async (): Promise<undefined> => {
    for await (const [key] of source.entries({ ...HEIGHTS, reverse: true, limit: 1 })) blocks = heightOfKey(key) + 1;
    return undefined;
  };
  await unlessDamaged(count);
  return blocks;
}

async function hasCertificates(source: Salvage): Promise<boolean> {
  const look = async (): Promise<true | undefined> => {
    for await (const _ of source.entries({ ...CERTIFICATES, limit: 1 })) return true;
    return undefined;
  };
  return (await unlessDamaged(look)) === true;
}

async function unlessDamaged<T>(read: () => Promise<T | undefined>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (isTesseraError(error, 'data_corrupt')) return undefined;
    throw error;
  }
}
