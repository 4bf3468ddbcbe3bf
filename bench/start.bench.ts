/** How long a mempool node needs to read its state when it starts, by the number of unspent outputs. */

import { join } from 'node:path';
import { DEFAULT_BLOCK_RULES } from '../src/chain/block-rules.js';
import { encodeTxOut } from '../src/chain/codec.js';
import { DataDir } from '../src/db/data-dir.js';
import type { Kv } from '../src/db/kv.js';
import { HASH_KEY_BYTES } from '../src/ledger/utxo/keyed-hash.js';
import { UtxoTable } from '../src/ledger/utxo/utxo-table.js';
import { systemClock } from '../src/lib/clock.js';
import { silentLogger } from '../src/lib/logger.js';
import { atOnce } from '../src/lib/pieces.js';
import { systemRandom } from '../src/lib/random.js';
import { SignalSource } from '../src/lib/signal.js';
import { OutputImage } from '../src/mempool/image/output-image.js';
import { keys } from '../src/mempool/state/layout.js';
import { loadMempoolState } from '../src/mempool/state/load.js';
import { MempoolState, type StateRules } from '../src/mempool/state/state.js';
import { StateStore } from '../src/mempool/state/state-store.js';
import { manyOutPoint, manyOutput } from './many-outputs.js';
import { printRow, printSection } from './report.js';
import { inFolders, type SizeOptions } from './sizes.js';
import { threadTime } from './turns.js';

const SIZES = [1_000_000];
const SHORT_SIZES = [50_000];
const BATCH = 5_000;
const CHANGES_OF_COMMAND = 20;
const RULES: StateRules = {
  genesis: [],
  issuances: new Map(),
  block: DEFAULT_BLOCK_RULES,
  partitionSize: 1,
  asertActivationHeight: 0,
  eras: [],
  druidLifetime: 10,
};
const hashKey = systemRandom.bytes(HASH_KEY_BYTES);

/** A state of `count` unspent outputs and nothing else. */
async function fill(kv: Kv, count: number): Promise<void> {
  const utxos = new UtxoTable(hashKey);
  for (let from = 0; from < count; from += BATCH) {
    const batch = kv.batch();
    for (let i = from; i < Math.min(from + BATCH, count); i++) {
      utxos.insert(manyOutPoint(i), manyOutput(i));
      batch.put(keys.utxo(manyOutPoint(i)), encodeTxOut(manyOutput(i)));
    }
    await kv.write(batch, { sync: false });
  }
  const contents = { utxos, record: null, pooled: [], waiting: [], rounds: [], kept: [] };
  const batch = kv.batch();
  new MempoolState(RULES, contents).seal(1, batch);
  await kv.write(batch, { sync: true });
}

interface Used {
  /** Milliseconds by the clock, of the main thread, and of all threads. */
  readonly clock: number;
  readonly main: number;
  readonly all: number;
}

async function used(work: () => Promise<unknown>): Promise<Used> {
  const [clock, main, all] = [performance.now(), threadTime(), process.cpuUsage()];
  await work();
  const { user, system } = process.cpuUsage(all);
  return { clock: performance.now() - clock, main: threadTime() - main, all: (user + system) / 1_000 };
}

function print(name: string, { clock, main, all }: Used, count: number): void {
  const each = (ms: number): number => (ms * 1_000) / count;
  printRow({ name, value: each(all), unit: 's of all threads a million' });
  printRow({ name: '  main thread', value: each(main), unit: 's a million' });
  printRow({ name: '  by the clock', value: each(clock), unit: 's a million' });
}

/** The same with an image that is as old as one may be. */
async function imaged(name: string, { kv, folder }: { kv: Kv; folder: string }, count: number): Promise<void> {
  const modules = { kv, random: systemRandom, clock: systemClock, logger: silentLogger };
  const options = { folder, minOutputs: 1, dueChanges: Number.POSITIVE_INFINITY };
  const image = await OutputImage.open(options, modules);
  const state = await loadMempoolState(kv, RULES, { hashKey });
  const store = new StateStore(kv, systemClock);
  const applier = {
    applied: new SignalSource<void>(),
    betweenCommands: <T>(work: () => Promise<T>): Promise<T> => work(),
  };
  const writing = async (): Promise<void> => {
    image.start({ state, store, applier });
    await image.settled();
  };
  print(`${name}: write an image`, await used(writing), count);
  const load = async (): Promise<void> => {
    await loadMempoolState(kv, RULES, { hashKey, image: await OutputImage.open(options, modules) });
  };
  print(`${name}: read the image`, await used(load), count);
  const changes = Math.floor(count / 16 / CHANGES_OF_COMMAND);
  for (let seq = 2; seq < 2 + changes; seq++) {
    const batch = kv.batch();
    for (let i = 0; i < CHANGES_OF_COMMAND / 2; i++) {
      const at = (seq * CHANGES_OF_COMMAND) / 2 + i;
      state.coins.spend(manyOutPoint(at), batch);
      state.coins.insert(manyOutPoint(count + at), manyOutput(count + at), batch);
    }
    state.seal(seq, batch);
    atOnce(image.note(batch, seq));
    await kv.write(batch, { sync: false });
  }
  print(`${name}: read the image and a 16th that has changed since`, await used(load), count);
  await image.stop();
}

async function measure(folder: string, count: number): Promise<void> {
  const options = { role: 'mempool', networkName: 'bench' };
  const made = await DataDir.open(folder, options);
  await fill(await made.open('mempool'), count);
  await made.close();
  const dataDir = await DataDir.open(folder, options);
  const name = `${count.toLocaleString('en-US')} outputs`;
  let kv: Kv | undefined;
  print(`${name}: open the database`, await used(async () => (kv = await dataDir.open('mempool'))), count);
  const opened = kv as Kv;
  print(`${name}: read the records`, await used(() => loadMempoolState(opened, RULES, { hashKey })), count);
  await imaged(name, { kv: opened, folder: join(folder, 'image') }, count);
  await dataDir.close();
}

export async function startBench({ short, sizes = short ? SHORT_SIZES : SIZES }: SizeOptions): Promise<void> {
  printSection('The start of a mempool node');
  await inFolders('start', sizes, measure);
}
