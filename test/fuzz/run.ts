/**
 * `npm run fuzz -- [target] --runs N [--seed S] [--minutes M]`: a target of `targets/`, which ends when one of the two is
 * over, or the HTTP API (`http`, which is also meant without a name). A finding is kept in `corpus/` and shown; the process
 * ends with 1 then.
 */

import { parseArgs } from 'node:util';
import { keepInput } from './corpus.js';
import { Finding } from './fuzzer.js';
import { fuzzAndMeasure, type HeapReport, MAX_GROWTH } from './heap-growth.js';
import { fuzzHttp } from './http.js';
import type { FuzzTarget } from './target.js';
import { TARGETS } from './targets/index.js';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { runs: { type: 'string', default: '100000' }, seed: { type: 'string' }, minutes: { type: 'string' } },
});
const [name = 'http'] = positionals;
const runs = Number(values.runs);
const seed = values.seed === undefined ? Date.now() % 2 ** 31 : Number(values.seed);
const maxMs = values.minutes === undefined ? Number.POSITIVE_INFINITY : 60_000 * Number(values.minutes);
if (!(maxMs > 0)) throw new Error('--minutes must be a number above 0');
if (!Number.isSafeInteger(runs) || runs < 1) throw new Error('--runs must be a whole number from 1 on');
if (!Number.isSafeInteger(seed)) throw new Error('--seed must be a whole number');

const say = (text: string): void => void process.stdout.write(`${text}\n`);

function table(counts: ReadonlyMap<string, number>): string {
  const lines = [...counts].sort(([a], [b]) => (a < b ? -1 : 1));
  return lines.map(([key, count]) => `${String(count).padStart(8)}  ${key}`).join('\n');
}

async function runHttp(): Promise<void> {
  const start = performance.now();
  say(table(await fuzzHttp(runs, seed)));
  say(`${runs} requests in ${((performance.now() - start) / 1_000).toFixed(1)} s, seed ${seed}: all as documented`);
}

async function runTarget(target: FuzzTarget): Promise<void> {
  // What nothing in the target catches has no input of its own: the seed leads there again.
  process.on('uncaughtException', (error) => {
    say(`${error.stack}\nuncaught, seed ${seed}`);
    process.exit(1);
  });
  const report = await fuzzAndMeasure(target, { runs, seed, maxMs });
  say(table(report.endings));
  say(summary(report));
  if (report.growth > MAX_GROWTH) throw new Error(`the live heap grew by ${report.growth.toFixed(1)} MiB`);
}

function summary({ runs: done, functions, interesting, seconds, slowestMs, growth }: HeapReport): string {
  return [
    `${done} inputs in ${seconds.toFixed(1)} s, seed ${seed}: nothing found`,
    `${interesting} of them led to new code, in ${functions} functions; the slowest took ${slowestMs.toFixed(1)} ms; the live heap grew by ${growth.toFixed(1)} MiB`,
  ].join('\n');
}

const target = TARGETS.find((one) => one.name === name);
if (name !== 'http' && target === undefined) {
  throw new Error(`there is no target "${name}": ${['http', ...TARGETS.map((one) => one.name)].join(', ')}`);
}
try {
  await (target === undefined ? runHttp() : runTarget(target));
} catch (error) {
  if (!(error instanceof Finding)) throw error;
  say(`${error.stack}\nseed ${seed}; kept as ${keepInput(name, error.input)}`);
  process.exitCode = 1;
} finally {
  // Some have made their folders when they were read.
  for (const one of TARGETS) await one.close?.();
}
process.exit();
