/** A wallet is lost with its folder, and comes back from its words: the same addresses, the same funds, and it pays. */

import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCli } from '../../src/cli/run.js';
import { devAccounts } from '../../src/config/dev-accounts.js';
import { createContext } from '../support/cli-context.js';
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
/** Another copy of alice's wallet. */
let twin: NodeProcess;

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
  const own = { ...common, 'peers.storage': storage.peerAddress, 'wallet.passphrase_file': secret };
  alice = network.make('alice', 'user', own);
  twin = network.make('twin', 'user', own);
});

afterAll(async () => {
  await network?.stopAll();
  await rm(folder, { recursive: true, force: true });
});

function wordsOf(args: readonly string[]): string[] {
  const place = ['--data', alice.folder, '--config', 'config/dev.toml', '--role', 'user'];
  const passphrase = args[0] === 'label' ? [] : ['--passphrase-file', secret];
  return ['wallet', ...args, ...place, ...passphrase];
}

/** A command in this process; only what is killed is one of its own. */
async function wallet(args: readonly string[], input = ''): Promise<{ code: number; out: string; err: string }> {
  const context = { ...createContext(), stdin: Readable.from([input]) };
  const code = await runCli(wordsOf(args), context);
  return { code, out: context.out(), err: context.err() };
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

/** Payments in, and as many out. RESTORE_PAYMENTS=250 is the long form. */
const PAYMENTS = Number(process.env.RESTORE_PAYMENTS ?? 20);

interface Movement {
  readonly tx_hash: string;
  readonly number: number;
  readonly seen_at: number;
  readonly peer: string | null;
  readonly label: string | null;
  readonly block_num: number | null;
}

async function movementsOf(node: NodeProcess): Promise<readonly Movement[]> {
  const { movements } = (await call(`${node.apiUrl}/v1/wallet/movements?limit=1000&order=oldest`)) as {
    readonly movements: readonly Movement[];
  };
  return movements;
}

/** What the chain gives back of a movement, whenever and by whom it was seen. */
function fromChain(movements: readonly Movement[]): readonly unknown[] {
  const known = movements.map(({ number: _number, seen_at: _seen, peer: _peer, label: _label, ...rest }) => rest);
  return known.sort((x, y) => (x.tx_hash < y.tx_hash ? -1 : 1));
}

/** Orders that need not wait for each other. */
async function payMany(from: NodeProcess, to: readonly string[], amount: number, passphrase: string): Promise<void> {
  for (const address of to) await call(`${from.apiUrl}/v1/payments`, { kind: 'address', address, amount, passphrase });
}

async function settled(node: NodeProcess, count: number): Promise<readonly Movement[]> {
  return until(`${count} movements in blocks`, async () => {
    const movements = await movementsOf(node);
    return movements.length === count && movements.every(({ block_num: at }) => at !== null) ? movements : undefined;
  });
}

const from = (): string[] => ['--storage', storage.apiUrl, '--mempool', mempool.apiUrl];

describe('a wallet whose folder is gone', { timeout: 900_000 }, () => {
  let words: readonly string[];

  it('comes back from its words: the same addresses, funds and history, and it pays', async () => {
    const made = await wallet(['new', '--json']);
    expect([made.code, made.err]).toEqual([0, expect.any(String)]);
    const { address, words: written } = JSON.parse(made.out) as { words: readonly string[]; address: string };
    words = written;
    await alice.start();
    await until('the funds of the bank', async () =>
      (await info(bank)).available_total_tokens > 0 ? true : undefined,
    );
    // Every other one is the same address: some are paid more than once.
    const receivers = [address];
    while (receivers.length < PAYMENTS) receivers.push(receivers.length % 2 === 0 ? address : await newAddress());
    await payMany(bank, receivers, 1_000_000, '');
    await settled(alice, PAYMENTS);
    await payMany(alice, Array(PAYMENTS).fill(PAYEE), 100_000, PASSPHRASE);
    await pay(alice, await newAddress(), 12_345, PASSPHRASE);
    await call(`${alice.apiUrl}/v1/items`, { item_amount: 7, genesis_hash_spec: 'Create', metadata: null });
    const history = await settled(alice, 2 * PAYMENTS + 2);
    const before = await info(alice);
    expect(before.running_total_tokens).toBe(PAYMENTS * 900_000);
    expect(await alice.stop()).toBe(0);
    await rm(alice.folder, { recursive: true });

    const restored = await wallet(['restore', '--json', '--words-file', '-', ...from()], words.join(' '));
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
    expect(fromChain(await movementsOf(alice))).toEqual(fromChain(history));
    await pay(alice, PAYEE, 100_000, PASSPHRASE);
  });

  it('comes back from its backup file with its labels, also when the restore is killed in the middle', async () => {
    const node = ['--url', alice.apiUrl];
    expect(await wallet(['label', PAYEE, 'the payee', ...node])).toMatchObject({ code: 0, err: '' });
    const file = join(folder, 'wallet.backup');
    const written = await wallet(['backup', file, ...node]);
    expect([written.code, written.err]).toEqual([0, expect.any(String)]);
    const [before, history] = [await info(alice), await movementsOf(alice)];
    expect(await alice.stop()).toBe(0);
    await rm(alice.folder, { recursive: true });

    // The keystore is the first thing that it writes.
    const args = ['restore', '--json', '--backup-file', file, ...from()];
    const child = spawn(process.execPath, [MAIN, ...wordsOf(args)], { stdio: 'ignore' });
    await until('a keystore', async () =>
      existsSync(join(alice.folder, 'keystore.json')) || child.exitCode !== null ? true : undefined,
    );
    child.kill('SIGKILL');
    await new Promise<void>((resolve) =>
      (child.exitCode ?? child.signalCode) !== null ? resolve() : child.once('exit', () => resolve()),
    );
    const restored = await wallet(args);
    expect([restored.code, restored.err]).toEqual([0, expect.any(String)]);
    await alice.start();
    await until('the funds of alice', async () =>
      (await info(alice)).running_total_tokens === before.running_total_tokens ? true : undefined,
    );
    expect(fromChain(await movementsOf(alice))).toEqual(fromChain(history));
    expect((await wallet(['label', ...node])).out).toContain('the payee');
    const swept = await wallet(['sweep', '--online', '--yes', '--json', ...node]);
    expect([swept.code, JSON.parse(swept.out)]).toEqual([0, { transactions: [], tokens: 0, tokens_left: 0 }]);
  });

  it('knows, after its node was off, what came and what another copy has paid as if it had been on', async () => {
    const page = await movementsOf(alice);
    expect(await alice.stop()).toBe(0);
    await cp(alice.folder, twin.folder, { recursive: true });
    await rm(join(twin.folder, 'node-key'));
    await twin.start();
    const { address } = (await call(`${twin.apiUrl}/v1/wallet/addresses`, {})) as { address: string };
    await payMany(twin, [PAYEE], 250_000, PASSPHRASE);
    await payMany(bank, [address, address], 500_000, '');
    const history = await settled(twin, page.length + 3);
    await alice.start();
    const learned = await settled(alice, page.length + 3);
    expect(fromChain(learned)).toEqual(fromChain(history));
    expect(learned.slice(0, page.length)).toEqual(page);
    expect((await info(alice)).running_total_tokens).toBe((await info(twin)).running_total_tokens);
  });
});
