/**
 * A network of original nodes moves in (docs/moving-in.md): its chain is imported and taken over, goes on with nodes of ours, each a process
 * of its own, and its wallet pays. What everybody has is what the old mempool node said.
 */

import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { addressOf } from '../../src/chain/address.js';
import { encodeTransaction } from '../../src/chain/codec.js';
import { transactionHash } from '../../src/chain/hash.js';
import { runCli } from '../../src/cli/run.js';
import { encodePkcs8 } from '../../src/crypto/ed25519.js';
import { toHex } from '../../src/lib/bytes.js';
import { type JsonValue, parseExactJson, stringifyExact } from '../../src/lib/json.js';
import { createContext } from '../support/cli-context.js';
import { hasEtcd, journalIn, startEtcd } from '../support/etcd.js';
import { OWNER, oldBalancesOf } from '../support/moving-in.js';
import {
  createOriginalChain,
  FIXTURES,
  originalGenesis,
  originalGenesisFile,
  payment,
  realChain,
} from '../support/original-chain.js';
import { originalNode } from '../support/original-node.js';
import { poolFolder } from '../support/original-pool.js';
import { call, createNetwork, type Network, type NodeOptions, until, whenReady } from '../support/processes.js';

const PASSPHRASE = 'a wallet of the new node';
/** Blocks that nobody waits for cost four processes their time. */
const INTERVAL_MS = 300;
const fixture = (name: string, file: string): string => fileURLToPath(new URL(`${name}/${file}`, FIXTURES));

let network: Network;
let folder: string;
let genesisFile: string;

beforeEach(async () => {
  network = await createNetwork();
  folder = await mkdtemp(join(tmpdir(), 'tessera-takeover-'));
  genesisFile = join(folder, 'genesis.json');
  writeFileSync(join(folder, 'passphrase'), PASSPHRASE);
  onTestFinished(async () => {
    await network.stopAll();
    await rm(folder, { recursive: true, force: true });
  });
});

/** A command in this process: that of the built program is the same, and takes most of a second for its start. */
async function tessera(...args: readonly string[]): Promise<string> {
  const context = createContext();
  expect(await runCli(args, context), context.err()).toBe(0);
  return context.out();
}

/** The nodes of the new network, not started, and what commands about their folders are told. */
function nodes() {
  const rules = {
    'network.genesis_file': genesisFile,
    'mining.instant': false,
    'mining.block_interval_ms': INTERVAL_MS,
    'wallet.passphrase_file': join(folder, 'passphrase'),
  };
  const storage = network.make('storage', 'storage', rules);
  const sets = Object.entries(rules).flatMap(([name, value]) => ['--set', `${name}=${value}`]);
  const about = (role: string, data: string) => [
    '--role',
    role,
    '--config',
    'config/dev.toml',
    '--data',
    data,
    ...sets,
  ];
  return { storage, rules, about, aboutStorage: about('storage', storage.folder) };
}

async function genesisOf(name: string): Promise<void> {
  const files = ['settings.toml', 'issuance.json', 'genesis.json'].map((file) => fixture(name, file));
  await tessera('genesis', 'import', ...files, '--out', genesisFile);
}

/** Starts all; resolves when there are so many blocks. */
async function goOn({ storage, rules }: ReturnType<typeof nodes>, height: number, wallet: NodeOptions = {}) {
  await storage.start();
  const mempool = await network.add('mempool', 'mempool', { ...rules, 'peers.storage': storage.peerAddress });
  const linked = { ...rules, 'peers.mempool': mempool.peerAddress };
  const [user, miner] = await Promise.all([
    network.add('user', 'user', { ...linked, ...wallet }),
    network.add('miner', 'miner', linked),
  ]);
  await whenReady(mempool);
  await heightOf(storage.apiUrl, height);
  const stop = async () => void (await Promise.all([miner, user, mempool, storage].map((node) => node.stop())));
  return { mempool, user, stop };
}

const heightOf = (url: string, height: number) =>
  until(`block ${height}`, async () => {
    const { block } = (await call(`${url}/v1/blocks/latest`)) as { block: { block: { header: { b_num: number } } } };
    return block.block.header.b_num >= height || undefined;
  });

/** A key file of the network in config/dev.toml, whose public key its nodes know. */
function producerKey(): string {
  const key = join(folder, 'producer.key');
  writeFileSync(key, '57e55dc09d025ff479461f1be63feddd579d09a9ebaeb41396d729026dc2cded\n');
  return key;
}

describe('a chain of original nodes', () => {
  async function takenOver(name: 'one-miner' | 'two-mempool-nodes', at: number) {
    await genesisOf(name);
    const balances = balancesOf(name);
    const { address_list } = balances as { address_list: Record<string, JsonValue> };
    const old = await originalNode('envelope', realChain(name));
    old.instead = mempoolOf(balances);
    const made = nodes();
    await tessera('import', '--from', old.url, ...made.aboutStorage);
    const more = ['--producer-key', producerKey(), '--interval-ms', String(INTERVAL_MS)];
    const flags = ['--balances', old.url, ...more, ...made.aboutStorage, '--json'];
    const report = JSON.parse(await tessera('takeover', '--at', String(at), ...flags));
    const compared = {
      compared_addresses: Object.keys(address_list).length,
      differences: [],
      interval_ms: INTERVAL_MS,
    };
    expect(report).toMatchObject(compared);
    return { made, balances, address_list };
  }

  it('of two mempool nodes is taken over with every balance', async () => {
    const { made } = await takenOver('two-mempool-nodes', 75);
    expect(await tessera('verify', ...made.aboutStorage)).toContain('all valid');
  });

  it('is taken over with every balance, goes on with a rebuilt mempool node, and its wallet pays', async () => {
    const at = 42;
    const { made, balances, address_list } = await takenOver('one-miner', at);
    const data = join(made.storage.folder, '..', 'mempool');
    await tessera('rebuild', ...made.about('mempool', data), '--archive', made.storage.folder);
    const { mempool, user, stop } = await goOn(made, at - 1);
    const ask = (addresses: readonly string[]) => call(`${mempool.apiUrl}/fetch_balance`, addresses);
    expect(await ask(Object.keys(address_list))).toMatchObject({ content: balances });

    // Both networks began with its output.
    const wallet = JSON.parse(readFileSync(fixture('one-miner', 'wallet.json'), 'utf8'));
    await call(`${user.apiUrl}/v1/wallet/keypairs`, wallet);
    const to = 'ab'.repeat(32);
    const amount = 1_000_000;
    const payment = { kind: 'address', address: to, amount, passphrase: PASSPHRASE };
    await until('the coins of its keys', () => call(`${user.apiUrl}/v1/payments`, payment));
    await until('the payment', async () => {
      const { content } = (await ask([to])) as { content: { total: { tokens: number } } };
      return content.total.tokens === amount || undefined;
    });
    await heightOf(made.storage.apiUrl, at + 5);
    const [payer = ''] = Object.keys(wallet.addresses);
    const others = Object.keys(address_list).filter((address) => address !== payer);
    const left = Object.fromEntries(others.map((address) => [address, address_list[address]]));
    expect(await ask(others)).toMatchObject({ content: { address_list: left } });
    await stop();
    expect(await tessera('verify', ...made.aboutStorage)).toContain('all valid');
  });
});

describe('a network of original nodes that runs', () => {
  const BLOCKS = 20;
  const eras = [{ from: 0, made_by: 'original' }];
  let chain: ReturnType<typeof createOriginalChain>;
  const grow = () => chain.add(chain.blocks.length === 0 ? [] : [payment(chain.blocks.length)]);
  const asMempool = (path: string, body: string) => mempoolOf(oldBalancesOf(chain.blocks))(path, body);
  const balanceOf = async (url: string, address: string) => {
    const { content } = (await call(`${url}/fetch_balance`, [address])) as { content: { total: { tokens: number } } };
    return content.total.tokens;
  };

  beforeEach(() => {
    writeFileSync(genesisFile, stringifyExact(originalGenesisFile(eras)));
    chain = createOriginalChain(originalGenesis(eras));
    for (let n = 0; n < BLOCKS; n++) grow();
  });

  it('is imported and followed while it makes blocks, is taken over, and its wallet pays as before', async () => {
    const old = await originalNode('envelope', chain.answers());
    old.instead = asMempool;
    const made = nodes();
    const imported = JSON.parse(await tessera('import', '--from', old.url, ...made.aboutStorage, '--json'));
    expect(imported).toMatchObject({ blocks: BLOCKS, imported: BLOCKS, source: `${old.url} (envelope)` });
    const following = network.make('storage', 'storage', { ...made.rules, 'storage.follow': old.url });
    await following.start();
    const making = setInterval(() => {
      grow();
      old.chain = chain.answers();
    }, 100);
    await heightOf(following.apiUrl, 2 * BLOCKS).finally(() => clearInterval(making));
    const at = chain.blocks.length;
    await heightOf(following.apiUrl, at - 1);
    await following.stop();

    const flags = ['--balances', old.url, '--producer-key', producerKey(), ...made.aboutStorage, '--json'];
    const rehearsed = await tessera('takeover', '--at', String(at), ...flags, '--dry-run');
    expect(await tessera('takeover', '--at', String(at), ...flags)).toBe(rehearsed);
    expect(JSON.parse(rehearsed)).toMatchObject({ compared_addresses: 2, differences: [] });
    const { mempool, user, stop } = await goOn(made, at, { 'envelope.wallet_routes': true });
    const keys = { public_key: toHex(OWNER.publicKey), secret_key: toHex(encodePkcs8(OWNER)), address_version: null };
    const addresses = { [addressOf(OWNER.publicKey)]: keys };
    await until('the import of a key, with a link', () => call(`${user.apiUrl}/import_keypairs`, { addresses }));
    const to = 'ab'.repeat(32);
    await until('a payment', async () => {
      const body = { address: to, amount: 7, passphrase: PASSPHRASE };
      const { content } = (await call(`${user.apiUrl}/make_payment`, body)) as { content: { success: boolean } };
      return content.success || undefined;
    });
    await until('its block', async () => (await balanceOf(mempool.apiUrl, to)) === 7 || undefined);
    await heightOf(made.storage.apiUrl, at + 5);
    await stop();
    expect(await tessera('verify', ...made.aboutStorage)).toContain('all valid');
  });

  it.runIf(hasEtcd)('goes on with three mempool nodes, as the plan says', async () => {
    const olds = await Promise.all([1, 2, 3].map(() => originalNode('envelope', chain.answers())));
    const made = nodes();
    const at = String(chain.blocks.length);
    // Step 2.
    const [old] = olds;
    const { last_hash } = JSON.parse(await tessera('import', '--from', old?.url ?? '', ...made.aboutStorage, '--json'));
    for (const { url } of olds) {
      const { content } = (await call(`${url}/block_by_num`, [BLOCKS - 1])) as { content: [string][] };
      expect(content[0]?.[0]).toBe(last_hash);
    }
    // Step 3.
    const about = ['--at', at, '--producer-key', producerKey(), ...made.aboutStorage, '--json'];
    for (const one of olds) {
      one.instead = asMempool;
      await tessera('takeover', '--balances', one.url, '--dry-run', ...about);
    }
    await tessera('takeover', '--balances', old?.url ?? '', ...about);
    // Steps 4 and 5: each of them has what the others do not have, and what all have.
    const waiting = join(folder, 'waiting.json');
    const pools = [30, 31, 32].map((n) => {
      const held = [payment(n), payment(33)].map((tx) => [transactionHash(tx), encodeTransaction(tx)] as const);
      return ['--pool', poolFolder(join(folder, `pool${n}`), held)];
    });
    const listed = JSON.parse(await tessera('takeover', ...pools.flat(), '--waiting', waiting, ...about));
    expect(listed).toMatchObject({ waiting: { length: 4 }, refused: [] });
    // Steps 6 to 8.
    const etcd = await startEtcd();
    onTestFinished(async () => {
      await network.stopAll();
      await etcd.dispose();
    });
    expect(await tessera('verify', ...made.aboutStorage)).toContain('all valid');
    const sets = Object.entries(journalIn(etcd)).flatMap(([name, value]) => ['--set', `${name}=${value}`]);
    const names = ['mempool', 'second', 'third'];
    for (const name of names) {
      const data = join(made.storage.folder, '..', name);
      await tessera('rebuild', ...made.about('mempool', data), ...sets, '--archive', made.storage.folder);
    }
    await made.storage.start();
    const options = { ...made.rules, ...journalIn(etcd), 'peers.storage': made.storage.peerAddress };
    const mempools = names.map((name) => network.make(name, 'mempool', options));
    await Promise.all(mempools.map((one) => one.start()));
    const addresses = mempools.map(({ peerAddress }) => peerAddress);
    const copy = await network.add('copy', 'storage', { ...made.rules, 'peers.storage': made.storage.peerAddress });
    await network.add('miner', 'miner', { ...made.rules, 'peers.mempool': `${addresses}` });
    await heightOf(copy.apiUrl, BLOCKS);
    await Promise.all(mempools.map(whenReady));
    // Step 9, at another of them.
    const page = readFileSync(new URL('../../docs/moving-in.md', import.meta.url), 'utf8');
    const loop = /`(while read .*?done < waiting\.json)`/.exec(page)?.[1]?.replaceAll('\\|', '|') ?? '';
    const url = mempools[2]?.apiUrl ?? '';
    const { stdout } = await promisify(execFile)('sh', ['-c', loop.replace('URL', url)], { cwd: folder });
    expect(stdout).toContain(listed.waiting[0]);
    await until('their block', async () => {
      const asked = listed.waiting.map((hash: string) => `hash=${hash}`).join('&');
      const statuses = (await call(`${url}/v1/transactions/status?${asked}`)) as Record<string, { status: string }>;
      return Object.values(statuses).filter(({ status }) => status === 'Confirmed').length === 4 || undefined;
    });
    const of = addressOf(OWNER.publicKey);
    const [held, ...others] = await Promise.all(mempools.map(({ apiUrl }) => balanceOf(apiUrl, of)));
    expect(held).toBe(300_000);
    expect(others).toEqual([held, held]);
  });
});

/** What the old mempool node answered at the end; nobody asked that of two, whose chain spends nothing. */
function balancesOf(name: string): JsonValue {
  if (name === 'one-miner') return parseExactJson(readFileSync(fixture(name, 'balances.json')), { anyName: true });
  const address_list: Record<string, JsonValue[]> = {};
  for (const [t_hash, { inputs, outputs }] of JSON.parse(readFileSync(fixture(name, 'transactions.json'), 'utf8'))) {
    expect(inputs).toMatchObject([{ previous_out: null }]);
    for (const [n, { value, script_public_key }] of outputs.entries())
      address_list[script_public_key] = [
        ...(address_list[script_public_key] ?? []),
        { out_point: { t_hash, n }, value },
      ];
  }
  return { address_list };
}

/** Routes of the old mempool node. */
function mempoolOf(balances: JsonValue) {
  const { address_list } = balances as { address_list: Record<string, JsonValue> };
  return (path: string, body: string): string | undefined => {
    const listedOf = (asked: readonly string[]) =>
      Object.fromEntries(asked.flatMap((one) => (address_list[one] ? [[one, address_list[one]]] : [])));
    const envelope = (content: unknown) => stringifyExact({ status: 'Success', content });
    if (path === '/utxo_addresses') return envelope(Object.keys(address_list));
    if (path === '/fetch_balance')
      return envelope({ total: {}, address_list: listedOf(parseExactJson(body) as string[]) });
    if (path !== '/v1/balances/query') return undefined;
    const { addresses } = parseExactJson(body) as { addresses: string[] };
    return stringifyExact({ balance: { total: {}, address_list: listedOf(addresses) } });
  };
}
