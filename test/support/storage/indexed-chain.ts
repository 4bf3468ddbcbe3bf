/** An archive and the index of its chain, on LevelDB in a temporary folder. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { FullBlock } from '../../../src/chain/types.js';
import { endlessRoom, type Room } from '../../../src/db/disk-room.js';
import type { Kv } from '../../../src/db/kv.js';
import { LevelKv } from '../../../src/db/level-kv.js';
import type { ChainRules } from '../../../src/ledger/block/rules.js';
import { type Clock, systemClock } from '../../../src/lib/clock.js';
import { silentLogger } from '../../../src/lib/logger.js';
import { noMetrics } from '../../../src/observability/metrics.js';
import { Archive } from '../../../src/storage/archive/archive.js';
import { ChainIndex, type ChainIndexOptions } from '../../../src/storage/chain-index/chain-index.js';
import { Segments } from '../../../src/storage/segments/segments.js';
import { RULES } from './test-chain.js';

async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'tessera-index-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

export interface IndexSetup extends ChainIndexOptions {
  readonly room?: Room;
  readonly clock?: Clock;
  /** The database as the index sees it. */
  readonly wrap?: (kv: Kv) => Kv;
}

export class IndexedChain {
  readonly folder: string;
  readonly rules: ChainRules;
  archive!: Archive;
  index!: ChainIndex;
  indexKv: Kv | undefined;
  archiveKv: Kv | undefined;
  /** How often the index was removed. */
  removed = 0;

  private constructor(folder: string, rules: ChainRules) {
    this.folder = folder;
    this.rules = rules;
  }

  static async open(setup: IndexSetup = {}, rules: ChainRules = RULES): Promise<IndexedChain> {
    const chain = new IndexedChain(await temporaryFolder(), rules);
    await chain.openArchive();
    await chain.startIndex(setup);
    onTestFinished(() => chain.close());
    return chain;
  }

  async openArchive(name = 'archive'): Promise<void> {
    this.archiveKv = await LevelKv.open(join(this.folder, name), { createIfMissing: true });
    const segments = await Segments.open(join(this.folder, `${name}-segments`));
    onTestFinished(() => segments.close());
    this.archive = await Archive.open({ rules: this.rules }, { kv: this.archiveKv, segments });
  }

  async startIndex({ room = endlessRoom, clock = systemClock, wrap = (kv) => kv, ...options }: IndexSetup = {}) {
    const path = join(this.folder, 'index');
    const database = {
      open: async () => {
        this.indexKv = wrap(await LevelKv.open(path, { createIfMissing: true }));
        return this.indexKv;
      },
      remove: async () => {
        await this.indexKv?.close();
        await rm(path, { recursive: true, force: true });
        await rm(`${path}.seal`, { force: true });
        this.removed++;
      },
    };
    const { archive } = this;
    this.index = new ChainIndex(options, {
      archive,
      database,
      room,
      clock,
      logger: silentLogger,
      metrics: noMetrics,
    });
    await this.index.start();
  }

  async stopIndex(): Promise<void> {
    await this.index.stop();
    await this.indexKv?.close();
    this.indexKv = undefined;
  }

  /** Removes the database of the index, which is closed. */
  async forgetIndex(): Promise<void> {
    await rm(join(this.folder, 'index'), { recursive: true });
    await rm(join(this.folder, 'index.seal'));
  }

  async close(): Promise<void> {
    await this.stopIndex();
    await this.archiveKv?.close();
    this.archiveKv = undefined;
  }

  async store(blocks: readonly FullBlock[]): Promise<void> {
    for (const block of blocks) await this.archive.store(block);
  }

  /** Every record of the index; two of the same chain are the same. */
  async records(): Promise<string[]> {
    const records: string[] = [];
    if (this.indexKv === undefined) throw new Error('the index is closed');
    const all = { gte: new Uint8Array(), lt: Uint8Array.of(0xff) };
    for await (const [key, value] of this.indexKv.entries(all)) {
      records.push(`${Buffer.from(key).toString('hex')} ${Buffer.from(value).toString('hex')}`);
    }
    return records;
  }

  /** Resolves when the index has every block of the archive. */
  caughtUp(): Promise<void> {
    return this.until(() => this.index.status().state === 'ready');
  }

  async until(isSo: () => boolean): Promise<void> {
    while (!isSo()) await new Promise((resolve) => setImmediate(resolve));
  }
}
