/**
 * Admission over HTTP, single posts and batches, in rounds that take turns: a bare Fastify route that parses the same bodies,
 * the node's API over a mempool that does nothing, and a node that admits for real; beside them what verification alone costs.
 * Processor time holds on a busy machine, rates do not.
 */

import { mkdtemp, rm } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { transactionToCreateJson } from '../src/chain/create-transaction.js';
import type { Transaction } from '../src/chain/types.js';
import type { ScriptCheck } from '../src/chain/validation.js';
import { Verifier } from '../src/ledger/verifier/verifier.js';
import { stringifyExact } from '../src/lib/json.js';
import { Contestant, type Slice } from './contest.js';
import { once, requestBytes } from './load.js';
import { benchPayments } from './payments.js';
import { printMeasured, printRow, printSection } from './report.js';
import { interleave, type Measured, measured, ratios, runsOf } from './rounds.js';
import { checksOf, verifyAll } from './verification.js';

const CONNECTIONS = 32;
const BATCH = 100;
/** Transactions of a round that are posted alone, and in batches; before that as many alone as `warmUp` says. */
const PLAN = { rounds: 8, singles: 2_000, batched: 2_000, warmUp: 3_000 };
/** As the option `mempool.verify_threads` by default, but never none. */
const THREADS = Math.max(1, availableParallelism() - 1);

type Plan = typeof PLAN;
type Kind = 'singles' | 'batches';

/** The bodies of each round, and those before them. */
class Bodies {
  readonly warmUp: readonly string[];
  readonly #rounds: readonly Readonly<Record<Kind, readonly string[]>>[];

  constructor(transactions: readonly Transaction[], { rounds, singles, batched, warmUp }: Plan) {
    const json = transactions.map((tx) => stringifyExact(transactionToCreateJson(tx)));
    const take = (count: number): string[] => json.splice(0, count);
    const lists = (texts: readonly string[], size: number): string[] =>
      Array.from(
        { length: texts.length / size },
        (_, i) => `{"transactions":[${texts.slice(i * size, (i + 1) * size).join(',')}]}`,
      );
    this.warmUp = lists(take(warmUp), 1);
    this.#rounds = Array.from({ length: runsOf(rounds) }, () => ({
      singles: lists(take(singles), 1),
      batches: lists(take(batched), BATCH),
    }));
  }

  of(round: number, kind: Kind): readonly string[] {
    return this.#rounds[round]?.[kind] ?? [];
  }
}

function post(contestant: Contestant, bodies: readonly string[]): Promise<Slice> {
  const requests = bodies.map((body) => requestBytes(`${contestant.url}/v1/transactions`, 'POST', body));
  return contestant.slice(once(requests), CONNECTIONS, 201);
}

interface Verification {
  /** µs of processor time, and checks a second, of one thread and of the workers with the main thread. */
  readonly cpu: number;
  readonly rate: number;
  readonly allCpu: number;
  readonly allRate: number;
}

async function timed(count: number, run: () => unknown): Promise<{ readonly cpu: number; readonly rate: number }> {
  const used = process.cpuUsage();
  const start = performance.now();
  await run();
  const seconds = (performance.now() - start) / 1_000;
  const { user, system } = process.cpuUsage(used);
  return { cpu: (user + system) / count, rate: count / seconds };
}

/** Each round has checks of its own: what a verifier has verified it does not verify again. */
async function verification(verifier: Verifier, checks: readonly ScriptCheck[]): Promise<Verification> {
  const { cpu, rate } = await timed(checks.length, () => verifyAll(checks));
  const all = await timed(checks.length, () => Promise.all(checks.map((check) => verifier.verify([check]))));
  return { cpu, rate, allCpu: all.cpu, allRate: all.rate };
}

export async function admissionBench(): Promise<void> {
  const plan = PLAN;
  const total = plan.warmUp + runsOf(plan.rounds) * (plan.singles + plan.batched);
  const transactions = benchPayments(0, total);
  const bodies = new Bodies(transactions, plan);
  const checks = checksOf(transactions.slice(0, runsOf(plan.rounds) * plan.singles));
  const dir = await mkdtemp(join(tmpdir(), 'tessera-bench-'));
  const contestants: Contestant[] = [];
  // One for all rounds: the threads of a new one spend the first round on compiling what they run.
  const verifier = new Verifier({ threads: THREADS });
  try {
    contestants.push(
      await Contestant.start('bare', 'api-server.ts', ['bare']),
      await Contestant.start('parsed only', 'api-server.ts', ['mempool']),
      await Contestant.start('admitted', 'mempool-server.ts', [dir, String(THREADS), String(total)]),
    );
    for (const contestant of contestants) await post(contestant, bodies.warmUp);
    const posted = (kind: Kind) =>
      interleave(contestants, plan.rounds, (contestant, round) => post(contestant, bodies.of(round, kind)));
    const singles = await posted('singles');
    const batches = await posted('batches');
    const [verified = []] = await interleave([checks], plan.rounds, (all, round) =>
      verification(verifier, all.slice(round * plan.singles, (round + 1) * plan.singles)),
    );
    print(contestants, { singles, batches, verified });
  } finally {
    for (const contestant of contestants) await contestant.end();
    await verifier.close();
    await rm(dir, { recursive: true, force: true });
  }
}

interface Results {
  readonly singles: readonly (readonly Slice[])[];
  readonly batches: readonly (readonly Slice[])[];
  readonly verified: readonly Verification[];
}

function print(contestants: readonly Contestant[], { singles, batches, verified }: Results): void {
  printSection('Admission over HTTP: processor time of all threads of the server for a transaction');
  const one = verified.map(({ cpu }) => cpu);
  printMeasured('verification, one thread', measured(one), 'us');
  const all = verified.map(({ allCpu }) => allCpu);
  const share = { against: ['one thread', ratios(all, one)] as const };
  printMeasured(`verification, workers (${THREADS}) and main thread`, measured(all), 'us', share);
  for (const [what, slices, each] of [
    ['single posts', singles, 1],
    [`batches of ${BATCH}`, batches, BATCH],
  ] as const) {
    const cpu = slices.map((own) => own.map((slice) => slice.cpu / each));
    for (const [i, { name }] of contestants.entries()) {
      const against: readonly [string, Measured] | undefined =
        i === 0 ? undefined : ['bare', ratios(cpu[i] ?? [], cpu[0] ?? [])];
      printMeasured(`${what}, ${name}`, measured(cpu[i] ?? []), 'us', against && { against });
    }
  }
  printSection(`Admission over HTTP: rates (${CONNECTIONS} connections; load and server share the processors)`);
  const rate = measured(verified.map(({ allRate }) => allRate)).median;
  printRow({ name: 'verification, one thread', value: measured(verified.map((v) => v.rate)).median, unit: 'tx/s' });
  printRow({ name: `verification, workers (${THREADS}) and main thread`, value: rate, unit: 'tx/s' });
  for (const [what, slices, each] of [
    ['single posts', singles, 1],
    [`batches of ${BATCH}`, batches, BATCH],
  ] as const) {
    const admitted = slices.at(-1) ?? [];
    const { median, low, high } = measured(admitted.map((slice) => slice.rate * each));
    const note = `p50 ${measured(admitted.map(({ p50 }) => p50)).median.toFixed(1)} ms, p99 ${measured(admitted.map(({ p99 }) => p99)).median.toFixed(1)} ms`;
    const against = ['verification with all threads', rate] as const;
    printRow({ name: `${what}, admitted`, value: median, unit: 'tx/s', spread: [low, high], against, note });
  }
}
