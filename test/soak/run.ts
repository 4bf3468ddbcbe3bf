/**
 * `npm run test:soak -- --minutes N`: four nodes as four processes on disk, under a steady load, with their memory, open
 * files and disk noted every minute. At the end: how fast each figure grows after the warm-up, whether everything
 * acknowledged is in exactly one block, and whether the coins add up (rules P1, P4). `--suspend` also stops one node after
 * the other for a while, as a machine does that sleeps.
 */

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { transactionToCreateJson } from '../../src/chain/create-transaction.js';
import { NodeClient } from '../../src/client/client.js';
import { devAccounts } from '../../src/config/dev-accounts.js';
import { createNetwork, type Network, type NodeProcess, type Nodes, until } from '../support/processes.js';
import { inspectorOf } from './inspector.js';
import { heldBy, Ledger } from './ledger.js';
import { MEASURES, Sampler, type SoakedNode, sampleHeader, sampleLine } from './sampler.js';
import { Load, lanesOf, SigningWriter, splitFor, WalletWriter } from './writers.js';

const HELP = `npm run test:soak -- [options]
  --minutes N           how long the load runs (10)
  --warm-up N           minutes before growth counts (a third of the run)
  --rate N              transactions a second (20)
  --block-interval MS   0 makes a block as soon as there is a transaction (1000)
  --suspend             SIGSTOP for each node in turn, all the time
  --suspend-roles LIST  which ones, separated by commas (mempool,storage,miner,user)
  --suspend-seconds N   how long one is stopped (45)
  --awake-seconds N     how long all run between two stops (20)
  --no-collect          leave garbage collection to V8: shows the memory of everyday life, without a look at what is alive
  --node-option TEXT    argument of Node.js for the nodes, such as --max-old-space-size=64; may be repeated
  --set NAME=VALUE      option of every node; may be repeated
  --program FILE        the built program (dist/main.js)
  --json FILE           writes all samples
  --snapshots FOLDER    writes heap snapshots after the warm-up and at the end; a process keeps the memory that one takes
  --logs FOLDER         writes the nodes' logs`;

/** Bytes; so small that the cache is full after the warm-up, and what it takes then does not look like growth. */
const STORAGE_CACHE_BYTES = 2 * 1024 * 1024;
/** Milliseconds that the nodes have after the load to confirm what they have acknowledged. */
const PATIENCE_MS = 180_000;
const CALL_TIMEOUT_MS = 20_000;
/** Coins of the signing client from each account, and coins that each wallet gets from one account. */
const LANES_PER_ACCOUNT = 100;
const WALLET_COINS = 100;
/**
 * MiB a minute after the warm-up. The state itself grows: each payment of a wallet makes an address, each block an entry.
 */
const MAX_LIVE_GROWTH = 1;
const MAX_ANONYMOUS_GROWTH = 2;
/** Open files a minute; connections come and go with the clients and are left out. */
const MAX_FILE_GROWTH = 1;

const { values: options } = parseArgs({
  options: {
    help: { type: 'boolean', default: false },
    minutes: { type: 'string', default: '10' },
    'warm-up': { type: 'string' },
    rate: { type: 'string', default: '20' },
    'block-interval': { type: 'string', default: '1000' },
    suspend: { type: 'boolean', default: false },
    'suspend-roles': { type: 'string', default: 'mempool,storage,miner,user' },
    'suspend-seconds': { type: 'string', default: '45' },
    'awake-seconds': { type: 'string', default: '20' },
    'no-collect': { type: 'boolean', default: false },
    'node-option': { type: 'string', multiple: true, default: [] },
    set: { type: 'string', multiple: true, default: [] },
    program: { type: 'string' },
    json: { type: 'string' },
    snapshots: { type: 'string' },
    logs: { type: 'string' },
  },
});

const say = (text: string): void => void process.stdout.write(`${text}\n`);
const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

interface Check {
  readonly what: string;
  readonly holds: boolean;
  readonly detail: string;
}

async function startNodes(network: Network): Promise<Nodes> {
  const interval = Number(options['block-interval']);
  const sets = Object.fromEntries(options.set.map((text) => text.split(/=(.*)/s).slice(0, 2)));
  const mining = { 'mining.instant': interval === 0, 'mining.block_interval_ms': interval };
  const storage = { 'storage.cache_bytes': STORAGE_CACHE_BYTES, ...sets };
  return network.addAll(sets, { storage, mempool: mining });
}

async function inspect(node: NodeProcess): Promise<SoakedNode> {
  return { process: node, inspector: await inspectorOf(node) };
}

const clientOf = ({ apiUrl }: NodeProcess): NodeClient => new NodeClient({ url: apiUrl, timeoutMs: CALL_TIMEOUT_MS });

/** Gives the wallets and the signing client coins enough, and makes the load. */
async function prepare(nodes: Nodes, ledger: Ledger): Promise<Load> {
  const [mempool, miner, user] = [clientOf(nodes.mempool), clientOf(nodes.miner), clientOf(nodes.user)];
  const { address: minersAddress } = await miner.api.createWalletAddress();
  const { address: usersAddress } = await user.api.createWalletAddress();
  const [giver, ...owners] = devAccounts().accounts;
  if (giver === undefined) throw new Error('no accounts');
  const forWallets = splitFor(giver, [minersAddress, usersAddress], WALLET_COINS);
  const splits = owners.map((owner) => ({ owner, split: splitFor(owner, [owner.address], LANES_PER_ACCOUNT) }));
  const transactions = [forWallets, ...splits.map(({ split }) => split)].map(transactionToCreateJson);
  const answer = await mempool.api.createTransactions({ body: { transactions } });
  for (const hash of Object.keys(answer.transactions ?? {})) ledger.acknowledge({ hash, by: 'client', at: 0 });
  const lost = await ledger.settled(mempool, PATIENCE_MS);
  if (lost.length > 0) throw new Error(`the coins of this run were not made: ${lost[0]?.info}`);
  const client = new SigningWriter(
    mempool,
    splits.flatMap(({ owner, split }) => lanesOf(owner, split)),
  );
  return new Load(ledger, [
    client,
    new WalletWriter('user', user, minersAddress),
    client,
    new WalletWriter('miner', miner, usersAddress),
  ]);
}

/** Stops one node after the other until `over` says so. */
async function suspendInTurn(nodes: Nodes, over: AbortSignal): Promise<void> {
  const pause = async (ms: number): Promise<void> => {
    const until = performance.now() + ms;
    while (performance.now() < until && !over.aborted) await sleep(100);
  };
  const roles = options['suspend-roles'].split(',');
  const order = roles.flatMap((role) => Object.values(nodes).filter((node: NodeProcess) => node.role === role));
  for (let turn = 0; !over.aborted; turn++) {
    await pause(Number(options['awake-seconds']) * 1_000);
    const victim = order[turn % order.length];
    if (victim === undefined || over.aborted) return;
    say(`${new Date().toISOString()} ${victim.role} stopped`);
    victim.suspend();
    try {
      await pause(Number(options['suspend-seconds']) * 1_000);
    } finally {
      victim.resume();
    }
    say(`${new Date().toISOString()} ${victim.role} goes on`);
  }
}

async function sampleEveryMinute(
  sampler: Sampler,
  nodes: readonly SoakedNode[],
  storage: NodeProcess,
  warmUp: number,
): Promise<void> {
  const minutes = Number(options.minutes);
  say(sampleHeader());
  const began = performance.now();
  for (let minute = 0; minute <= minutes; minute++) {
    await sleep(Math.max(0, began + minute * 60_000 - performance.now()));
    const { block: latest } = await clientOf(storage).api.getLatestBlock();
    const height = Number(latest.block.header.b_num);
    for (const sample of await sampler.sample(height, !options['no-collect'])) say(sampleLine(sample));
    if (options.snapshots !== undefined && (minute === Math.ceil(warmUp) || minute === minutes)) {
      await mkdir(options.snapshots, { recursive: true });
      for (const { process, inspector } of nodes) {
        await inspector.heapSnapshot(join(options.snapshots, `${process.role}-${minute}.heapsnapshot`));
      }
    }
  }
}

function growthChecks(sampler: Sampler, nodes: readonly SoakedNode[], from: number): Check[] {
  const bounds = {
    live: MAX_LIVE_GROWTH,
    // A snapshot in between would count as growth.
    anonymous: options.snapshots === undefined ? MAX_ANONYMOUS_GROWTH : Number.POSITIVE_INFINITY,
    files: MAX_FILE_GROWTH,
  };
  const measures = Object.keys(MEASURES) as (keyof typeof MEASURES)[];
  say(`\ngrowth a minute from minute ${from.toFixed(1)} on, in MiB (files: number)`);
  say(['node', ...measures].map((name) => name.padStart(13)).join(''));
  const checks: Check[] = [];
  for (const { process } of nodes) {
    const rates = measures.map((measure) => [measure, sampler.growth(process.role, measure, from)] as const);
    say([process.role, ...rates.map(([, rate]) => rate.toFixed(2))].map((text) => text.padStart(13)).join(''));
    for (const [measure, rate] of rates) {
      const bound = measure in bounds ? bounds[measure as keyof typeof bounds] : undefined;
      if (bound === undefined) continue;
      const what = `${process.role}: ${measure} grows by at most ${bound} a minute`;
      checks.push({ what, holds: rate <= bound, detail: rate.toFixed(2) });
    }
  }
  return checks;
}

async function promiseChecks(nodes: Nodes, ledger: Ledger): Promise<Check[]> {
  const [mempool, storage] = [clientOf(nodes.mempool), clientOf(nodes.storage)];
  const lost = await ledger.settled(mempool, PATIENCE_MS);
  for (const one of lost.slice(0, 20)) say(`not confirmed: ${JSON.stringify(one)}`);
  const { missing, repeated } = await ledger.againstBlocks(storage);
  const { held, issued } = await coins(nodes, mempool);
  return [
    { what: 'everything acknowledged is confirmed', holds: lost.length === 0, detail: `${lost.length} are not` },
    {
      what: 'everything acknowledged is in a block, and no transaction is in two',
      holds: missing.length + repeated.length === 0,
      detail: `${missing.length} missing, ${repeated.length} repeated`,
    },
    { what: 'all coins together are the supply', holds: held === issued, detail: `${held} of ${issued}` },
  ];
}

/** What all keys hold, and what was issued. Without storage the chain makes no more than the block that is under way. */
async function coins(nodes: Nodes, mempool: NodeClient): Promise<{ readonly held: bigint; readonly issued: bigint }> {
  await nodes.storage.stop();
  const issuedNow = async (): Promise<bigint> => BigInt((await mempool.api.getSupply()).issued);
  return until('a moment between two blocks', async () => {
    const issued = await issuedNow();
    const wallets = [nodes.user, nodes.miner].map(async (node) =>
      Object.keys((await clientOf(node).api.exportKeypairs()).addresses),
    );
    const accounts = devAccounts().accounts.map(({ address }) => address);
    const held = await heldBy(mempool, [...accounts, ...(await Promise.all(wallets)).flat()]);
    return issued === (await issuedNow()) ? { held, issued } : undefined;
  });
}

async function run(network: Network): Promise<readonly Check[]> {
  const nodes = await startNodes(network);
  const soaked = await Promise.all(Object.values(nodes).map((node: NodeProcess) => inspect(node)));
  const ledger = new Ledger();
  const load = await prepare(nodes, ledger);
  const sampler = new Sampler(soaked);
  const warmUp = Number(options['warm-up'] ?? Number(options.minutes) / 3);
  const over = new AbortController();
  try {
    load.start(Number(options.rate));
    const suspending = options.suspend ? suspendInTurn(nodes, over.signal) : Promise.resolve();
    await sampleEveryMinute(sampler, soaked, nodes.storage, warmUp);
    over.abort();
    await suspending;
    await load.stop();
    // A process that is being inspected does not end.
    for (const { inspector } of soaked) inspector.close();
    say(`\n${ledger.count} acknowledged, ${ledger.refused} not`);
    for (const [reason, count] of ledger.refusals) say(`  ${count} × ${reason}`);
    return [...growthChecks(sampler, soaked, warmUp), ...(await promiseChecks(nodes, ledger))];
  } finally {
    over.abort();
    if (options.json !== undefined) await writeFile(options.json, JSON.stringify(sampler.samples, null, 1));
    if (options.logs !== undefined) await writeLogs(options.logs, nodes);
    for (const { inspector } of soaked) inspector.close();
  }
}

async function writeLogs(folder: string, nodes: Nodes): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const node of Object.values(nodes) as NodeProcess[]) {
    await writeFile(join(folder, `${node.role}.log`), node.log());
  }
}

async function main(): Promise<void> {
  if (options.help) return say(HELP);
  const network = await createNetwork({
    ...(options.program === undefined ? {} : { program: options.program }),
    nodeArguments: ['--inspect=127.0.0.1:0', ...options['node-option']],
    logLines: options.logs === undefined ? 400 : 1_000_000,
  });
  try {
    const checks = await run(network);
    say('');
    for (const { what, holds, detail } of checks) say(`${holds ? 'ok    ' : 'FAILED'} ${what} (${detail})`);
    const failed = checks.filter(({ holds }) => !holds).length;
    say(`${checks.length - failed} passed, ${failed} failed`);
    process.exitCode = failed === 0 ? 0 : 1;
  } finally {
    await network.stopAll();
  }
}

await main();
