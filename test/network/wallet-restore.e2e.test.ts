/** A wallet is lost with its folder, and comes back from its words: the same addresses, the same funds, and it pays. */

import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { devAccounts } from '../../src/config/dev-accounts.js';
import { call, createNetwork, MAIN, type Network, type NodeProcess, until } from '../support/processes.js';

const PASSPHRASE = 'the passphrase of alice';
const PAYEE = devAccounts().accounts[0]?.address ?? '';

interface WalletInfo {
  readonly addresses: Readonly<Record<string, readonly unknown[]>>;
  readonly running_total_tokens: number;
  readonly available_total_tokens: number;
  readonly item_total: Readonly<Record<string, number>>;
}

let folder: string;
let secret: string;
let network: Network;
let storage: NodeProcess;
let mempool: NodeProcess;
let bank: NodeProcess;
let alice: NodeProcess;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tessera-restore-'));
  secret = join(folder, 'passphrase');
  await writeFile(secret, `${PASSPHRASE}\n`);
  network = await createNetwork();
  storage = await network.add('storage', 'storage');
  mempool = await network.add('mempool', 'mempool', { 'peers.storage': storage.peerAddress });
  const common = { 'peers.mempool': mempool.peerAddress };
  [, bank] = await Promise.all([
    network.add('miner', 'miner', { ...common, 'wallet.genesis_seed_index': 1 }),
    network.add('bank', 'user', { ...common, 'wallet.genesis_seed_index': 0 }),
  ]);
  alice = network.make('alice', 'user', { ...common, 'wallet.passphrase_file': secret });
}, 240_000);

afterAll(async () => {
  await network?.stopAll();
  await rm(folder, { recursive: true, force: true });
});

async function wallet(args: readonly string[], input = ''): Promise<{ code: number | null; out: string; err: string }> {
  const place = ['--data', alice.folder, '--config', 'config/dev.toml', '--role', 'user', '--passphrase-file', secret];
  const child = spawn(process.execPath, [MAIN, 'wallet', ...args, ...place], {
    env: { PATH: process.env.PATH ?? '' },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  child.stdin.end(input);
  const exit = new Promise<number | null>((resolve) => child.once('exit', resolve));
  const [out, err, code] = await Promise.all([text(child.stdout), text(child.stderr), exit]);
  return { code, out, err };
}

const info = async (node: NodeProcess): Promise<WalletInfo> => (await call(`${node.apiUrl}/v1/wallet`)) as WalletInfo;

async function pay(from: NodeProcess, address: string, amount: number, passphrase: string): Promise<void> {
  const order = { kind: 'address', address, amount, passphrase };
  const { tx_hash } = (await call(`${from.apiUrl}/v1/payments`, order)) as { tx_hash: string };
  await until('the payment in a block', async () => {
    const { transactions } = (await call(`${from.apiUrl}/v1/wallet/history`)) as {
      transactions: readonly { readonly tx_hash: string; readonly state: string }[];
    };
    return transactions.some((one) => one.tx_hash === tx_hash && one.state === 'confirmed') ? true : undefined;
  });
}

async function newAddress(): Promise<string> {
  return ((await call(`${alice.apiUrl}/v1/wallet/addresses`, {})) as { address: string }).address;
}

describe('a wallet whose folder is gone', { timeout: 600_000 }, () => {
  it('comes back from its words: the same addresses and funds, and it pays', async () => {
    const made = await wallet(['new', '--json']);
    expect([made.code, made.err]).toEqual([0, expect.any(String)]);
    const { words, address } = JSON.parse(made.out) as { words: readonly string[]; address: string };
    await alice.start();
    await until('the funds of the bank', async () =>
      (await info(bank)).available_total_tokens > 0 ? true : undefined,
    );
    for (const [to, amount] of [
      [address, 5_000_000],
      [await newAddress(), 3_000_000],
    ] as const) {
      await pay(bank, to, amount, '');
      await until('the payment to alice', async () =>
        (await info(alice)).addresses[to] === undefined ? undefined : true,
      );
    }
    for (const amount of [1_000_000, 300_000, 200_000]) await pay(alice, PAYEE, amount, PASSPHRASE);
    await call(`${alice.apiUrl}/v1/items`, { item_amount: 7, genesis_hash_spec: 'Create', metadata: null });
    const before = await until('the items in a block', async () => {
      const now = await info(alice);
      const isDone = Object.values(now.item_total)[0] === 7 && now.available_total_tokens === 6_500_000;
      return isDone ? now : undefined;
    });
    expect(await alice.stop()).toBe(0);
    await rm(alice.folder, { recursive: true });

    const from = ['--storage', storage.apiUrl, '--mempool', mempool.apiUrl];
    const restored = await wallet(['restore', '--json', '--words-file', '-', ...from], words.join(' '));
    expect([restored.code, restored.err]).toEqual([0, expect.any(String)]);
    expect(restored.err + restored.out).not.toContain(words.join(' '));
    expect(JSON.parse(restored.out)).toMatchObject({ tokens: before.running_total_tokens, items: before.item_total });

    await alice.start();
    const after = await until('the funds of alice', async () => {
      const now = await info(alice);
      return now.running_total_tokens === before.running_total_tokens ? now : undefined;
    });
    expect(Object.keys(after.addresses).sort()).toEqual(Object.keys(before.addresses).sort());
    expect(after.item_total).toEqual(before.item_total);
    await pay(alice, PAYEE, before.running_total_tokens, PASSPHRASE);
  });
});
