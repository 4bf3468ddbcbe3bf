/**
 * A long chain of payments at a storage node, in segments and with the index of the chain: what it costs to store, what it takes on disk, what is
 * written for it and by which part of a database, a start, reads, and making the database again from the segments; then the program on it. A million
 * payments take some ten minutes, and as much again for the program.
 */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseGenesis } from '../src/chain/genesis.js';
import { DataDir } from '../src/db/data-dir.js';
import { endlessRoom, folderSize } from '../src/db/disk-room.js';
import { Verifier } from '../src/ledger/verifier/verifier.js';
import { systemClock } from '../src/lib/clock.js';
import { parseExactJson } from '../src/lib/json.js';
import { silentLogger } from '../src/lib/logger.js';
import { openArchiveFiles, remakeArchiveFiles } from '../src/node/archive-files.js';
import { indexDatabase } from '../src/node/rebuild/rebuild-index.js';
import { noMetrics } from '../src/observability/metrics.js';
import { Archive } from '../src/storage/archive/archive.js';
import { ChainIndex } from '../src/storage/chain-index/chain-index.js';
import { createTestChain } from '../test/support/storage/test-chain.js';
import { measureNodes, writtenBy } from './long-chain-nodes.js';
import { benchGenesis, PaymentChain } from './payments.js';
import { printRow, printSection } from './report.js';
import { measured } from './rounds.js';
import { inFolders, type SizeOptions } from './sizes.js';

const SIZES = [1_000_000];
const SHORT_SIZES = [4_000];
/** Payments of a block, as in existing networks. */
const PAYMENTS = 2_000;
/** Outputs of the genesis file for each payment: none is spent in the block that makes it. */
const OUTPUTS_EACH = 1 / 50;
const READINGS = 400;
const OPTIONS = { role: 'storage', networkName: 'bench' };
const MIB = 2 ** 20;

/** µs of all threads, milliseconds by the clock, and bytes that were written to disk. */
interface Used {
  readonly cpu: number;
  readonly clock: number;
  readonly written: number;
}

async function used(work: () => Promise<unknown>): Promise<Used> {
  const [written, clock, cpu] = [await writtenBy('self'), performance.now(), process.cpuUsage()];
  await work();
  const { user, system } = process.cpuUsage(cpu);
  return { cpu: user + system, clock: performance.now() - clock, written: (await writtenBy('self')) - written };
}

const sum = (a: Used, b: Used): Used => ({
  cpu: a.cpu + b.cpu,
  clock: a.clock + b.clock,
  written: a.written + b.written,
});

function print(name: string, { cpu, clock, written }: Used, count: number): void {
  const note = `by the clock ${(clock / 1_000).toFixed(1)} s, ${(written / count).toFixed(0)} bytes written for each`;
  printRow({ name, value: cpu / count, unit: 'us/payment, all threads', note });
}

class LongChain {
  readonly #root: string;
  readonly #folder: string;
  readonly #count: number;
  readonly #genesisText: string;
  readonly #rules;
  readonly #scripts = new Verifier({ threads: 1 });
  readonly #hashes: string[] = [];

  constructor(root: string, count: number) {
    this.#root = root;
    this.#folder = join(root, 'node');
    this.#count = count;
    const outputs = Math.max(2 * PAYMENTS, Math.ceil(count * OUTPUTS_EACH));
    this.#genesisText = benchGenesis(outputs, { mempool_genesis_tx_in: 'bench', initial_issuances: [] });
    this.#rules = { genesis: parseGenesis(parseExactJson(this.#genesisText)), activationHeight: 3 };
    this.payments = new PaymentChain(outputs);
  }

  readonly payments: PaymentChain;

  #dataDir(): Promise<DataDir> {
    return DataDir.open(this.#folder, OPTIONS);
  }

  async #archive(dataDir: DataDir, isNew = false): Promise<Archive> {
    const files = await (isNew ? remakeArchiveFiles(dataDir) : openArchiveFiles(dataDir));
    return Archive.open({ rules: this.#rules, cacheBytes: 1 }, { ...files, scripts: this.#scripts });
  }

  async grow(): Promise<void> {
    const dataDir = await this.#dataDir();
    const archive = await this.#archive(dataDir);
    const chain = createTestChain(0, this.#rules.genesis);
    await archive.store(chain.add());
    let all: Used = { cpu: 0, clock: 0, written: 0 };
    for (let done = 0; done < this.#count; done += PAYMENTS) {
      const made = Array.from({ length: PAYMENTS }, () => this.payments.make());
      for (const { hash } of made.slice(0, Math.ceil((READINGS * PAYMENTS) / this.#count))) this.#hashes.push(hash);
      const full = chain.add(made.map(({ transaction }) => transaction));
      // Older ones need not be kept in memory.
      chain.blocks.fill(full, 0, -1);
      all = sum(all, await used(() => archive.store(full)));
    }
    print('stored', all, this.#count);
    await this.#tables('archive');
    await this.#writtenSoFar();
    const modules = { room: endlessRoom, clock: systemClock, logger: silentLogger, metrics: noMetrics };
    const index = new ChainIndex({}, { ...modules, archive, database: indexDatabase(dataDir) });
    const { signal } = new AbortController();
    print('indexed', await used(() => index.build(archive.nextHeight, signal)), this.#count);
    await index.stop();
    await this.#tables('index');
    print('closed', await used(() => dataDir.close()), this.#count);
    await this.#writtenSoFar();
  }

  /** With what LevelDB writes by itself between two blocks. */
  async #writtenSoFar(): Promise<void> {
    const value = (await writtenBy('self')) / this.#count;
    printRow({ name: 'written by the whole process so far', value, unit: 'bytes/payment' });
  }

  /** What LevelDB says that it has written: tables of what it gathered, and tables that it made of others. Its log comes before them. */
  async #tables(database: string): Promise<void> {
    const log = await readFile(join(this.#folder, 'db', database, 'LOG'), 'latin1');
    const parts = [
      ['first tables', /Level-0 table #\d+: (\d+) bytes OK/g],
      ['tables made of others', /Compacted .* => (\d+) bytes/g],
    ] as const;
    for (const [name, pattern] of parts) {
      const sizes = [...log.matchAll(pattern)].map(([, size]) => Number(size));
      const value = sizes.reduce((all, size) => all + size, 0) / this.#count;
      printRow({ name: `  ${database}: ${name}`, value, unit: 'bytes/payment', note: `${sizes.length} times` });
    }
  }

  async sizes(): Promise<void> {
    let all = 0;
    for (const part of ['segments', 'db/archive', 'db/index']) {
      const size = (await folderSize(join(this.#folder, part))) / this.#count;
      all += size;
      printRow({ name: `on disk: ${part}`, value: size, unit: 'bytes/payment' });
    }
    printRow({ name: 'on disk: all', value: all, unit: 'bytes/payment' });
  }

  async start(): Promise<void> {
    const dataDir = await this.#dataDir();
    let archive: Archive | undefined;
    const { cpu, clock } = await used(async () => {
      archive = await this.#archive(dataDir);
      await archive.load();
    });
    printRow({
      name: 'start',
      value: cpu / 1e6,
      unit: 's of all threads',
      note: `by the clock ${(clock / 1_000).toFixed(2)} s`,
    });
    const times: number[] = [];
    for (let i = 0; i < this.#hashes.length; i++) {
      const begun = performance.now();
      // A prime step: one after the other would find the page that was read before.
      const found = await archive?.entry(this.#hashes[(i * 7_919) % this.#hashes.length] ?? '');
      if (found === undefined) throw new Error('a payment of the benchmark is not in the archive');
      times.push(performance.now() - begun);
    }
    const worst = times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? 0;
    const note = `99 of 100 within ${worst.toFixed(1)}`;
    printRow({ name: 'a payment by its hash', value: measured(times).median, unit: 'ms by the clock', note });
    printRow({
      name: 'memory',
      value: process.memoryUsage.rss() / MIB,
      unit: 'MiB',
      note: 'with the payments that were made here',
    });
    await dataDir.close();
  }

  async remake(): Promise<void> {
    const dataDir = await this.#dataDir();
    const archive = await this.#archive(dataDir, true);
    print('the database made again from the segments', await used(() => archive.load()), this.#count);
    await dataDir.close();
    await this.#scripts.close();
  }

  /** The program, on what was made here. */
  nodes(): Promise<void> {
    const last = Math.ceil(this.#count / PAYMENTS);
    const [folder, root, genesisText, payments] = [this.#folder, this.#root, this.#genesisText, this.#count];
    return measureNodes({ folder, root, genesisText, payments, last });
  }
}

async function measure(folder: string, count: number): Promise<void> {
  printSection(
    `A storage node with ${count.toLocaleString('en-US')} payments, in blocks of ${PAYMENTS.toLocaleString('en-US')}`,
  );
  const chain = new LongChain(folder, count);
  await chain.grow();
  await chain.sizes();
  await chain.start();
  await chain.remake();
  await chain.nodes();
}

export async function longChainBench({ short, sizes = short ? SHORT_SIZES : SIZES }: SizeOptions): Promise<void> {
  await inFolders('long-chain', sizes, measure);
}
