/**
 * What a mempool node costs, beside the node that Tessera replaces: processor time of all threads for a post, memory, and a restart. The
 * figures of the original are those of its Network 1.1.2 (tw_chain 1.1.3), built in release mode and measured on two calm cores in turns with
 * this program at commit 57cfdce. They are scaled by what a verification with libsodium takes here in the same rounds: it took 39 µs there.
 * With `--original FILE` that program is measured in the same rounds, and the shares are those of what it takes here.
 * `npm run bench:network` measures what a confirmed payment costs.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { once as onceEvent } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DEFAULT_BLOCK_RULES } from '../src/chain/block-rules.js';
import { encodeTxOut } from '../src/chain/codec.js';
import { transactionToCreateJson } from '../src/chain/create-transaction.js';
import { encodeTransactions } from '../src/chain/decode-in-pieces.js';
import type { Transaction } from '../src/chain/types.js';
import { DataDir } from '../src/db/data-dir.js';
import { LocalJournal } from '../src/journal/local-journal.js';
import { HASH_KEY_BYTES } from '../src/ledger/utxo/keyed-hash.js';
import { UtxoTable } from '../src/ledger/utxo/utxo-table.js';
import { systemClock } from '../src/lib/clock.js';
import { stringifyExact } from '../src/lib/json.js';
import { keys } from '../src/mempool/state/layout.js';
import { MempoolState } from '../src/mempool/state/state.js';
import { noMetrics } from '../src/observability/metrics.js';
import type { BenchArguments } from './arguments.js';
import { Contestant, HERE } from './contest.js';
import { load, once, requestBytes } from './load.js';
import { manyOutPoint, manyOutput } from './many-outputs.js';
import { type Posted, type PostsOfRound, postOriginal } from './original-posts.js';
import { benchPayments } from './payments.js';
import { printMeasured, printRow, printSection } from './report.js';
import { measured } from './rounds.js';
import { VERIFICATION_THERE, verificationCost } from './verification.js';

/** Before all: single posts, so that what V8 compiles is compiled. Each row begins with a round that is not counted, too. */
const WARM_UP = 8_000;
const ROUNDS = 5;
const OUTPUTS = 300_000;
/** Signatures that are verified in each round, so that a machine which changes its speed changes both. */
const VERIFIED = 500;
/** Milliseconds between two questions whether a node has started, and how many are asked. */
const ASK_MS = 10;
const MAX_ASKED = 12_000;
/** Milliseconds in which an image that has been begun is made. */
const IMAGE_MS = 3_000;

interface Posts extends PostsOfRound {
  readonly name: string;
  /** In the encoding of the chain, not in JSON. */
  readonly isEncoded?: boolean;
  /** µs that the original takes for a transaction, and how many it takes a second; it takes JSON alone. */
  readonly original: number;
  readonly originalRate?: number;
}

const POSTS: readonly Posts[] = [
  { name: 'single posts, 32 connections', count: 2_000, size: 1, connections: 32, original: 198, originalRate: 5_033 },
  {
    name: 'single posts, 128 connections',
    count: 2_000,
    size: 1,
    connections: 128,
    original: 212,
    originalRate: 5_521,
  },
  {
    name: 'batches of 100, 32 connections',
    count: 6_400,
    size: 100,
    connections: 32,
    original: 114,
    originalRate: 7_518,
  },
  {
    name: 'the same, encoded',
    count: 6_400,
    size: 100,
    connections: 32,
    isEncoded: true,
    original: 114,
    originalRate: 7_518,
  },
  { name: 'one post at a time, 20 a second', count: 60, size: 1, connections: 1, pace: 20, original: 500 },
  { name: 'one post at a time, 100 a second', count: 200, size: 1, connections: 1, pace: 100, original: 430 },
  { name: 'one post at a time, 500 a second', count: 1_000, size: 1, connections: 1, pace: 500, original: 370 },
];

export async function costBench({ original }: Pick<BenchArguments, 'original'>): Promise<void> {
  const total = WARM_UP + POSTS.reduce((sum, { count }) => sum + (1 + ROUNDS) * count, 0);
  const transactions = benchPayments(0, total);
  const verified = transactions.slice(0, 2 * VERIFIED);
  const dir = await mkdtemp(join(tmpdir(), 'tessera-bench-'));
  try {
    const figures = original === undefined ? 'its figures times what a verification takes' : 'measured';
    printSection(`Cost beside the original node, ${figures} in the same rounds`);
    const servers = [
      await Contestant.start('a mempool node', 'mempool-server.ts', [dir, '1', String(total)]),
      await Contestant.start('  its bare parts, with rules and pool', 'bare-server.ts', [dir, 'rules', String(total)]),
      await Contestant.start('  its bare parts behind its API', 'bare-server.ts', [dir, 'api']),
      await Contestant.start('  its bare parts', 'bare-server.ts', [dir]),
    ];
    const left = [...transactions];
    const first = left.splice(0, WARM_UP);
    for (const server of servers) await post(server, first, { size: 1, connections: 32 });
    const scales: number[] = [];
    let measuredHere: Posted | undefined;
    for (const posts of POSTS) {
      const verifications: number[] = [];
      const costs = servers.map((): number[] => []);
      const rates = servers.map((): number[] => []);
      const ofOriginal: Posted[] = [];
      for (let round = 0; round <= ROUNDS; round++) {
        const some = left.splice(0, posts.count);
        if (round > 0) verifications.push(verificationCost(verified));
        if (round > 0 && original !== undefined && !posts.isEncoded)
          ofOriginal.push(await postOriginal(original, posts));
        for (const [i, server] of servers.entries()) {
          if (posts.isEncoded && server.name === '  its bare parts') continue;
          const { cost, rate } = await post(server, some, posts);
          if (round === 0) continue;
          costs[i]?.push(cost);
          rates[i]?.push(rate);
        }
      }
      const verification = measured(verifications);
      const scale = verification.median / VERIFICATION_THERE;
      scales.push(scale);
      // Encoded posts are beside the original's in JSON, the row before: it takes no others.
      if (ofOriginal.length > 0) measuredHere = medianOf(ofOriginal);
      const there = measuredHere ?? { cost: posts.original * scale, rate: (posts.originalRate ?? 0) / scale };
      for (const [i, { name }] of servers.entries()) {
        const some = costs[i] ?? [];
        const against = [`the original${measuredHere === undefined ? ', scaled' : ''}`, there.cost] as const;
        if (some.length === 0) continue;
        const rate = measured(rates[i] ?? []).median;
        const share = posts.pace === undefined ? `, ${((100 * rate) / there.rate).toFixed(0)} %` : '';
        const note = `${Math.round(rate)} a second${share}`;
        printMeasured(i === 0 ? posts.name : name, measured(some), 'us', { against, note });
      }
      if (ofOriginal.length > 0) {
        const note = `${Math.round(there.rate)} a second`;
        const against = ['its figure, scaled', posts.original * scale] as const;
        printMeasured('  the original', measured(ofOriginal.map(({ cost }) => cost)), 'us', { against, note });
      }
      printMeasured('  a verification', verification, 'us', { against: ['the original machine', VERIFICATION_THERE] });
    }
    for (const server of servers) await server.end();
    await sizes(dir, measured(scales).median);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

function medianOf(posted: readonly Posted[]): Posted {
  const median = (figure: (one: Posted) => number): number => measured(posted.map(figure)).median;
  return { cost: median(({ cost }) => cost), rate: median(({ rate }) => rate) };
}

export async function post(
  node: Contestant,
  transactions: readonly Transaction[],
  { size, connections, pace, isEncoded = false }: Pick<Posts, 'size' | 'connections' | 'pace' | 'isEncoded'>,
): Promise<Posted> {
  const bodies = Array.from({ length: Math.ceil(transactions.length / size) }, (_, i) => {
    const some = transactions.slice(i * size, (i + 1) * size);
    return isEncoded ? encodeTransactions(some) : stringifyExact({ transactions: some.map(transactionToCreateJson) });
  });
  const next = once(bodies.map((body) => requestBytes(`${node.url}/v1/transactions`, 'POST', body)));
  node.startCounting();
  const { statuses, rate } = await load({ url: node.url, connections, next, ...(pace === undefined ? {} : { pace }) });
  const cpu = await node.counted();
  if (statuses.get(201) !== bodies.length) throw new Error(`answered ${JSON.stringify([...statuses])}`);
  return { cost: cpu / transactions.length, rate: rate * size };
}

/** Memory, and starts of the whole program. */
async function sizes(dir: string, scale: number): Promise<void> {
  const empty = await start(join(dir, 'empty'));
  printRow({ name: 'memory, empty', value: empty.megabytes, unit: 'MB', against: ['the original', 29] });
  const folder = join(dir, 'full');
  await fill(folder);
  const starts = [
    ['a start without an image', { hasImage: true }],
    ['a start', { isKilled: false }],
    ['a start after a stop', {}],
    ['a start after kill -9', {}],
  ] as const;
  for (const [name, options] of starts) {
    const { seconds, cpu, megabytes } = await start(folder, options);
    const note = `${seconds.toFixed(2)} s by the clock; the original 0.8 s`;
    const against = ['the original', 0.4 * scale] as const;
    printRow({ name: `${name} with ${OUTPUTS} outputs, processor`, value: cpu, unit: 's', against, note });
    printRow({ name: '  memory', value: megabytes, unit: 'MB', against: ['the original', 264] });
  }
}

/** The folder of a mempool node with many outputs and nothing else. */
async function fill(folder: string): Promise<void> {
  const directory = await DataDir.open(folder, { role: 'mempool', networkName: 'tessera-local' });
  const kv = await directory.open('mempool');
  const utxos = new UtxoTable(new Uint8Array(HASH_KEY_BYTES));
  for (let from = 0; from < OUTPUTS; from += 5_000) {
    const batch = kv.batch();
    for (let i = from; i < from + 5_000; i++) {
      utxos.insert(manyOutPoint(i), manyOutput(i));
      batch.put(keys.utxo(manyOutPoint(i)), encodeTxOut(manyOutput(i)));
    }
    await kv.write(batch, { sync: false });
  }
  const rules = { genesis: [], eras: [], issuances: new Map<number, never>(), block: DEFAULT_BLOCK_RULES };
  const batch = kv.batch();
  new MempoolState(
    { ...rules, partitionSize: 1, asertActivationHeight: 0, druidLifetime: 10 },
    { utxos, record: null, pooled: [], waiting: [], rounds: [], kept: [] },
  ).seal(1, batch);
  await kv.write(batch, { sync: true });
  const modules = { kv: await directory.open('journal'), clock: systemClock, metrics: noMetrics };
  const journal = await LocalJournal.open({}, modules);
  await journal.append(new Uint8Array(1)).durable;
  await journal.close();
  await directory.close();
}

/** Starts the program until it answers for a balance, and ends it; with `hasImage` when it has made an image of its outputs. */
async function start(folder: string, { isKilled = true, hasImage = false } = {}) {
  const settings = ['api.port=23943', 'peers.port=0', 'peers.storage=[]'].flatMap((setting) => ['--set', setting]);
  const args = ['dist/main.js', '--role', 'mempool', '--data', folder, ...settings];
  const begun = performance.now();
  const child = spawn(process.execPath, args, { cwd: fileURLToPath(HERE), stdio: 'ignore' });
  try {
    await answers('http://127.0.0.1:23943/v1/balances?address=', child);
    const seconds = (performance.now() - begun) / 1_000;
    const stat = (await readFile(`/proc/${child.pid}/stat`, 'latin1')).split(' ');
    const status = await readFile(`/proc/${child.pid}/status`, 'latin1');
    // Ticks are hundredths of a second on Linux.
    const cpu = (Number(stat[13]) + Number(stat[14])) / 100;
    const named = async (): Promise<number> => (await readdir(join(folder, 'image')).catch(() => [])).length;
    for (let i = 0; hasImage && i < MAX_ASKED && (await named()) === 0; i++) await pause();
    // Its file is there before its name is written.
    for (let i = 0; hasImage && i < IMAGE_MS / ASK_MS; i++) await pause();
    return { seconds, cpu, megabytes: Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1_024 };
  } finally {
    const gone = onceEvent(child, 'exit');
    if (child.exitCode === null && child.kill(isKilled ? 'SIGKILL' : 'SIGTERM')) await gone;
  }
}

const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, ASK_MS));

async function answers(url: string, child: ChildProcess): Promise<void> {
  const address = manyOutput(0).scriptPublicKey;
  for (let i = 0; i < MAX_ASKED && child.exitCode === null; i++) {
    const response = await fetch(url + address).catch(() => undefined);
    if (response?.status === 200) return;
    await pause();
  }
  throw new Error('the node did not start');
}
