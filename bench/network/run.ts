/**
 * `npm run bench:network`: what a whole network confirms. Four real processes on disk and a load generator, a process of its
 * own. Admission alone (no miner, so no block), the drain of what it left, both at once until everything is confirmed, the same
 * with reads beside it, and a steady load of 70 %. It prints a table and writes JSON (docs/performance.md#from-the-post-to-the-confirmed-block).
 */

import { mkdir, writeFile } from 'node:fs/promises';
import { cpus, totalmem } from 'node:os';
import { resolve } from 'node:path';
import { devAccounts } from '../../src/config/dev-accounts.js';
import { benchPayments } from '../payments.js';
import { verificationCost } from '../verification.js';
import { readNetworkArguments } from './arguments.js';
import { beginPhase, type ProcessUse } from './figures.js';
import { BenchNetwork } from './network.js';
import type { LoadAnswer } from './orders.js';
import { type Phase, printPhase, printSummary, type Report, summaryOf } from './tables.js';

/** Intervals that the steady load lasts at least. */
const STEADY_INTERVALS = 6;
/** Payments a second that are signed in advance for a phase; what is left serves the next one. */
const PREPARED_PER_SECOND = 6_000;
/** Payments whose signatures are verified between the rounds, half of them before what is measured. */
const VERIFIED = 2_000;
const READ_CONNECTIONS = 4;
const READ_ADDRESSES = 10;

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
  json,
  profiles: folder,
} = asked;

const say = (text: string): void => void process.stdout.write(`${text}\n`);

type Drained = Extract<LoadAnswer, { kind: 'drained' }>;
type Posted = Extract<LoadAnswer, { kind: 'posted' }>;

/** One phase: orders to the load generator, and what each process took meanwhile. */
async function phase(
  bench: BenchNetwork,
  name: string,
  work: () => Promise<Omit<Phase, 'name' | 'processes'>>,
): Promise<Phase> {
  const end = await beginPhase(bench.watched);
  const figures = await work();
  const processes: readonly ProcessUse[] = await end();
  const done = { name, ...figures, processes };
  printPhase(done);
  return done;
}

const prepare = async (bench: BenchNetwork, rate = PREPARED_PER_SECOND, time = seconds): Promise<void> => {
  await bench.order({ kind: 'prepare', count: Math.ceil(rate * time), batch });
};

const perSecond = (count: number, ms: number): number => (1_000 * count) / ms;

/** Nothing but admission: what it admits is left in the pool. */
async function alone(bench: BenchNetwork): Promise<Phase> {
  await bench.stopMining();
  await prepare(bench);
  return phase(bench, 'admitted alone', async () => {
    const posted = await bench.order<'posted'>({ kind: 'post', seconds, connections });
    return { count: posted.admitted, admitted: admittedOf(posted) };
  });
}

/** The miner comes back, and the pool is emptied. */
async function drain(bench: BenchNetwork, count: number): Promise<Phase> {
  return phase(bench, 'drained, nothing posted', async () => {
    const begun = performance.now();
    await bench.startMining();
    const drained = await bench.order<'drained'>({ kind: 'drain' });
    return { count, confirmed: { rate: perSecond(count, performance.now() - begun), blocks: drained.blocks } };
  });
}

/** Posts, and waits until all of it is confirmed; at a rate, or as fast as the answers come. */
async function both(bench: BenchNetwork, name: string, options: { rate?: number; reads?: boolean }): Promise<Phase> {
  const { rate, reads } = options;
  const time = rate === undefined ? seconds : Math.max(seconds, (STEADY_INTERVALS * intervalMs) / 1_000);
  await prepare(bench, rate, time);
  return phase(bench, name, async () => {
    const post = { kind: 'post' as const, seconds: time, connections, ...(rate === undefined ? {} : { rate }) };
    const addresses = devAccounts()
      .accounts.slice(0, READ_ADDRESSES)
      .map(({ address }) => address);
    const reading = reads
      ? bench.order<'read'>({ kind: 'read', seconds, connections: READ_CONNECTIONS, addresses })
      : undefined;
    const posted = await bench.order<'posted'>(post);
    const drained = await bench.order<'drained'>({ kind: 'drain' });
    const answers = await reading;
    return {
      count: drained.count,
      admitted: admittedOf(posted),
      confirmed: confirmedOf(posted, drained),
      ...(answers && { reads: { storage: answers.storage, mempool: answers.mempool } }),
    };
  });
}

function admittedOf(posted: Posted): NonNullable<Phase['admitted']> {
  const { admitted, admitMs, answerP50: p50, answerP99: p99, tooMany, isUsedUp } = posted;
  return { rate: perSecond(admitted, admitMs), p50, p99, tooMany, isUsedUp };
}

function confirmedOf(
  { beganAt }: Posted,
  { count, lastAt, p50, p99, max, blocks }: Drained,
): NonNullable<Phase['confirmed']> {
  return { rate: perSecond(count, lastAt - beganAt), p50, p99, max, blocks };
}

async function run(bench: BenchNetwork): Promise<Pick<Report, 'phases' | 'summary'>> {
  const phases: Phase[] = [];
  const verifications: number[] = [];
  for (let round = 0; round < rounds; round++) {
    verifications.push(verificationCost(benchPayments(0, VERIFIED)));
    const admitted = await alone(bench);
    phases.push(admitted, await drain(bench, admitted.count), await both(bench, 'posted and confirmed', {}));
  }
  phases.push(await both(bench, 'the same with reads beside it', { reads: true }));
  verifications.push(verificationCost(benchPayments(0, VERIFIED)));
  const { confirmed } = summaryOf(phases, verifications);
  const rate = (confirmed * share) / 100;
  phases.push(await both(bench, `steady load of ${share} %`, { rate }));
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
  const bench = await BenchNetwork.start({
    transactions,
    intervalMs,
    profiles,
    nodeArguments: nodeOptions,
    isApart: apart,
  });
  try {
    const report: Report = { date: new Date().toISOString(), machine, settings, ...(await run(bench)) };
    printSummary(report);
    if (json !== undefined) await writeFile(json, `${JSON.stringify(report, null, 1)}\n`);
  } finally {
    await bench.end(profiles);
  }
}

await main();
