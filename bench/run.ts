/**
 * `npm run bench [-- NAME … [--short] [--sizes N,N] [--json FILE] [--compare FILE] [--against DIR]]`: runs the benchmarks,
 * or those named, one after the other, prints figures and ratios, and writes them as JSON. `--short` runs those that say
 * something in seconds; `--sizes` is how large tables are where that is what is measured; `--compare` shows what is slower than
 * in an earlier run; `--against` names a checkout whose API is measured beside this one.
 */

import { readFile, writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { admissionBench } from './admission.bench.js';
import { apiBench } from './api.bench.js';
import { archiveSizeBench } from './archive-size.bench.js';
import { blockBench } from './block.bench.js';
import { catchUpBench } from './catch-up.bench.js';
import { chainBench } from './chain.bench.js';
import { chainIndexBench } from './chain-index.bench.js';
import { compareRuns, printComparison, type Run } from './compare.js';
import { fairnessBench } from './fairness.bench.js';
import { largestBlockBench } from './largest-block.bench.js';
import { describeMachine, thisMachine } from './machine.js';
import { messagesBench } from './messages.bench.js';
import { nonceBench } from './nonce.bench.js';
import { pagesBench } from './pages.bench.js';
import { replicasBench } from './replicas.bench.js';
import { printedFigures } from './report.js';
import { requestsBench } from './requests.bench.js';
import { signatureBench } from './signature.bench.js';
import { readSizes, type SizeOptions } from './sizes.js';
import { startBench } from './start.bench.js';
import { submissionBench } from './submission.bench.js';
import { utxoBench } from './utxo.bench.js';
import { walletBench } from './wallet.bench.js';
import { walletSizeBench } from './wallet-size.bench.js';

const { positionals: names, values } = parseArgs({
  allowPositionals: true,
  options: {
    against: { type: 'string' },
    short: { type: 'boolean', default: false },
    json: { type: 'string', default: 'bench.json' },
    compare: { type: 'string' },
    sizes: { type: 'string' },
  },
});
const { short } = values;
const sized: SizeOptions = { short, sizes: values.sizes === undefined ? undefined : readSizes(values.sizes) };

const BENCHES: Readonly<Record<string, () => Promise<void>>> = {
  signatures: () => signatureBench({ short }),
  api: () => apiBench({ short, ...(values.against !== undefined && { against: values.against }) }),
  admission: admissionBench,
  replicas: replicasBench,
  requests: requestsBench,
  messages: messagesBench,
  block: blockBench,
  largest: largestBlockBench,
  submission: submissionBench,
  fairness: fairnessBench,
  utxo: () => utxoBench(sized),
  start: () => startBench(sized),
  nonce: nonceBench,
  chain: chainBench,
  wallet: walletBench,
  'wallet-size': () => walletSizeBench(sized),
  pages: pagesBench,
  index: chainIndexBench,
  'catch-up': () => catchUpBench(sized),
  'archive-size': () => archiveSizeBench(sized),
};
/** Those with a short form. */
const SHORT = ['signatures', 'api'];

const unknown = names.filter((name) => !(name in BENCHES));
if (unknown.length > 0) {
  console.error(`no benchmark ${unknown.join(', ')}; there are ${Object.keys(BENCHES).join(', ')}`);
  process.exit(2);
}
const wanted = names.length > 0 ? names : short ? SHORT : Object.keys(BENCHES);
// Read first: it may be the file that this run writes.
const before = values.compare === undefined ? undefined : (JSON.parse(await readFile(values.compare, 'utf8')) as Run);
const machine = thisMachine();
const date = new Date().toISOString();
console.log(`${date}, ${describeMachine(machine)}`);
for (const [name, bench] of Object.entries(BENCHES)) if (wanted.includes(name)) await bench();

const run: Run = { date, machine, figures: printedFigures() };
await writeFile(values.json, `${JSON.stringify(run, null, 1)}\n`);
console.log(`\n${run.figures.length} figures written to ${values.json}`);
if (before !== undefined) printComparison(compareRuns(before, run), before);
process.exit(0);
