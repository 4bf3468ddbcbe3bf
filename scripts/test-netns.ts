/**
 * `npm run test:netns`: four nodes, each in a network namespace of its own, on lines with 100 ms delay each way and 2 %
 * loss; for 30 s in the middle no node reaches any other. Clients pay all the time. At the end every transaction that was
 * acknowledged must be in exactly one stored block, and the coins must add up (rules P1, P4, P7).
 *
 * Needs Linux, root, iproute2, nsenter, python3 and /dev/net/tun; says so and ends with 0 where one is missing. Nothing
 * leaves the namespaces, which have no way out.
 */

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { tokenAsset } from '../src/chain/assets.js';
import { assembleSigned, txOut, unsignedInput } from '../src/chain/builders.js';
import { transactionToCreateJson } from '../src/chain/create-transaction.js';
import { transactionHash } from '../src/chain/hash.js';
import { outPointKey } from '../src/chain/transaction.js';
import type { OutPoint, Transaction } from '../src/chain/types.js';
import { DEV_AMOUNT, DEV_GENESIS_TX, type DevAccount, devAccounts } from '../src/config/dev-accounts.js';
import { parseExactJson, stringifyExact } from '../src/lib/json.js';

const MAIN = fileURLToPath(new URL('../dist/main.js', import.meta.url));
const CONFIG = fileURLToPath(new URL('../config/dev.toml', import.meta.url));
const SWITCH = fileURLToPath(new URL('./netns/lossy-switch.py', import.meta.url));
const INSIDE = '--inside';

const DELAY_MS = 100;
const LOSS = 0.02;
const SEED = 20;
/** Milliseconds of the run: before the partition, in it, after it. */
const BEFORE_MS = 20_000;
const PARTITION_MS = 30_000;
const AFTER_MS = 25_000;
/** Milliseconds between two transactions that go straight to the mempool node, and between two payments of the user node. */
const SUBMIT_EVERY_MS = 40;
const PAY_EVERY_MS = 1_000;
/** Raw units of one payment of the user node. */
const PAYMENT = 1_000;
/** Number of outputs that each account is split into. */
const SPLIT = 190;
/** Time limit for waiting, in ms. */
const PATIENCE_MS = 180_000;
const CALL_TIMEOUT_MS = 20_000;

const ROLES = ['mempool', 'storage', 'miner', 'user'] as const;
type Role = (typeof ROLES)[number];
type Place = Role | 'client';
const PLACES: readonly Place[] = [...ROLES, 'client'];
const PEER_PORTS: Record<Role, number> = { mempool: 12300, storage: 12330, miner: 12340, user: 12360 };
const API_PORTS: Record<Role, number> = { mempool: 3003, storage: 3001, miner: 3004, user: 3000 };

const addressOfPlace = (place: Place): string => `10.77.0.${PLACES.indexOf(place) + 1}`;
const say = (text: string): void => void process.stdout.write(`${text}\n`);
const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

function check(what: string, holds: boolean, detail = ''): void {
  if (!holds) throw new Error(`not so: ${what}${detail === '' ? '' : ` (${detail})`}`);
  say(`  ok: ${what}${detail === '' ? '' : ` (${detail})`}`);
}

function must(program: string, ...args: string[]): void {
  const { status, stderr } = spawnSync(program, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${program} ${args.join(' ')}: ${stderr}`);
}

/** What this test needs and the machine lacks; undefined when it has everything. */
function missing(): string | undefined {
  if (process.platform !== 'linux') return 'Linux';
  if (process.getuid?.() !== 0) return 'root';
  if (!existsSync('/dev/net/tun')) return '/dev/net/tun';
  for (const [program, flag] of [
    ['ip', '-V'],
    ['nsenter', '-V'],
    ['python3', '-V'],
  ] as const) {
    if (spawnSync(program, [flag]).status !== 0) return program;
  }
  const probe = `tessera-${process.pid}-probe`;
  if (spawnSync('ip', ['netns', 'add', probe]).status !== 0) return 'the right to make network namespaces';
  must('ip', 'netns', 'del', probe);
  return undefined;
}

/** The outer process: makes the namespaces, the switch and the inner process, and removes everything at the end. */
async function outside(): Promise<number> {
  const lack = missing();
  if (lack !== undefined) {
    say(`test:netns skipped: it needs ${lack}`);
    return 0;
  }
  const prefix = `tessera-${process.pid}-`;
  const made: string[] = [];
  try {
    for (const place of PLACES) {
      must('ip', 'netns', 'add', prefix + place);
      made.push(prefix + place);
      must('ip', '-n', prefix + place, 'link', 'set', 'lo', 'up');
    }
    const args = [...process.execArgv, fileURLToPath(import.meta.url), INSIDE, prefix];
    const child = spawn('nsenter', [`--net=/var/run/netns/${prefix}client`, process.execPath, ...args], {
      stdio: 'inherit',
    });
    // A signal to this process ends the inner one, which stops its nodes; the namespaces are removed after it.
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal));
    return await new Promise<number>((resolve) => child.once('exit', (code) => resolve(code ?? 1)));
  } finally {
    for (const name of made) spawnSync('ip', ['netns', 'del', name]);
  }
}

interface Switch {
  command(line: 'partition' | 'heal' | 'figures'): Promise<string>;
  end(): void;
}

async function startSwitch(prefix: string): Promise<Switch> {
  const ends = PLACES.map((place) => `${place === 'client' ? '+' : ''}${prefix}${place}=${addressOfPlace(place)}`);
  const child = spawn('python3', [SWITCH, String(DELAY_MS), String(LOSS), String(SEED), ...ends], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  await lines.next();
  for (const place of PLACES) {
    must('ip', '-n', prefix + place, 'addr', 'add', `${addressOfPlace(place)}/24`, 'dev', 't0');
    must('ip', '-n', prefix + place, 'link', 'set', 't0', 'up');
  }
  return {
    async command(line) {
      child.stdin.write(`${line}\n`);
      return String((await lines.next()).value);
    },
    end: () => child.stdin.end(),
  };
}

interface NodeInside {
  readonly role: Role;
  readonly dataDir: string;
  stop(): Promise<number | null>;
  log(): string;
}

function startNode(prefix: string, root: string, role: Role, options: Readonly<Record<string, string>>): NodeInside {
  const dataDir = join(root, role);
  const all = {
    'node.data_dir': dataDir,
    'network.secret_file': join(root, 'secret'),
    'api.auth': 'keys',
    'api.host': addressOfPlace(role),
    'peers.host': addressOfPlace(role),
    // Short enough that a dead link is noticed, closed and opened again within the partition.
    'peers.heartbeat_ms': '5000',
    'log.level': 'info',
    'log.format': 'json',
    ...options,
  };
  const sets = Object.entries(all).flatMap(([name, value]) => ['--set', `${name}=${value}`]);
  const child: ChildProcess = spawn(
    'nsenter',
    [`--net=/var/run/netns/${prefix}${role}`, process.execPath, MAIN, '--role', role, '--config', CONFIG, ...sets],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  const lines: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    if (stream === null) continue;
    createInterface({ input: stream }).on('line', (line) => {
      if (!line.includes('"msg":"request"')) lines.push(line);
      if (lines.length > 200) lines.shift();
    });
  }
  return {
    role,
    dataDir,
    log: () => lines.slice(-15).join('\n'),
    async stop() {
      if (child.exitCode !== null) return child.exitCode;
      const gone = new Promise<number | null>((resolve) => child.once('exit', resolve));
      child.kill('SIGTERM');
      return gone;
    },
  };
}

/** The parsed body of a 2xx; otherwise an error. */
async function call(role: Role, path: string, body?: unknown, key = ''): Promise<unknown> {
  const response = await fetch(`http://${addressOfPlace(role)}:${API_PORTS[role]}${path}`, {
    signal: AbortSignal.timeout(CALL_TIMEOUT_MS),
    headers: { 'x-api-key': key, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    ...(body === undefined ? {} : { method: 'POST', body: stringifyExact(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`);
  return parseExactJson(text);
}

async function until<T>(what: string, look: () => Promise<T | undefined>, every = 250): Promise<T> {
  const end = Date.now() + PATIENCE_MS;
  let last: unknown;
  while (Date.now() < end) {
    try {
      const found = await look();
      if (found !== undefined) return found;
    } catch (error) {
      last = error;
    }
    await sleep(every);
  }
  throw new Error(`waited in vain for ${what}`, { cause: last });
}

const isReady = (role: Role): Promise<true> =>
  until(`${role} to be ready`, async () => {
    await call(role, '/readyz');
    return true as const;
  });

const submit = (txs: readonly Transaction[]): Promise<unknown> =>
  call('mempool', '/v1/transactions', { transactions: txs.map(transactionToCreateJson) });

/** How many of the hashes have which status. */
async function statusesOf(hashes: readonly string[]): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  for (let at = 0; at < hashes.length; at += 50) {
    const query = hashes.slice(at, at + 50).map((hash) => `hash=${hash}`);
    const found = (await call('mempool', `/v1/transactions/status?${query.join('&')}`)) as Record<
      string,
      { status: string }
    >;
    for (const { status } of Object.values(found)) counts.set(status, (counts.get(status) ?? 0) + 1);
  }
  return counts;
}

const allConfirmed = (hashes: readonly string[]): Promise<true> =>
  until(`${hashes.length} transactions to be confirmed`, async () =>
    (await statusesOf(hashes)).get('Confirmed') === hashes.length ? true : undefined,
  );

interface Blocks {
  readonly height: number;
  /** Hash of each transaction in a block → how often it is there. */
  readonly seen: ReadonlyMap<string, number>;
}

interface StoredBlock {
  readonly block: { readonly header: { readonly b_num: number }; readonly transactions: string[] };
}

const latestHeight = async (): Promise<number> => {
  const latest = (await call('storage', '/v1/blocks/latest')) as { readonly block: StoredBlock };
  return Number(latest.block.block.header.b_num);
};

async function storedBlocks(): Promise<Blocks> {
  const height = await latestHeight();
  const seen = new Map<string, number>();
  for (let num = 0; num <= height; num++) {
    const { data } = (await call('storage', `/v1/blocks/${num}`)) as { readonly data: StoredBlock };
    for (const hash of data.block.transactions) seen.set(hash, (seen.get(hash) ?? 0) + 1);
  }
  return { height, seen };
}

/** Raw units of all accounts together, waiting transactions included. */
async function held(accounts: readonly DevAccount[]): Promise<bigint> {
  const addresses = accounts.map(({ address }) => address);
  const { balance } = (await call('mempool', '/v1/balances/query', { addresses })) as {
    readonly balance: { readonly total: { readonly tokens: number | bigint } };
  };
  return BigInt(balance.total.tokens);
}

function split(account: DevAccount): Transaction {
  const share = account.outputAmount / BigInt(SPLIT);
  const last = account.outputAmount - share * BigInt(SPLIT - 1);
  const outputs = Array.from({ length: SPLIT }, (_, i) =>
    txOut(tokenAsset(i === SPLIT - 1 ? last : share), account.address),
  );
  return spend(account, { tHash: DEV_GENESIS_TX, n: account.outputs[0] ?? 0 }, outputs);
}

function spend(account: DevAccount, input: OutPoint, outputs: ReturnType<typeof txOut>[]): Transaction {
  return assembleSigned({ inputs: [unsignedInput(input)], outputs }, new Map([[outPointKey(input), account.keyPair]]));
}

type Phase = 'before' | 'partition' | 'after';

/** The answers that clients got, by phase. */
interface Tally {
  readonly acknowledged: string[];
  readonly counts: Record<Phase, { submitted: number; paid: number; refused: number }>;
  readonly refusals: Map<string, number>;
}

function refuse(tally: Tally, phase: Phase, error: unknown): void {
  tally.counts[phase].refused++;
  const text = error instanceof Error ? error.message : String(error);
  const reason = /"code":"(\w+)"/.exec(text)?.[1] ?? text.slice(0, 80);
  tally.refusals.set(reason, (tally.refusals.get(reason) ?? 0) + 1);
}

/** The inner process, in the namespace of the clients. */
async function inside(prefix: string): Promise<void> {
  const root = mkdtempSync(join(tmpdir(), 'tessera-netns-'));
  writeFileSync(join(root, 'secret'), 'a secret of four namespaces\n', { mode: 0o600 });
  const lines = await startSwitch(prefix);
  const nodes: NodeInside[] = [];
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => void Promise.all(nodes.map((node) => node.stop())).then(() => process.exit(1)));
  }
  const peer = (role: Role): string => `${addressOfPlace(role)}:${PEER_PORTS[role]}`;
  try {
    nodes.push(startNode(prefix, root, 'storage', {}));
    nodes.push(startNode(prefix, root, 'mempool', { 'peers.storage': peer('storage') }));
    for (const [role, seeds] of [
      ['miner', '1'],
      ['user', '0'],
    ] as const) {
      const options = { 'peers.mempool': peer('mempool'), 'wallet.genesis_seed_index': seeds };
      nodes.push(startNode(prefix, root, role, options));
    }
    for (const role of ROLES) await isReady(role);
    say(`four nodes in four namespaces, ${DELAY_MS} ms each way, ${LOSS * 100} % loss, seed ${SEED}`);
    await runLoad(lines, readFileSync(join(root, 'user', 'api-key'), 'utf8').trim());
    for (const node of nodes) check(`${node.role} stops with status 0`, (await node.stop()) === 0);
  } catch (error) {
    for (const node of nodes) say(`--- ${node.role}\n${node.log()}`);
    throw error;
  } finally {
    await Promise.all(nodes.map((node) => node.stop()));
    lines.end();
    rmSync(root, { recursive: true, force: true });
  }
}

async function runLoad(lines: Switch, userKey: string): Promise<void> {
  const { accounts } = devAccounts();
  const splits = accounts.map(split);
  await submit(splits);
  await allConfirmed(splits.map(transactionHash));
  const spends = splits.flatMap((parent, i) => {
    const [account, to] = [accounts[i], accounts[(i + 1) % accounts.length]];
    if (account === undefined || to === undefined) return [];
    const tHash = transactionHash(parent);
    return parent.outputs.map(({ value }, n) =>
      spend(account, { tHash, n }, [txOut(tokenAsset(value.amount), to.address)]),
    );
  });

  let phase: Phase = 'before';
  let isOver = false;
  const tally: Tally = {
    acknowledged: [],
    counts: {
      before: { submitted: 0, paid: 0, refused: 0 },
      partition: { submitted: 0, paid: 0, refused: 0 },
      after: { submitted: 0, paid: 0, refused: 0 },
    },
    refusals: new Map(),
  };
  const pending: Promise<void>[] = [];
  const submitOne = async (tx: Transaction): Promise<void> => {
    const during = phase;
    try {
      await submit([tx]);
      tally.acknowledged.push(transactionHash(tx));
      tally.counts[during].submitted++;
    } catch (error) {
      refuse(tally, during, error);
    }
  };
  const payOne = async (): Promise<void> => {
    const during = phase;
    const payment = { kind: 'address', address: accounts[0]?.address, amount: PAYMENT, passphrase: '' };
    try {
      const { tx_hash } = (await call('user', '/v1/payments', payment, userKey)) as { tx_hash: string };
      tally.acknowledged.push(tx_hash);
      tally.counts[during].paid++;
    } catch (error) {
      refuse(tally, during, error);
    }
  };
  const every = async (ms: number, next: () => Promise<void> | undefined): Promise<void> => {
    while (!isOver) {
      const started = next();
      if (started === undefined) return;
      pending.push(started);
      await sleep(ms);
    }
  };
  const loops = [
    every(SUBMIT_EVERY_MS, () => {
      const tx = spends.pop();
      return tx === undefined ? undefined : submitOne(tx);
    }),
    every(PAY_EVERY_MS, payOne),
  ];

  await sleep(BEFORE_MS);
  const heightBefore = await latestHeight();
  phase = 'partition';
  say(`block ${heightBefore}: every node alone for ${PARTITION_MS / 1_000} s`);
  await lines.command('partition');
  await sleep(PARTITION_MS);
  const heightCut = await latestHeight();
  const reasons = (await fetch(`http://${addressOfPlace('mempool')}:${API_PORTS.mempool}/readyz`)).status;
  check('no block was stored without the network', heightCut - heightBefore <= 1, `block ${heightCut}`);
  check('the mempool node says that it is not ready', reasons === 503, `/readyz ${reasons}`);
  await lines.command('heal');
  phase = 'after';
  const healed = Date.now();
  const recovered = await until('a block after the partition', async () =>
    (await latestHeight()) > heightCut ? Date.now() - healed : undefined,
  );
  say(`healed: the next block was stored after ${(recovered / 1_000).toFixed(1)} s`);
  await sleep(Math.max(0, AFTER_MS - recovered));
  isOver = true;
  const ended = Date.now();
  await Promise.all(loops);
  await Promise.all(pending);

  for (const [name, { submitted, paid, refused }] of Object.entries(tally.counts)) {
    say(`  ${name}: acknowledged ${submitted} by the mempool node, ${paid} by the user node; refused ${refused}`);
  }
  for (const [reason, count] of tally.refusals) say(`  refused ${count} times: ${reason}`);
  check('transactions were acknowledged during the partition', tally.counts.partition.submitted > 0);
  const { acknowledged } = tally;
  check('no transaction was acknowledged twice', new Set(acknowledged).size === acknowledged.length);
  await allConfirmed(acknowledged);
  check(
    'every acknowledged transaction is confirmed',
    true,
    `${acknowledged.length}, the last ${((Date.now() - ended) / 1_000).toFixed(1)} s after the last was sent`,
  );
  const { height, seen } = await storedBlocks();
  const once = acknowledged.filter((hash) => seen.get(hash) === 1).length;
  check('and is in exactly one stored block', once === acknowledged.length, `${once} in ${height + 1} blocks`);
  const paid = Object.values(tally.counts).reduce((sum, counts) => sum + counts.paid, 0);
  const expected = BigInt(accounts.length) * DEV_AMOUNT + BigInt(paid * PAYMENT);
  check(
    'the accounts hold what they had and were paid, to the unit',
    (await held(accounts)) === expected,
    `${expected}`,
  );
  say(`  packets between nodes: ${await lines.command('figures')}`);
}

const [, , mode, prefix = ''] = process.argv;
try {
  if (mode === INSIDE) await inside(prefix);
  else process.exitCode = await outside();
  if (mode === INSIDE) say('test:netns passed');
} catch (error) {
  for (let next = error; next instanceof Error; next = next.cause) say(`test:netns failed: ${next.message}`);
  // Clients may still be at work; nothing that they find can matter now.
  process.exit(1);
}
