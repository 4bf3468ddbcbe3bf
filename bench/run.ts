/**
 * `npm run bench`: runs the benchmarks, or those named, one after the other, prints figures and ratios, and writes them as JSON.
 * `--help` has the options (`arguments.ts`).
 */

import { readFile, writeFile } from 'node:fs/promises';
import { errorMessage } from '../src/lib/errors.js';
import { admissionBench } from './admission.bench.js';
import { apiBench } from './api.bench.js';
import { archiveSizeBench } from './archive-size.bench.js';
import { type BenchArguments, readArguments } from './arguments.js';
import { blockBench } from './block.bench.js';
import { catchUpBench } from './catch-up.bench.js';
import { chainBench } from './chain.bench.js';
import { chainIndexBench } from './chain-index.bench.js';
import { compareRuns, printComparison, type Run } from './compare.js';
import { confirmedBench } from './confirmed.bench.js';
import { costBench } from './cost.bench.js';
import { fairnessBench } from './fairness.bench.js';
import { forecastBench } from './forecast.bench.js';
import { importBench } from './import.bench.js';
import { largestBlockBench } from './largest-block.bench.js';
import { longChainBench } from './long-chain.bench.js';
import { describeMachine, thisMachine } from './machine.js';
import { messagesBench } from './messages.bench.js';
import { nonceBench } from './nonce.bench.js';
import { pagesBench } from './pages.bench.js';
import { readsBench } from './reads.bench.js';
import { replicasBench } from './replicas.bench.js';
import { printedFigures } from './report.js';
import { requestsBench } from './requests.bench.js';
import { signatureBench } from './signature.bench.js';
import { startBench } from './start.bench.js';
import { submissionBench } from './submission.bench.js';
import { utxoBench } from './utxo.bench.js';
import { walletBench } from './wallet.bench.js';
import { walletSizeBench } from './wallet-size.bench.js';

const BENCHES: Readonly<Record<string, (options: BenchArguments) => Promise<void>>> = {
  signatures: signatureBench,
  api: apiBench,
  admission: admissionBench,
  cost: costBench,
  confirmed: confirmedBench,
  replicas: replicasBench,
  requests: requestsBench,
  messages: messagesBench,
  block: blockBench,
  largest: largestBlockBench,
  submission: submissionBench,
  fairness: fairnessBench,
  forecast: forecastBench,
  utxo: utxoBench,
  start: startBench,
  nonce: nonceBench,
  chain: chainBench,
  wallet: walletBench,
  'wallet-size': walletSizeBench,
  pages: pagesBench,
  index: chainIndexBench,
  'catch-up': catchUpBench,
  'archive-size': archiveSizeBench,
  'long-chain': longChainBench,
  reads: readsBench,
  import: importBench,
};
const asked = readArguments(process.argv.slice(2), Object.keys(BENCHES));
if ('text' in asked) {
  (asked.status === 0 ? console.log : console.error)(asked.text);
  process.exit(asked.status);
}
// Read first: it may be the file that this run writes.
const before = asked.compare === undefined ? undefined : await readRun(asked.compare);
const machine = thisMachine();
const date = new Date().toISOString();
console.log(`${date}, ${describeMachine(machine)}`);
for (const [name, bench] of Object.entries(BENCHES)) if (asked.wanted.includes(name)) await bench(asked);

const run: Run = { date, machine, figures: printedFigures() };
await writeFile(asked.json, `${JSON.stringify(run, null, 1)}\n`);
console.log(`\n${run.figures.length} figures written to ${asked.json}`);
if (before !== undefined) printComparison(compareRuns(before, run), before);
process.exit(0);

async function readRun(file: string): Promise<Run> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as Run;
  } catch (error) {
    console.error(`The run to compare with cannot be read: ${errorMessage(error)}`);
    process.exit(2);
  }
}
