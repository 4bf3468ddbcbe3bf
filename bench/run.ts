/**
 * `npm run bench [-- NAME … [--against DIR]]`: runs the benchmarks, or those named, one after the other, and prints figures
 * and ratios. `--against`: a checkout whose API is measured beside this one.
 */

import { parseArgs } from 'node:util';
import { admissionBench } from './admission.bench.js';
import { apiBench } from './api.bench.js';
import { blockBench } from './block.bench.js';
import { chainBench } from './chain.bench.js';
import { chainIndexBench } from './chain-index.bench.js';
import { fairnessBench } from './fairness.bench.js';
import { largestBlockBench } from './largest-block.bench.js';
import { messagesBench } from './messages.bench.js';
import { nonceBench } from './nonce.bench.js';
import { pagesBench } from './pages.bench.js';
import { requestsBench } from './requests.bench.js';
import { signatureBench } from './signature.bench.js';
import { submissionBench } from './submission.bench.js';
import { utxoBench } from './utxo.bench.js';
import { walletBench } from './wallet.bench.js';

const { positionals: names, values } = parseArgs({
  allowPositionals: true,
  options: { against: { type: 'string' } },
});

const BENCHES: Readonly<Record<string, () => Promise<void>>> = {
  admission: admissionBench,
  api: () => apiBench(values.against),
  requests: requestsBench,
  messages: messagesBench,
  block: blockBench,
  largest: largestBlockBench,
  submission: submissionBench,
  fairness: fairnessBench,
  utxo: utxoBench,
  nonce: nonceBench,
  signatures: signatureBench,
  chain: chainBench,
  wallet: walletBench,
  pages: pagesBench,
  index: chainIndexBench,
};

const unknown = names.filter((name) => !(name in BENCHES));
if (unknown.length > 0) {
  console.error(`no benchmark ${unknown.join(', ')}; there are ${Object.keys(BENCHES).join(', ')}`);
  process.exit(2);
}
console.log(`node ${process.version}, ${new Date().toISOString()}`);
for (const [name, bench] of Object.entries(BENCHES)) if (names.length === 0 || names.includes(name)) await bench();
process.exit(0);
