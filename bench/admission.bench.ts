/** Admission over HTTP, single posts and batches, beside the same app that only parses and the bare rate of verification. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tokenAsset } from '../src/chain/assets.js';
import { transactionToCreateJson } from '../src/chain/create-transaction.js';
import type { Transaction } from '../src/chain/types.js';
import { planValidation, runCheck, type ScriptCheck } from '../src/chain/validation.js';
import { Verifier } from '../src/ledger/verifier/verifier.js';
import { stringifyExact } from '../src/lib/json.js';
import { startServer } from './child.js';
import { load, once, requestBytes } from './load.js';
import { benchGenesis, benchPayments } from './payments.js';
import { printRow, printSection } from './report.js';

const SINGLES = 20_000;
const BATCHED = 30_000;
const WARM_UP = 2_000;
const BATCH = 100;
const CONNECTIONS = 128;
const VERIFY_THREADS = 1;

interface Posts {
  readonly warmUp: readonly Buffer[];
  readonly singles: readonly Buffer[];
  readonly batches: readonly Buffer[];
}

function postsTo(url: string, bodies: readonly string[]): Posts {
  const post = (transactions: readonly string[]): Buffer =>
    requestBytes(`${url}/v1/transactions`, 'POST', `{"transactions":[${transactions.join(',')}]}`);
  const batches: Buffer[] = [];
  const first = WARM_UP + SINGLES;
  for (let at = first; at < bodies.length; at += BATCH) batches.push(post(bodies.slice(at, at + BATCH)));
  return {
    warmUp: bodies.slice(0, WARM_UP).map((body) => post([body])),
    singles: bodies.slice(WARM_UP, first).map((body) => post([body])),
    batches,
  };
}

async function measure(url: string, bodies: readonly string[]) {
  const { warmUp, singles, batches } = postsTo(url, bodies);
  const run = async (requests: readonly Buffer[]) => {
    const result = await load({ url, connections: CONNECTIONS, next: once(requests) });
    const refused = [...result.statuses].filter(([status]) => status !== 201);
    if (refused.length > 0) throw new Error(`not all were admitted: ${JSON.stringify(refused)}`);
    return result;
  };
  await run(warmUp);
  const single = await run(singles);
  const batch = await run(batches);
  return { single, batch };
}

/** Verifications a second: on the calling thread, and with the mempool's workers fed in batches. */
async function verificationLimits(transactions: readonly Transaction[]) {
  const out = { value: tokenAsset(1_000n), locktime: 0n };
  const checks = transactions.flatMap((tx): readonly ScriptCheck[] => {
    const script = tx.inputs[0]?.script ?? [];
    const address = script[5]?.kind === 'bytes' ? script[5].text : '';
    return planValidation(tx, 0n, () => ({ ...out, scriptPublicKey: address })).checks;
  });
  const start = performance.now();
  for (const check of checks) if (!runCheck(check)) throw new Error('a signature does not verify');
  const inline = (1_000 * checks.length) / (performance.now() - start);
  const verifier = new Verifier({ threads: VERIFY_THREADS });
  await verifier.start();
  await Promise.all(checks.slice(0, 500).map((check) => verifier.verify([check])));
  const startWorkers = performance.now();
  await Promise.all(checks.map((check) => verifier.verify([check])));
  const workers = (1_000 * checks.length) / (performance.now() - startWorkers);
  await verifier.close();
  return { inline, workers };
}

export async function admissionBench(): Promise<void> {
  printSection(
    `Admission over HTTP (${CONNECTIONS} connections; load generator, server and worker share the processors)`,
  );
  const total = WARM_UP + SINGLES + BATCHED;
  const transactions = benchPayments(0, total);
  const bodies = transactions.map((tx) => stringifyExact(transactionToCreateJson(tx)));
  const limits = await verificationLimits(transactions.slice(0, 20_000));
  printRow({ name: 'verification, one thread', value: limits.inline, unit: 'tx/s' });
  printRow({ name: `verification, ${VERIFY_THREADS} worker and the main thread`, value: limits.workers, unit: 'tx/s' });

  const parser = await startServer('./admission-server.ts', ['parse']);
  const parsed = await measure(parser.url, bodies).finally(() => parser.stop());
  printRow({ name: 'single posts, parsed only', value: parsed.single.rate, unit: 'tx/s' });
  printRow({ name: `batches of ${BATCH}, parsed only`, value: parsed.batch.rate * BATCH, unit: 'tx/s' });

  const dir = await mkdtemp(join(tmpdir(), 'tessera-bench-'));
  try {
    await writeFile(join(dir, 'genesis.json'), benchGenesis(total));
    const node = await startServer('./admission-server.ts', ['node', dir, String(VERIFY_THREADS)]);
    const admitted = await measure(node.url, bodies).finally(() => node.stop());
    for (const [name, rate, result, against] of [
      ['single posts, admitted', admitted.single.rate, admitted.single, parsed.single.rate],
      [`batches of ${BATCH}, admitted`, admitted.batch.rate * BATCH, admitted.batch, parsed.batch.rate * BATCH],
    ] as const) {
      const note = `p50 ${result.p50.toFixed(1)} ms, p99 ${result.p99.toFixed(1)} ms`;
      printRow({ name, value: rate, unit: 'tx/s', against: ['parsed only', against], note });
      printRow({ name: '', value: rate, unit: 'tx/s', against: ['one thread of verification', limits.inline] });
    }
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}
