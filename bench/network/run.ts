/**
 * `npm run bench:network`: what a whole network confirms. Four real processes on disk and a load generator, a process of its
 * own. Admission alone (no miner, so no block), the drain of what it left, both at once until everything is confirmed, the same
 * with reads beside it, and a steady load of 70 %. It prints a table and writes JSON (docs/performance.md#from-the-post-to-the-confirmed-block).
 */

import { mkdir, writeFile } from 'node:fs/promises';
import { cpus, totalmem } from 'node:os';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { devAccounts } from '../../src/config/dev-accounts.js';
import { beginPhase, type ProcessUse } from './figures.js';
import { BenchNetwork } from './network.js';
import type { LoadAnswer } from './orders.js';
import { type Phase, printPhase, printSummary, type Report, summaryOf } from './tables.js';

const HELP = `npm run bench:network -- [options]
  --seconds N             how long each phase posts (20)
  --rounds N              admission alone and all at once take turns so often; medians count (2)
  --block-transactions N  transactions of a block at most, a rule of the network (20000)
  --interval MS           longest time between two blocks (5000)
  --batch N               payments of one post (100)
  --connections N         of the load generator (32)
  --share N               of what was confirmed, for the steady load, in percent (70)
                          the steady load lasts six intervals at least
  --apart                 the mempool node has the first processor for itself, and all others share the rest, as if
                          they were two machines; needs Linux
  --short                 3 seconds, one round, blocks of 500 every second: shows that it works
  --node-option TEXT      argument of Node.js for the nodes, such as --max-semi-space-size=64; may be repeated
  --json FILE             writes all figures
  --cpu-prof FOLDER       writes a profile of every thread of every node`;

/** Intervals that the steady load lasts at least. */
const STEADY_INTERVALS = 6;
/** Payments a second that are signed in advance for a phase; what is left serves the next one. */
const PREPARED_PER_SECOND = 6_000;
const READ_CONNECTIONS = 4;
const READ_ADDRESSES = 10;

const { values } = parseArgs({
  options: {
    help: { type: 'boolean', default: false },
    short: { type: 'boolean', default: false },
    apart: { type: 'boolean', default: false },
    seconds: { type: 'string' },
    rounds: { type: 'string' },
    'block-transactions': { type: 'string' },
    interval: { type: 'string' },
    batch: { type: 'string', default: '100' },
    connections: { type: 'string', default: '32' },
    share: { type: 'string', default: '70' },
    'node-option': { type: 'string', multiple: true, default: [] },
    json: { type: 'string' },
    'cpu-prof': { type: 'string' },
  },
});
const given = (text: string | undefined, usual: number, short: number): number =>
  Number(text ?? (values.short ? short : usual));
const seconds = given(values.seconds, 20, 3);
const rounds = given(values.rounds, 2, 1);
const transactions = given(values['block-transactions'], 20_000, 500);
const intervalMs = given(values.interval, 5_000, 1_000);
const batch = Number(values.batch);
const connections = Number(values.connections);

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

async function run(bench: BenchNetwork): Promise<readonly Phase[]> {
  const phases: Phase[] = [];
  for (let round = 0; round < rounds; round++) {
    const admitted = await alone(bench);
    phases.push(admitted, await drain(bench, admitted.count), await both(bench, 'posted and confirmed', {}));
  }
  phases.push(await both(bench, 'the same with reads beside it', { reads: true }));
  const { confirmed } = summaryOf(phases);
  const rate = (confirmed * Number(values.share)) / 100;
  phases.push(await both(bench, `steady load of ${values.share} %`, { rate }));
  return phases;
}

async function main(): Promise<void> {
  if (values.help) return say(HELP);
  const profiles = values['cpu-prof'] && resolve(values['cpu-prof']);
  if (profiles !== undefined) await mkdir(profiles, { recursive: true });
  const machine = { cpus: cpus().length, model: cpus()[0]?.model ?? '', memory: totalmem(), node: process.version };
  const nodeOptions = values['node-option'];
  const settings = { seconds, rounds, transactions, intervalMs, batch, connections, nodeOptions, apart: values.apart };
  say(`${new Date().toISOString()}, node ${machine.node}, ${machine.cpus} × ${machine.model}`);
  say(`blocks of ${transactions} every ${intervalMs} ms at most; posts of ${batch} over ${connections} connections`);
  if (values.apart) say('the mempool node has the first processor for itself, and all others share the rest');
  const bench = await BenchNetwork.start({
    transactions,
    intervalMs,
    profiles,
    nodeArguments: nodeOptions,
    isApart: values.apart,
  });
  try {
    const phases = await run(bench);
    const report: Report = { date: new Date().toISOString(), machine, settings, phases, summary: summaryOf(phases) };
    printSummary(report);
    if (values.json !== undefined) await writeFile(values.json, `${JSON.stringify(report, null, 1)}\n`);
  } finally {
    await bench.end(profiles);
  }
}

await main();
