/**
 * `npm run bench:network`: what a whole network confirms. Four real processes on disk and a load generator, a process of its
 * own. Admission alone (no miner, so no block), the drain of what it left, both at once until everything is confirmed, the same
 * with reads beside it, and a steady load of 70 %. It prints a table and writes JSON (docs/performance.md#from-the-post-to-the-confirmed-block).
 */

import { mkdir, writeFile } from 'node:fs/promises';
import { cpus, totalmem } from 'node:os';
import { resolve } from 'node:path';
import { benchPayments } from '../payments.js';
import { verificationCost } from '../verification.js';
import { readNetworkArguments } from './arguments.js';
import { beside } from './beside.js';
import { BenchNetwork } from './network.js';
import { admittedOf, confirmAll, perSecond, phase, prepare } from './phases.js';
import { type Phase, printSummary, type Report, summaryOf } from './tables.js';

/** Intervals that the steady load lasts at least. */
const STEADY_INTERVALS = 6;
/** Payments whose signatures are verified between the rounds, half of them before what is measured. */
const VERIFIED = 2_000;

const asked = readNetworkArguments(process.argv.slice(2));
if ('text' in asked) {
  (asked.status === 0 ? console.log : console.error)(asked.text);
  process.exit(asked.status);
}
const {
  seconds,
  rounds,
  transactions,
  intervalMs,
  batch,
  connections,
  share,
  apart,
  nodeOptions,
  original,
  json,
  profiles: folder,
} = asked;

const load = { seconds, connections, batch };

const say = (text: string): void => void process.stdout.write(`${text}\n`);

/** Nothing but admission: what it admits is left in the pool. */
async function alone(bench: BenchNetwork): Promise<Phase> {
  await bench.stopMining();
  await prepare(bench, load);
  return phase(bench, 'admitted alone', async () => {
    const posted = await bench.load.order<'posted'>({ kind: 'post', seconds, connections });
    return { count: posted.admitted, admitted: admittedOf(posted) };
  });
}

/** The miner comes back, and the pool is emptied. */
async function drain(bench: BenchNetwork, count: number): Promise<Phase> {
  return phase(bench, 'drained, nothing posted', async () => {
    const begun = performance.now();
    await bench.startMining();
    const drained = await bench.load.order<'drained'>({ kind: 'drain' });
    return { count, confirmed: { rate: perSecond(count, performance.now() - begun), blocks: drained.blocks } };
  });
}

async function run(bench: BenchNetwork): Promise<Pick<Report, 'phases' | 'summary'>> {
  const phases: Phase[] = [];
  const verifications: number[] = [];
  for (let round = 0; round < rounds; round++) {
    verifications.push(verificationCost(benchPayments(0, VERIFIED)));
    const admitted = await alone(bench);
    phases.push(admitted, await drain(bench, admitted.count), await confirmAll(bench, 'posted and confirmed', load));
  }
  phases.push(await confirmAll(bench, 'the same with reads beside it', { ...load, reads: true }));
  verifications.push(verificationCost(benchPayments(0, VERIFIED)));
  const { confirmed } = summaryOf(phases, verifications);
  const rate = (confirmed * share) / 100;
  const steady = Math.max(seconds, (STEADY_INTERVALS * intervalMs) / 1_000);
  phases.push(await confirmAll(bench, `steady load of ${share} %`, { ...load, rate, seconds: steady }));
  return { phases, summary: summaryOf(phases, verifications) };
}

async function main(): Promise<void> {
  const profiles = folder === undefined ? undefined : resolve(folder);
  if (profiles !== undefined) await mkdir(profiles, { recursive: true });
  const machine = { cpus: cpus().length, model: cpus()[0]?.model ?? '', memory: totalmem(), node: process.version };
  const settings = { seconds, rounds, transactions, intervalMs, batch, connections, nodeOptions, apart };
  say(`${new Date().toISOString()}, node ${machine.node}, ${machine.cpus} × ${machine.model}`);
  say(`blocks of ${transactions} every ${intervalMs} ms at most; posts of ${batch} over ${connections} connections`);
  if (apart) say('the mempool node has the first processor for itself, and all others share the rest');
  const network = { transactions, intervalMs, profiles, nodeArguments: nodeOptions, isApart: apart };
  if (original !== undefined) return beside({ program: resolve(original), rounds, load, network });
  const bench = await BenchNetwork.start(network);
  try {
    const report: Report = { date: new Date().toISOString(), machine, settings, ...(await run(bench)) };
    printSummary(report);
    if (json !== undefined) await writeFile(json, `${JSON.stringify(report, null, 1)}\n`);
  } finally {
    await bench.end(profiles);
  }
}

await main();
