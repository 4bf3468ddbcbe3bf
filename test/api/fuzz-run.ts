/** `npm run fuzz -- --runs N [--seed S]`: the contract fuzz with any number of requests, and what came back. */

import { parseArgs } from 'node:util';
import fc from 'fast-check';
import { createFuzzTarget, requestArbitrary } from '../support/api/fuzz.js';

const { values } = parseArgs({ options: { runs: { type: 'string', default: '100000' }, seed: { type: 'string' } } });
const runs = Number(values.runs);
const seed = values.seed === undefined ? Date.now() % 2 ** 31 : Number(values.seed);
if (!Number.isSafeInteger(runs) || runs < 1) throw new Error('--runs must be a whole number from 1 on');

const target = await createFuzzTarget();
const counts = new Map<string, number>();
const start = performance.now();
await fc.assert(
  fc.asyncProperty(requestArbitrary(), async (request) => {
    const status = await target.check(request);
    const key = `${request.operation} ${status}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }),
  { numRuns: runs, seed },
);
await target.close();
const seconds = (performance.now() - start) / 1000;
const lines = [...counts]
  .sort(([a], [b]) => (a < b ? -1 : 1))
  .map(([key, count]) => `${String(count).padStart(8)}  ${key}`);
process.stdout.write(
  `${lines.join('\n')}\n${runs} requests in ${seconds.toFixed(1)} s, seed ${seed}: all as documented\n`,
);
