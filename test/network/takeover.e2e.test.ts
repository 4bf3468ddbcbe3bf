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
import { type JsonValue, parseExactJson, stringifyExact } from '../../src/lib/json.js';
import { FIXTURES, realChain } from '../support/original-chain.js';
import { originalNode } from '../support/original-node.js';
import { call, createNetwork, MAIN, type Network, until, whenReady } from '../support/processes.js';

const AFTER = 100;
const PASSPHRASE = 'a wallet of the new node';
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

async function tessera(...args: readonly string[]): Promise<string> {
  return (await promisify(execFile)(process.execPath, [MAIN, ...args])).stdout;
}

/** The nodes of the new network, not started, and what commands about their folders are told. */
function nodes() {
  const rules = {
    'network.genesis_file': genesisFile,
    'mining.instant': false,
    'mining.block_interval_ms': 50,
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
async function goOn({ storage, rules }: ReturnType<typeof nodes>, height: number) {
  await storage.start();
  const mempool = await network.add('mempool', 'mempool', { ...rules, 'peers.storage': storage.peerAddress });
  const linked = { ...rules, 'peers.mempool': mempool.peerAddress };
  const [user, miner] = await Promise.all([network.add('user', 'user', linked), network.add('miner', 'miner', linked)]);
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

describe('a chain of original nodes', () => {
  it.each([
    ['one-miner', 42],
    ['two-mempool-nodes', 75],
  ] as const)(
    'is taken over with every balance, goes on for a hundred blocks, and its wallet pays: %s',
    async (name, at) => {
      await genesisOf(name);
      const balances = balancesOf(name);
      const { address_list } = balances as { address_list: Record<string, JsonValue> };
      const old = await originalNode('envelope', realChain(name));
      old.instead = mempoolOf(balances);
      const made = nodes();
      await tessera('import', '--from', old.url, ...made.aboutStorage);
      const key = join(folder, 'producer.key');
      // Of the network in config/dev.toml, whose public key its nodes know.
      writeFileSync(key, '57e55dc09d025ff479461f1be63feddd579d09a9ebaeb41396d729026dc2cded\n');
      const flags = [
        '--balances',
        old.url,
        '--producer-key',
        key,
        '--interval-ms',
        '50',
        ...made.aboutStorage,
        '--json',
      ];
      const report = JSON.parse(await tessera('takeover', '--at', String(at), ...flags));
      const compared = { compared_addresses: Object.keys(address_list).length, differences: [], interval_ms: 50 };
      expect(report).toMatchObject(compared);
      await tessera(
        'rebuild',
        ...made.about('mempool', join(made.storage.folder, '..', 'mempool')),
        '--archive',
        made.storage.folder,
      );

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
      await heightOf(made.storage.apiUrl, at + AFTER);
      const [payer = ''] = Object.keys(wallet.addresses);
      const others = Object.keys(address_list).filter((address) => address !== payer);
      const left = Object.fromEntries(others.map((address) => [address, address_list[address]]));
      expect(await ask(others)).toMatchObject({ content: { address_list: left } });
      await stop();
      expect(await tessera('verify', ...made.aboutStorage)).toContain('all valid');
    },
  );

  it('is taken over by a mempool node that fetches it from storage', async () => {
    await genesisOf('two-mempool-nodes');
    const made = nodes();
    await tessera('import', '--from', fixture('two-mempool-nodes', '.'), ...made.aboutStorage);
    const key = join(folder, 'producer.key');
    writeFileSync(key, '57e55dc09d025ff479461f1be63feddd579d09a9ebaeb41396d729026dc2cded\n');
    await tessera('takeover', '--at', '75', '--producer-key', key, ...made.aboutStorage);
    const { stop } = await goOn(made, 76);
    await stop();
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
    if (path === '/utxo_addresses') return stringifyExact({ content: Object.keys(address_list) });
    if (path !== '/fetch_balance') return undefined;
    const asked = parseExactJson(body) as string[];
    const listed = asked.flatMap((address) => (address_list[address] ? [[address, address_list[address]]] : []));
    return stringifyExact({ status: 'Success', content: { total: {}, address_list: Object.fromEntries(listed) } });
  };
}
