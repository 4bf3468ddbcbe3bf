/**
 * A storage node without blocks that gets them from another one: two processes on disk with a link between them. The rate, the processor time
 * of each side for a payment, and how that compares with what the same threads verify when they do nothing else.
 */

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseGenesis } from '../src/chain/genesis.js';
import type { Transaction } from '../src/chain/types.js';
import { planValidation, type ScriptCheck } from '../src/chain/validation.js';
import { createConfig } from '../src/config/load.js';
import { DataDir } from '../src/db/data-dir.js';
import { Verifier } from '../src/ledger/verifier/verifier.js';
import { parseExactJson } from '../src/lib/json.js';
import { openArchiveFiles } from '../src/node/archive-files.js';
import { rebuildMempool } from '../src/node/rebuild/rebuild-mempool.js';
import { Archive } from '../src/storage/archive/archive.js';
import { createTestChain } from '../test/support/storage/test-chain.js';
import type { Parts } from './catch-up-parts.js';
import { benchGenesis, benchOutputs, benchPayments } from './payments.js';
import { printRow, printSection } from './report.js';
import { inFolders, type SizeOptions } from './sizes.js';

/** What a storage node of the benchmark says. */
export type StorageLine =
  | { readonly kind: 'listening'; readonly address: string }
  /** Milliseconds by the clock, of the main thread, and of all threads. */
  | { readonly kind: 'used'; readonly clock: number; readonly main: number; readonly all: number };
type Used = Extract<StorageLine, { readonly kind: 'used' }>;

/** Payments of a block. */
const SIZES = [2_000];
const SHORT_SIZES = [200];
export const BLOCKS = 12;
/** Blocks at the beginning that are not counted; block 0 is one of them. */
const UNCOUNTED = 4;
export const THREADS = 1;
const SERVER = fileURLToPath(new URL('storage-server.ts', import.meta.url));
const PARTS = fileURLToPath(new URL('catch-up-parts.ts', import.meta.url));

/** Fills an archive with blocks of so many payments; nothing is verified twice, so it takes what signing takes. */
export async function fill(folder: string, genesisText: string, payments: number): Promise<void> {
  const genesis = parseGenesis(parseExactJson(genesisText));
  const dataDir = await DataDir.open(folder, { role: 'storage', networkName: 'bench' });
  const scripts = new Verifier({ threads: THREADS });
  const rules = { genesis, activationHeight: 3 };
  const archive = await Archive.open({ rules }, { ...(await openArchiveFiles(dataDir)), scripts });
  const chain = createTestChain(0, genesis);
  await archive.store(chain.add());
  for (let block = 0; block < BLOCKS; block++) {
    await archive.store(chain.add(benchPayments(block * payments, payments)));
  }
  await scripts.close();
  await dataDir.close();
}

/** Milliseconds by the clock and of all threads for the signatures of these payments and nothing else. */
export async function verifyAlone(transactions: readonly Transaction[]): Promise<{ clock: number; all: number }> {
  const verifier = new Verifier({ threads: THREADS });
  const outputs = benchOutputs(BLOCKS * transactions.length);
  const checks: ScriptCheck[] = transactions.flatMap((tx) => [
    ...planValidation(tx, 10n, ({ n }) => outputs[n]).checks,
  ]);
  if (checks.length !== transactions.length) throw new Error('a payment of the benchmark is not valid');
  const [begun, used] = [performance.now(), process.cpuUsage()];
  const verdicts = await Promise.all(checks.map((check) => verifier.verify([check])));
  if (verdicts.includes(false)) throw new Error('a signature of the benchmark does not hold');
  const { user, system } = process.cpuUsage(used);
  const clock = performance.now() - begun;
  await verifier.close();
  return { clock, all: (user + system) / 1_000 };
}

function start(...args: readonly string[]): ChildProcess {
  return fork(SERVER, [...args], { execArgv: ['--import', 'tsx'] });
}

async function heard<K extends StorageLine['kind']>(child: ChildProcess, kind: K): Promise<StorageLine & { kind: K }> {
  for (;;) {
    const [line] = (await once(child, 'message')) as [StorageLine];
    if (line.kind === kind) return line as StorageLine & { kind: K };
  }
}

async function measure(folder: string, payments: number): Promise<void> {
  const genesisFile = join(folder, 'genesis.json');
  const genesisText = benchGenesis(payments * BLOCKS, { mempool_genesis_tx_in: 'bench', initial_issuances: [] });
  await writeFile(genesisFile, genesisText);
  await fill(join(folder, 'giver'), genesisText, payments);
  const giver = start(join(folder, 'giver'), genesisFile, `${THREADS}`);
  const { address } = await heard(giver, 'listening');
  giver.send('start');
  const taker = start(join(folder, 'taker'), genesisFile, `${THREADS}`, address);
  const took = await heard(taker, 'used');
  const gave = heard(giver, 'used');
  giver.send('used');
  const [giving, alone] = [await gave, await verifyAlone(benchPayments(0, payments * 2))];
  print(payments, took, giving, alone);
  for (const child of [taker, giver]) child.send('stop');
  await Promise.all([taker, giver].map((child) => child.exitCode ?? once(child, 'exit')));
  await bareParts(folder, genesisFile, (1_000 * alone.all) / (payments * 2));
  await rebuild(folder, genesisText, payments);
}

/** What a storage node cannot leave out of the blocks that `fill` has made, besides signatures. */
export async function storageParts(folder: string, genesisFile: string): Promise<Parts> {
  const child = fork(PARTS, [join(folder, 'giver'), genesisFile, join(folder, 'parts')], {
    execArgv: ['--import', 'tsx'],
  });
  const [parts] = (await once(child, 'message')) as [Parts];
  await once(child, 'exit');
  return parts;
}

/** What catching up takes at least, besides signatures, and the part of bare verification that two processors allow then. */
async function bareParts(folder: string, genesisFile: string, verifying: number): Promise<void> {
  const parts = await storageParts(folder, genesisFile);
  const all = Object.values(parts).reduce((sum, part) => sum + part, 0);
  printRow({ name: '  bare parts besides signatures, all threads', value: all, unit: 'µs/tx' });
  for (const [part, value] of Object.entries(parts)) printRow({ name: `    ${part}`, value, unit: 'µs/tx' });
  printRow({
    name: '  bare parts and verification: of verification alone',
    value: (100 * verifying) / (verifying + all),
    unit: '%',
  });
}

/** `tessera rebuild --role mempool --archive`: the state of a mempool node from the blocks of an archive. */
async function rebuild(folder: string, genesisText: string, payments: number): Promise<void> {
  const config = createConfig('mempool', {
    'network.name': 'bench',
    'network.secret': 'a secret of the benchmark',
    'node.data_dir': join(folder, 'mempool'),
    'mempool.verify_threads': THREADS,
    'mining.asert_activation_height': 3,
  });
  const genesis = parseGenesis(parseExactJson(genesisText));
  let [first, all] = [performance.now(), process.cpuUsage()];
  const onProgress = (done: number): void => {
    if (done === UNCOUNTED) [first, all] = [performance.now(), process.cpuUsage()];
  };
  const { signal } = new AbortController();
  await rebuildMempool({ config, genesis, archive: join(folder, 'giver'), signal, onProgress });
  const { user, system } = process.cpuUsage(all);
  const count = (BLOCKS + 1 - UNCOUNTED) * payments;
  const name = `blocks of ${payments.toLocaleString('en-US')} payments: a mempool made from the archive`;
  printRow({ name, value: (1_000 * count) / (performance.now() - first), unit: 'tx/s' });
  printRow({ name: '  processor time, all threads', value: (user + system) / count, unit: 'µs/tx' });
}

function print(payments: number, took: Used, gave: Used, alone: { clock: number; all: number }): void {
  const name = `blocks of ${payments.toLocaleString('en-US')} payments`;
  const counted = (BLOCKS + 1 - UNCOUNTED) * payments;
  const each = (ms: number, count = counted): number => (1_000 * ms) / count;
  const rate = 1e6 / each(took.clock);
  const verified = (1_000 * payments * 2) / alone.clock;
  printRow({ name: `${name}: caught up`, value: rate, unit: 'tx/s', against: ['verification alone', verified] });
  printRow({ name: '  processor time of the node, all threads', value: each(took.all), unit: 'µs/tx' });
  printRow({ name: '  of its main thread', value: each(took.main), unit: 'µs/tx' });
  printRow({ name: '  of the node that gives', value: each(gave.all, (BLOCKS + 1) * payments), unit: 'µs/tx' });
  printRow({ name: '  verification alone, all threads', value: each(alone.all, payments * 2), unit: 'µs/tx' });
}

export async function catchUpBench({ short, sizes = short ? SHORT_SIZES : SIZES }: SizeOptions): Promise<void> {
  printSection(`Catching up: ${BLOCKS} blocks from another storage node, ${THREADS} thread beside the main one`);
  await inFolders('catch-up', sizes, measure);
}
