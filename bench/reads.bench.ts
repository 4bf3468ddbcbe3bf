/**
 * Reading from an archive in segments beside one that keeps the same blocks as records of LevelDB, as before ADR 0056, in turns: with all files in
 * the cache of the system, and with none of them. Answers are not cached.
 */

import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parseGenesis } from '../src/chain/genesis.js';
import { DataDir } from '../src/db/data-dir.js';
import { folderSize } from '../src/db/disk-room.js';
import { parseExactJson } from '../src/lib/json.js';
import { openArchiveFiles } from '../src/node/archive-files.js';
import { Archive } from '../src/storage/archive/archive.js';
import { createTestChain } from '../test/support/storage/test-chain.js';
import { benchGenesis, PaymentChain } from './payments.js';
import { printMeasured, printRow, printSection } from './report.js';
import { interleave, measured, ratios, runsOf } from './rounds.js';
import { inFolders, type SizeOptions } from './sizes.js';

const SIZES = [40_000];
const SHORT_SIZES = [8_000];
const PAYMENTS = 2_000;
const WARM_ROUNDS = 12;
const COLD_ROUNDS = 6;
/** Readings of each kind in a cold round, where each must find something that no other has read. */
const COLD = 12;
const FORMS = ['records', 'segments'] as const;
type Form = (typeof FORMS)[number];

/** Names of what is read. */
interface Names {
  readonly transactions: readonly string[];
  readonly blocks: number;
}

/** How often something is read in a warm round, and a reading by its place in a list that never ends. */
type Reading = readonly [warm: number, read: (archive: Archive, names: Names, i: number) => Promise<unknown>];
/** Far from the one before it, as strangers ask. */
const some = ({ transactions }: Names, i: number): string =>
  transactions[(Math.imul(i + 1, 0x9e37_79b1) >>> 0) % transactions.length] ?? '';
const READINGS: Readonly<Record<string, Reading>> = {
  'a transaction': [100, (archive, names, i) => found(archive.entry(some(names, i)))],
  'ten transactions at random': [
    40,
    (archive, names, i) => all(Array.from({ length: 10 }, (_, k) => archive.entry(some(names, 10 * i + k + 5_003)))),
  ],
  'a hundred transactions of one block': [
    10,
    (archive, { transactions, blocks }, i) => {
      const from = ((i * 7 + 3) % blocks) * PAYMENTS;
      return all(transactions.slice(from, from + 100).map((hash) => archive.entry(hash)));
    },
  ],
  'a block with its list': [40, (archive, { blocks }, i) => found(archive.blockAt(1 + ((i * 11) % blocks)))],
  'a whole block': [4, (archive, { blocks }, i) => found(archive.fullBlockBytes(1 + ((i * 13) % blocks)))],
};
const all = (readings: readonly Promise<unknown>[]): Promise<unknown> => Promise.all(readings.map(found));

async function found(reading: Promise<unknown>): Promise<void> {
  if ((await reading) === undefined) throw new Error('the benchmark reads what is not there');
}

interface Used {
  readonly clock: number;
  readonly cpu: number;
  /** Bytes that came from the disk. */
  readonly read: number;
}

async function readBytes(): Promise<number> {
  const text = await readFile('/proc/self/io', 'latin1').catch(() => '');
  return Number(/^read_bytes: (\d+)/m.exec(text)?.[1] ?? Number.NaN);
}

/** ms, and bytes, of one reading. */
async function used(count: number, work: (i: number) => Promise<unknown>): Promise<Used> {
  const [read, cpu, clock] = [await readBytes(), process.cpuUsage(), performance.now()];
  for (let i = 0; i < count; i++) await work(i);
  const taken = performance.now() - clock;
  const { user, system } = process.cpuUsage(cpu);
  return { clock: taken / count, cpu: (user + system) / 1_000 / count, read: ((await readBytes()) - read) / count };
}

class TwoArchives {
  readonly #folder: string;
  readonly #count: number;
  readonly #outputs: number;
  readonly #rules;
  readonly #names: string[] = [];

  constructor(folder: string, count: number) {
    this.#folder = folder;
    this.#count = count;
    this.#outputs = Math.max(2 * PAYMENTS, count / 10);
    const text = benchGenesis(this.#outputs, { mempool_genesis_tx_in: 'bench', initial_issuances: [] });
    this.#rules = { genesis: parseGenesis(parseExactJson(text)), activationHeight: 3 };
  }

  async #open(form: Form): Promise<{ readonly dataDir: DataDir; readonly archive: Archive }> {
    const dataDir = await DataDir.open(join(this.#folder, form), { role: 'storage', networkName: 'bench' });
    const files = form === 'segments' ? await openArchiveFiles(dataDir) : { kv: await dataDir.open('archive') };
    // Nobody looks at the signatures: both have the same blocks.
    const scripts = { verify: async () => true };
    const archive = await Archive.open({ rules: this.#rules, cacheBytes: 1 }, { ...files, scripts });
    await archive.load();
    return { dataDir, archive };
  }

  async fill(): Promise<void> {
    const [records, segments] = [await this.#open('records'), await this.#open('segments')];
    const chain = createTestChain(0, this.#rules.genesis);
    const payments = new PaymentChain(this.#outputs);
    for (let done = -PAYMENTS; done < this.#count; done += PAYMENTS) {
      const made = Array.from({ length: done < 0 ? 0 : PAYMENTS }, () => payments.make());
      const full = chain.add(made.map(({ transaction }) => transaction));
      chain.blocks.fill(full, 0, -1);
      for (const { hash } of made) this.#names.push(hash);
      await records.archive.store(full);
      await segments.archive.store(full);
    }
    await records.dataDir.close();
    await segments.dataDir.close();
    for (const form of FORMS) {
      const size = (await folderSize(join(this.#folder, form))) / this.#count;
      printRow({ name: `on disk: ${form}`, value: size, unit: 'bytes/payment' });
    }
  }

  get #readable(): Names {
    return { transactions: this.#names, blocks: this.#count / PAYMENTS };
  }

  async warm(): Promise<void> {
    const opened = { records: await this.#open('records'), segments: await this.#open('segments') };
    for (const [name, [count, read]] of Object.entries(READINGS)) {
      const values = await interleave(FORMS, WARM_ROUNDS, (form, round) =>
        used(count, (i) => read(opened[form].archive, this.#readable, round * count + i)),
      );
      print(`files in memory: ${name}`, values);
    }
    await opened.records.dataDir.close();
    await opened.segments.dataDir.close();
  }

  async cold(): Promise<void> {
    for (const [name, [, read]] of Object.entries(READINGS)) {
      const values = await interleave(FORMS, COLD_ROUNDS, async (form, round) => {
        const { dataDir, archive } = await this.#open(form);
        // The opening has read tables, to check them.
        await forget(join(this.#folder, form));
        const result = await used(COLD, (i) => read(archive, this.#readable, round * COLD + i));
        await dataDir.close();
        return result;
      });
      print(`files on disk only: ${name}`, values);
    }
  }
}

/** Asks the system to forget what it has in memory of the files of a folder. */
async function forget(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    await promisify(execFile)('dd', [`if=${path}`, 'iflag=nocache', 'count=0', 'status=none']);
  }
}

function print(name: string, [records = [], segments = []]: readonly (readonly Used[])[]): void {
  const clocks = (values: readonly Used[]): number[] => values.map(({ clock }) => clock);
  const cpus = (values: readonly Used[]): number[] => values.map(({ cpu }) => cpu);
  const bytes = (values: readonly Used[]): string =>
    `${(measured(values.map(({ read }) => read)).median / 1_024).toFixed(1)} KiB from the disk`;
  printMeasured(name, measured(clocks(records)), 'ms by the clock, records', { note: bytes(records) });
  const against = ['records', ratios(clocks(segments), clocks(records))] as const;
  printMeasured('  segments', measured(clocks(segments)), 'ms by the clock', { against, note: bytes(segments) });
  const processor = ['records', ratios(cpus(segments), cpus(records))] as const;
  printMeasured('  segments, all threads', measured(cpus(segments)), 'ms', { against: processor });
}

async function measure(folder: string, count: number): Promise<void> {
  const name = `${count.toLocaleString('en-US')} payments in blocks of ${PAYMENTS.toLocaleString('en-US')}`;
  printSection(`Reading ${name}: ${runsOf(WARM_ROUNDS)} and ${runsOf(COLD_ROUNDS)} rounds`);
  const archives = new TwoArchives(folder, count);
  await archives.fill();
  await archives.warm();
  await archives.cold();
}

export async function readsBench({ short, sizes = short ? SHORT_SIZES : SIZES }: SizeOptions): Promise<void> {
  await inFolders('reads', sizes, measure);
}
