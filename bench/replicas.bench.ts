/**
 * Admission with the journal in etcd beside one on the disk, in rounds that take turns, and what the same transactions cost a
 * second mempool node that reads them from etcd. One member of etcd, with syncs; it shares the processors with all others, as
 * it does not where it has a machine of its own.
 */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { transactionToCreateJson } from '../src/chain/create-transaction.js';
import { transactionHash } from '../src/chain/hash.js';
import { NodeClient } from '../src/client/client.js';
import { stringifyExact } from '../src/lib/json.js';
import { hasEtcd, startEtcd } from '../test/support/etcd.js';
import { until } from '../test/support/processes.js';
import { Contestant, type Slice } from './contest.js';
import { once, requestBytes } from './load.js';
import { benchGenesis, benchPayments, NO_BLOCKS } from './payments.js';
import { printMeasured, printSection } from './report.js';
import { interleave, measured, ratios, runsOf } from './rounds.js';

const ROUNDS = 8;
/** Transactions of a round, posted in batches of so many over so many connections. */
const POSTED = 3_000;
const BATCH = 100;
const CONNECTIONS = 32;
const THREADS = Math.max(1, availableParallelism() - 1);

/** What one round has cost. */
interface Cost extends Slice {
  /** µs of processor time of the node that only reads, for a batch; 0 where there is none. */
  readonly reading: number;
}

export async function replicasBench(): Promise<void> {
  if (!hasEtcd) {
    printSection('Admission with the journal in etcd: left out, etcd is not installed');
    return;
  }
  const transactions = benchPayments(0, runsOf(ROUNDS) * POSTED);
  const json = transactions.map((tx) => stringifyExact(transactionToCreateJson(tx)));
  const dir = await mkdtemp(join(tmpdir(), 'tessera-bench-'));
  const etcd = await startEtcd();
  const started: Contestant[] = [];
  const start = async (name: string, ...more: readonly string[]): Promise<Contestant> => {
    const contestant = await Contestant.start(name, 'admission-server.ts', [dir, String(THREADS), ...more]);
    started.push(contestant);
    await contestant.rest();
    return contestant;
  };
  try {
    await writeFile(join(dir, 'genesis.json'), benchGenesis(transactions.length, NO_BLOCKS));
    const local = await start('journal on the disk');
    const remote = await start('journal in etcd', etcd.endpoint, 'first');
    const follower = await start('a second node', etcd.endpoint, 'second');
    const round = async (contestant: Contestant, number: number): Promise<Cost> => {
      const [from, to] = [number * POSTED, (number + 1) * POSTED];
      const bodies = batchesOf(json.slice(from, to));
      const requests = bodies.map((body) => requestBytes(`${contestant.url}/v1/transactions`, 'POST', body));
      follower.startCounting();
      const slice = await contestant.slice(once(requests), CONNECTIONS, 201);
      if (contestant !== remote) return { ...slice, reading: 0 };
      await known(follower, transactions.slice(from, to).map(transactionHash));
      return { ...slice, reading: (await follower.counted()) / bodies.length };
    };
    const [onDisk = [], inEtcd = []] = await interleave([local, remote], ROUNDS, round);
    print(onDisk, inEtcd);
  } finally {
    for (const contestant of started) await contestant.end();
    await etcd.dispose();
    await rm(dir, { recursive: true, force: true });
  }
}

function batchesOf(json: readonly string[]): string[] {
  return Array.from(
    { length: json.length / BATCH },
    (_, i) => `{"transactions":[${json.slice(i * BATCH, (i + 1) * BATCH).join(',')}]}`,
  );
}

/** Resolves when the node has the last of each batch in its pool. It is asked for few: answers are counted with the rest. */
async function known({ url }: Contestant, hashes: readonly string[]): Promise<void> {
  const { api } = new NodeClient({ url });
  const last = hashes.filter((_, i) => (i + 1) % BATCH === 0);
  await until('the second node to have read them', async () => {
    const found = await api.queryTransactionStatus({ body: { hashes: last } });
    return Object.keys(found).length === last.length ? true : undefined;
  });
}

function print(onDisk: readonly Cost[], inEtcd: readonly Cost[]): void {
  const each = (costs: readonly Cost[], of: 'cpu' | 'reading'): number[] => costs.map((cost) => cost[of] / BATCH);
  const rates = (costs: readonly Cost[]): number[] => costs.map(({ rate }) => rate * BATCH);
  printSection(`Admission in batches of ${BATCH}, journal in etcd beside one on the disk (${CONNECTIONS} connections)`);
  printMeasured('journal on the disk', measured(rates(onDisk)), 'tx/s');
  const ofDisk = ['journal on the disk', ratios(rates(inEtcd), rates(onDisk))] as const;
  printMeasured('journal in etcd', measured(rates(inEtcd)), 'tx/s', { against: ofDisk });
  printSection('Processor time of all threads of a node for a transaction');
  printMeasured('journal on the disk', measured(each(onDisk, 'cpu')), 'us');
  const cpuOfDisk = ['journal on the disk', ratios(each(inEtcd, 'cpu'), each(onDisk, 'cpu'))] as const;
  printMeasured('journal in etcd', measured(each(inEtcd, 'cpu')), 'us', { against: cpuOfDisk });
  const ofVerifying = ['the node that verified it', ratios(each(inEtcd, 'reading'), each(inEtcd, 'cpu'))] as const;
  printMeasured('a second node, which reads it from etcd', measured(each(inEtcd, 'reading')), 'us', {
    against: ofVerifying,
  });
}
