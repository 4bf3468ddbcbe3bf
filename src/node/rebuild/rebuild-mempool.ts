/**
 * A mempool node's state made anew: from the blocks of an archive, and with the transactions that the old journal and pool
 * still hold. It is built beside the old databases and takes their place at the end; they are kept. Interrupted at any
 * point, the next call goes on.
 */

import { existsSync } from 'node:fs';
import { copyFile, mkdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Static, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { blockCertificateFault, type Producers } from '../../chain/certificate.js';
import { encodeTransaction } from '../../chain/codec.js';
import type { Genesis } from '../../chain/genesis.js';
import { transactionHashOfBytes } from '../../chain/hash.js';
import type { Config } from '../../config/schema.js';
import { DataDir } from '../../db/data-dir.js';
import { lockFolder } from '../../db/folder-lock.js';
import type { Kv } from '../../db/kv.js';
import { openLevelKv } from '../../db/level-kv.js';
import { MARKER_FILE, readMarker, writeMarker } from '../../db/marker.js';
import { syncFolder, writeFileDurable } from '../../db/write-file-durable.js';
import * as journalLayout from '../../journal/layout.js';
import { LocalJournal } from '../../journal/local-journal.js';
import { HASH_KEY_BYTES } from '../../ledger/utxo/keyed-hash.js';
import { Verifier } from '../../ledger/verifier/verifier.js';
import { utf8 } from '../../lib/bytes.js';
import { systemClock } from '../../lib/clock.js';
import { errorMessage, TesseraError } from '../../lib/errors.js';
import { silentLogger } from '../../lib/logger.js';
import { systemRandom } from '../../lib/random.js';
import { AdoptionCheck } from '../../mempool/blocks/adoption-check.js';
import { readAdoptedBlock } from '../../mempool/state/adopted-block.js';
import { encodePlace } from '../../mempool/state/ahead-of-journal.js';
import { Applier } from '../../mempool/state/applier.js';
import { decodeCommand } from '../../mempool/state/commands.js';
import { arrivalOfKey, keys, ranges } from '../../mempool/state/layout.js';
import { loadMempoolState } from '../../mempool/state/load.js';
import { decodePooled } from '../../mempool/state/records.js';
import { StateStore } from '../../mempool/state/state-store.js';
import { noMetrics } from '../../observability/metrics.js';
import { decodeTransactions, joinTransactions } from '../../peers/payloads.js';
import { Archive } from '../../storage/archive/archive.js';
import { producersOf } from '../producers.js';
import { etcdJournal } from '../roles/mempool/etcd-journal.js';
import { stateRules, unicornSource } from '../roles/mempool/options.js';

/** The folder, in the data folder, in which the new databases are built. */
const BUILD_FOLDER = 'rebuild';
const DATABASE_FOLDER = 'db';
/**
 * The result, in that folder, once the new databases only have to replace the old ones.
 */
const DONE_FILE = 'done.json';
/** Groups of transactions per write. */
const GROUPS_PER_WRITE = 500;

export interface RebuildOptions {
  readonly config: Config;
  readonly genesis: Genesis;
  /** Data folder of a stopped storage node; without it, the node fetches the blocks when it starts. */
  readonly archive: string | undefined;
  readonly signal: AbortSignal;
  /** Called with the blocks done and the blocks in the archive. */
  readonly onProgress: (done: number, total: number) => void;
}

const RebuildResult = Type.Object({
  /** Number of the last block in the new state; -1 for none. */
  height: Type.Integer({ minimum: -1 }),
  /** Groups of transactions that will be submitted again after the node has started. */
  carried: Type.Integer({ minimum: 0 }),
  /** What could not be read in the old databases, in words. */
  problems: Type.Array(Type.String()),
  /** Where the old databases are now; absent when there were none. */
  aside: Type.Optional(Type.String()),
});
export type RebuildResult = Static<typeof RebuildResult>;

/** Throws `data_dir_locked` while the node runs, `aborted` by the signal, and errors of the archive. */
export async function rebuildMempool(options: RebuildOptions): Promise<RebuildResult> {
  const { node, network } = options.config;
  await mkdir(node.dataDir, { recursive: true, mode: 0o700 });
  const unlock = await lockFolder(node.dataDir);
  try {
    const folder = join(node.dataDir, BUILD_FOLDER);
    // A leftover of a call that ended between its last two steps.
    if (!existsSync(join(folder, DATABASE_FOLDER))) await rm(folder, { recursive: true, force: true });
    const old = join(node.dataDir, DATABASE_FOLDER);
    // A node may have run since on the databases that are still in place, so what was built before is out of date.
    const done = existsSync(old) ? undefined : await readDone(folder);
    const result = done ?? (await build(folder, network.name, options));
    await takeOver(node.dataDir, result);
    return result;
  } finally {
    await unlock();
  }
}

/** The result of a call that ended after the old databases were put aside. */
async function readDone(folder: string): Promise<RebuildResult | undefined> {
  const path = join(folder, DONE_FILE);
  if (!existsSync(path)) return undefined;
  const value: unknown = JSON.parse(await readFile(path, 'utf8'));
  if (Value.Check(RebuildResult, value)) return value;
  const wayBack = 'move db of the newest before-rebuild- folder back to its place, and run tessera rebuild again';
  throw new TesseraError('data_corrupt', `${path} is damaged: ${wayBack}`);
}

async function build(folder: string, networkName: string, options: RebuildOptions): Promise<RebuildResult> {
  const { journal, node } = options.config;
  const { dataDir } = node;
  await rm(join(folder, DONE_FILE), { force: true });
  // Its numbers are not those of a journal in etcd until the end, so what is half done is no beginning.
  if (journal.kind === 'etcd') await rm(join(folder, DATABASE_FOLDER), { recursive: true, force: true });
  const building = await DataDir.open(folder, { role: 'mempool', networkName });
  const built = await fill(building, options).finally(() => building.close());
  if (journal.kind === 'etcd') await rm(join(folder, DATABASE_FOLDER, 'journal'), { recursive: true });
  const name = `before-rebuild-${new Date(systemClock.now()).toISOString().replaceAll(':', '')}`;
  const result = existsSync(join(dataDir, DATABASE_FOLDER)) ? { ...built, aside: join(dataDir, name) } : built;
  await writeFileDurable(join(folder, DONE_FILE), utf8(JSON.stringify(result)), 0o600);
  return result;
}

async function fill(building: DataDir, options: RebuildOptions): Promise<Omit<RebuildResult, 'aside'>> {
  const kv = await building.open('mempool', { isLarge: true });
  const journalKv = await building.open('journal', { isLarge: true });
  const journal = await LocalJournal.open({}, { kv: journalKv, clock: systemClock, metrics: noMetrics });
  try {
    const height = await adoptAll(kv, journal, options);
    const old = new OldTransactions(join(options.config.node.dataDir, DATABASE_FOLDER), kv);
    const carried = await old.carryOver();
    // Without blocks it is no state that a journal goes on from, and the node comes to one when it starts.
    if (options.config.journal.kind === 'etcd' && options.archive !== undefined) await joinEtcd(kv, options);
    return { height, carried, problems: old.problems };
  } finally {
    await journal.close();
  }
}

/** Takes in the blocks that the new state lacks; gives the number of the last one. */
async function adoptAll(kv: Kv, journal: LocalJournal, options: RebuildOptions): Promise<number> {
  const { config, genesis, signal, onProgress } = options;
  const state = await loadMempoolState(kv, stateRules(genesis, config), {
    hashKey: systemRandom.bytes(HASH_KEY_BYTES),
  });
  const store = new StateStore(kv, systemClock);
  const modules = { journal, store, state, clock: systemClock, metrics: noMetrics, unicorn: unicornSource(config) };
  const applier = new Applier(modules);
  await applier.start();
  const verifier = new Verifier({ threads: config.mempool.verifyThreads });
  const source = options.archive === undefined ? undefined : await ArchiveSource.open(options.archive, options);
  try {
    await verifier.start();
    const rules = { genesis, activationHeight: config.mining.asertActivationHeight };
    const check = new AdoptionCheck(rules, { state, store, verifier, clock: systemClock });
    const target = source?.archive.nextHeight ?? 0;
    while (source !== undefined && state.head.height + 1 < target) {
      if (signal.aborted) throw new TesseraError('aborted', 'interrupted; the same command continues from here');
      const block = await source.block(state.head.height + 1);
      await check.check(block);
      await applier.submit<'block-adopted'>({ kind: 'block-adopted', block: block.bytes, facts: block.facts });
      onProgress(state.head.height + 1, target);
    }
    return state.head.height;
  } finally {
    await applier.stop();
    await verifier.close();
    await source?.close();
  }
}

/**
 * Puts the state where the journal in etcd begins: the node applies all of that when it starts. What is in a block of the
 * state is known there, and changes nothing.
 */
async function joinEtcd(kv: Kv, { config, genesis, signal }: RebuildOptions): Promise<void> {
  const journal = etcdJournal(config, 'rebuild', {
    clock: systemClock,
    metrics: noMetrics,
    logger: silentLogger,
  });
  const giveUp = (): void => {
    journal.close().catch(() => undefined);
  };
  signal.addEventListener('abort', giveUp);
  try {
    const base = await journal.base();
    const hashKey = systemRandom.bytes(HASH_KEY_BYTES);
    const state = await loadMempoolState(kv, stateRules(genesis, config), { hashKey });
    const batch = kv.batch().put(keys.ahead, encodePlace({ until: state.head.height, at: -1 }));
    state.seal(base - 1, batch);
    await kv.write(batch, { sync: true });
  } finally {
    signal.removeEventListener('abort', giveUp);
    await journal.close();
  }
}

/** The archive that the blocks come from. */
class ArchiveSource {
  readonly archive: Archive;
  readonly #directory: DataDir;

  private constructor(archive: Archive, directory: DataDir) {
    this.archive = archive;
    this.#directory = directory;
  }

  static async open(path: string, { config, genesis }: RebuildOptions): Promise<ArchiveSource> {
    if (!existsSync(path)) throw new TesseraError('data_dir_invalid', `${path} does not exist: there is no archive`);
    const directory = await DataDir.open(path, { role: 'storage', networkName: config.network.name });
    try {
      const producers = producersOf(config, genesis);
      const rules = { genesis, producers, activationHeight: config.mining.asertActivationHeight };
      const archive = await Archive.open({ rules, cacheBytes: 0 }, { kv: await directory.open('archive') });
      if (producers !== undefined) assertSigned(archive, producers);
      return new ArchiveSource(archive, directory);
    } catch (error) {
      await directory.close();
      throw error;
    }
  }

  async block(height: number) {
    const bytes = await this.archive.fullBlockBytes(height);
    if (bytes === undefined) throw new TesseraError('data_corrupt', `the archive has no block ${height}`);
    const told = height === this.archive.nextHeight - 1 ? await this.archive.roundFacts() : undefined;
    const facts =
      told === undefined
        ? null
        : { participants: told.participants, proofHashes: told.proofs, asertHashes: told.asert_hashes };
    // Nothing else runs in a process that rebuilds.
    return readAdoptedBlock(bytes, facts, async () => undefined);
  }

  close(): Promise<void> {
    return this.#directory.close();
  }
}

/** Checks the certificate of the last block, which covers all blocks before it. */
function assertSigned({ tip, tipCertificate }: Archive, producers: Producers): void {
  if (tip.hash === null) return;
  const unsigned = blockCertificateFault(producers, { height: tip.next - 1, hash: tip.hash }, tipCertificate);
  if (unsigned === null) return;
  throw new TesseraError(
    unsigned.code,
    `the last block of the archive is not one of this network: ${unsigned.message}`,
  );
}

/**
 * Transactions in the old journal and state that are in no adopted block, and those that an earlier rebuild carried over.
 */
class OldTransactions {
  readonly problems: string[] = [];
  readonly #folder: string;
  readonly #kv: Kv;
  readonly #seen = new Set<string>();
  #groups: Uint8Array[][] = [];
  #count = 0;

  /** `folder` holds the old databases, `kv` is the new state. */
  constructor(folder: string, kv: Kv) {
    this.#folder = folder;
    this.#kv = kv;
  }

  /** Writes them into the new state; returns the number of groups. */
  async carryOver(): Promise<number> {
    await this.#clear();
    await this.#read('mempool', (kv) => this.#readCarried(kv));
    await this.#read('journal', (kv) => this.#readJournal(kv));
    await this.#read('mempool', (kv) => this.#readPool(kv));
    await this.#flush();
    return this.#count;
  }

  async #clear(): Promise<void> {
    const batch = this.#kv.batch();
    for await (const [key] of this.#kv.entries(ranges.carried)) batch.del(key);
    await this.#kv.write(batch, { sync: true });
  }

  /** Reads a database. A missing one is empty; a damaged one is read as far as possible. */
  async #read(name: string, read: (kv: Kv) => Promise<void>): Promise<void> {
    const path = join(this.#folder, name);
    if (!existsSync(path)) return;
    try {
      const kv = await openLevelKv(path, { createIfMissing: false, wayBack: 'it is left as it is' });
      try {
        await read(kv);
      } finally {
        await kv.close();
      }
    } catch (error) {
      this.problems.push(`the old database ${name} cannot be read to its end: ${errorMessage(error)}`);
    }
  }

  async #readCarried(kv: Kv): Promise<void> {
    for await (const [, value] of kv.entries(ranges.carried)) {
      await this.#add(decodeTransactions(value).map(encodeTransaction));
    }
  }

  async #readJournal(kv: Kv): Promise<void> {
    for await (const [, payload] of kv.entries(journalLayout.ranges.entries)) {
      const command = decodeCommand(payload);
      if (command.kind === 'transactions') for (const group of command.groups) await this.#add(group);
    }
  }

  async #readPool(kv: Kv): Promise<void> {
    for (const range of [ranges.pooled, ranges.waiting]) {
      for await (const [key, value] of kv.entries(range))
        await this.#add([decodePooled(arrivalOfKey(key), value).bytes]);
    }
  }

  async #add(group: readonly Uint8Array[]): Promise<void> {
    const fresh: Uint8Array[] = [];
    const hashes = group.map(transactionHashOfBytes);
    const confirmed = await this.#kv.getMany(hashes.map(keys.status));
    for (const [i, hash] of hashes.entries()) {
      const bytes = group[i];
      if (bytes === undefined || confirmed[i] !== undefined || this.#seen.has(hash)) continue;
      this.#seen.add(hash);
      fresh.push(bytes);
    }
    if (fresh.length === 0) return;
    this.#groups.push(fresh);
    if (this.#groups.length === GROUPS_PER_WRITE) await this.#flush();
  }

  async #flush(): Promise<void> {
    const batch = this.#kv.batch();
    for (const group of this.#groups) batch.put(keys.carried(this.#count++), joinTransactions(group));
    this.#groups = [];
    await this.#kv.write(batch, { sync: true });
  }
}

/**
 * Replaces the old databases with the new ones, and keeps the old ones. After a crash at any step, once the old ones are put
 * aside, the next call does the remaining steps.
 */
async function takeOver(path: string, { aside }: RebuildResult): Promise<void> {
  const old = join(path, DATABASE_FOLDER);
  const built = join(path, BUILD_FOLDER, DATABASE_FOLDER);
  if (aside !== undefined && existsSync(old)) {
    await mkdir(aside, { mode: 0o700 });
    if (existsSync(join(path, MARKER_FILE))) await copyFile(join(path, MARKER_FILE), join(aside, MARKER_FILE));
    await rename(old, join(aside, DATABASE_FOLDER));
    await syncFolder(aside);
  }
  const marker = await readMarker(join(path, BUILD_FOLDER));
  if (marker !== undefined) await writeMarker(path, marker);
  await rename(built, old);
  await syncFolder(path);
  await rm(join(path, BUILD_FOLDER), { recursive: true });
}
