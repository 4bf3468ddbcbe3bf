/**
 * Folders that are lost or put back from an older copy (docs/operations.md#lost-and-older-folders): mempool and storage
 * find each other's height again by themselves, no block changes, and what a wallet acknowledged arrives once.
 */

import { cp, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tokenAsset } from '../../src/chain/assets.js';
import { assembleSigned, txOut, unsignedInput } from '../../src/chain/builders.js';
import { transactionToCreateJson } from '../../src/chain/create-transaction.js';
import { outPointKey } from '../../src/chain/transaction.js';
import { runCli } from '../../src/cli/run.js';
import { DEV_GENESIS_TX, type DevAccount, devAccounts } from '../../src/config/dev-accounts.js';
import { loadConfig } from '../../src/config/load.js';
import { DataDir } from '../../src/db/data-dir.js';
import { stringifyExact } from '../../src/lib/json.js';
import { loadMempoolState } from '../../src/mempool/state/load.js';
import { readGenesis } from '../../src/node/genesis-file.js';
import { rebuildMempool } from '../../src/node/rebuild/rebuild-mempool.js';
import { stateRules } from '../../src/node/roles/mempool/options.js';
import { createContext } from '../support/cli-context.js';
import { call, createNetwork, type Network, type NodeProcess, until } from '../support/processes.js';

type Amount = number | bigint;
type Side = 'mempool' | 'storage';
interface Output {
  readonly value: { readonly Token: Amount };
}
interface Balance {
  readonly total: { readonly tokens: Amount };
  readonly address_list: Readonly<Record<string, readonly Output[]>>;
}

const RECEIVER = devAccounts().accounts[9]?.address ?? '';
const FIRST_AMOUNT = 1_000_000;

let network: Network;
let storage: NodeProcess;
let mempool: NodeProcess;
let miner: NodeProcess;
let user: NodeProcess;
/** Amounts that the wallet has acknowledged; each is paid once. */
const acknowledged: number[] = [];
/** Number of the last block in each copy. */
const heights = new Map<string, number>();

beforeAll(async () => {
  network = await createNetwork();
  ({ storage, mempool, miner, user } = await network.addAll({ 'peers.reconnect_max_ms': 200 }));
});

afterAll(() => network.stopAll());

async function pay(): Promise<void> {
  const amount = FIRST_AMOUNT + acknowledged.length;
  const response = await fetch(`${user.apiUrl}/v1/payments`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: stringifyExact({ kind: 'address', address: RECEIVER, amount, passphrase: '' }),
  });
  expect(response.status).toBe(202);
  acknowledged.push(amount);
}

/** Number of the last block; -1 before the first. */
async function height(): Promise<number> {
  const response = await fetch(`${storage.apiUrl}/v1/blocks/latest`);
  if (response.status === 404) return -1;
  const latest = (await response.json()) as { block: { block: { header: { b_num: number } } } };
  return latest.block.block.header.b_num;
}

async function balanceOf(addresses: readonly string[]): Promise<Balance> {
  return ((await call(`${mempool.apiUrl}/v1/balances/query`, { addresses })) as { balance: Balance }).balance;
}

/** Resolves when every acknowledged payment is at the receiver, in exactly one output. */
async function allArrivedOnce(): Promise<void> {
  await until(`${acknowledged.length} payments`, async () => {
    const outputs = (await balanceOf([RECEIVER])).address_list[RECEIVER] ?? [];
    const amounts = outputs.map(({ value }) => Number(value.Token)).filter((amount) => amount < 2 * FIRST_AMOUNT);
    if (amounts.length < acknowledged.length) return undefined;
    expect(amounts.sort((a, b) => a - b)).toEqual(acknowledged);
    return true;
  });
}

/** So many more blocks, each with a payment. */
async function grow(blocks: number): Promise<void> {
  for (const goal = (await height()) + blocks; (await height()) < goal; ) {
    const before = await height();
    await pay();
    await until('the next block', async () => ((await height()) > before ? true : undefined));
  }
  await allArrivedOnce();
}

const readyz = async (node: NodeProcess): Promise<string> => {
  const response = await fetch(`${node.apiUrl}/readyz`);
  return response.status === 200 ? '' : await response.text();
};

function allReady(): Promise<unknown> {
  return until('all nodes ready', async () => {
    for (const node of [storage, mempool, miner, user]) {
      const why = await readyz(node);
      if (why !== '') throw new Error(`${node.role}: ${why}`);
    }
    return true;
  });
}

async function blocks(): Promise<string[]> {
  const all: string[] = [];
  for (let num = 0; num <= (await height()); num++)
    all.push(await (await fetch(`${storage.apiUrl}/v1/blocks/${num}`)).text());
  return all;
}

/** Everything that exists belongs to somebody. */
async function supplyIsConserved(): Promise<void> {
  const wallets = await Promise.all(
    [user, miner].map(async (node) =>
      Object.keys(((await call(`${node.apiUrl}/v1/wallet/keypairs`)) as { addresses: object }).addresses),
    ),
  );
  const everyone = [...devAccounts().accounts.map(({ address }) => address), ...wallets.flat()];
  await until('a moment between two blocks', async () => {
    const before = (await call(`${mempool.apiUrl}/v1/supply`)) as { issued: Amount };
    const { total } = await balanceOf(everyone);
    const after = (await call(`${mempool.apiUrl}/v1/supply`)) as { issued: Amount };
    if (before.issued !== after.issued) return undefined;
    expect(BigInt(total.tokens)).toBe(BigInt(after.issued));
    return true;
  });
}

const node = (side: Side): NodeProcess => (side === 'mempool' ? mempool : storage);
const copyOf = (side: Side, name: string): string => `${node(side).folder}-${name}`;

async function stopBoth(): Promise<void> {
  await Promise.all([mempool.stop(), storage.stop()]);
}

async function startBoth(): Promise<void> {
  await Promise.all([storage.start(), mempool.start()]);
}

/** Copies of both folders as they are now. */
async function copyBoth(name: string): Promise<void> {
  heights.set(name, await height());
  await stopBoth();
  for (const side of ['mempool', 'storage'] as const) {
    await rm(copyOf(side, name), { recursive: true, force: true });
    await cp(node(side).folder, copyOf(side, name), { recursive: true });
  }
  await startBoth();
}

/** Puts a copy in the place of a stopped node's folder. */
async function restore(side: Side, name: string): Promise<void> {
  await rm(node(side).folder, { recursive: true });
  await cp(copyOf(side, name), node(side).folder, { recursive: true });
}

/** The network goes on: payments pass, old ones are there once, and no block has changed. */
async function goesOn(known: readonly string[]): Promise<void> {
  await allReady();
  await pay();
  await pay();
  await allArrivedOnce();
  await allReady();
  expect((await blocks()).slice(0, known.length)).toEqual(known);
  await supplyIsConserved();
}

/** `tessera rebuild` on a stopped node; what it says. */
async function rebuild(of: NodeProcess, ...more: readonly string[]): Promise<string> {
  const flags = ['--role', of.role, '--config', 'config/dev.toml', '--data', of.folder, ...more];
  const context = createContext();
  expect(await runCli(['rebuild', ...flags], context), context.err()).toBe(0);
  return context.out();
}

/** The same in this process, which gives up after so many blocks. */
async function interruptedRebuild(blocksDone: number): Promise<unknown> {
  const flags = [{ option: 'node.data_dir', value: mempool.folder, flag: '--data' }];
  const { config } = loadConfig({ role: 'mempool', file: 'config/dev.toml', env: {}, flags });
  const interrupt = new AbortController();
  return rebuildMempool({
    config,
    genesis: await readGenesis(config.network.genesisFile),
    archive: storage.folder,
    signal: interrupt.signal,
    onProgress: (done) => {
      if (done === blocksDone) interrupt.abort();
    },
  });
}

/** The digest of the state in the folder of a stopped mempool node. */
async function digestOf(folder: string): Promise<string> {
  const { config } = loadConfig({ role: 'mempool', file: 'config/dev.toml', env: {}, flags: [] });
  const directory = await DataDir.open(folder, { role: 'mempool', networkName: config.network.name });
  try {
    const rules = stateRules(await readGenesis(config.network.genesisFile), config);
    const state = await loadMempoolState(await directory.open('mempool'), rules, { hashKey: new Uint8Array(8) });
    return state.digest();
  } finally {
    await directory.close();
  }
}

/** A payment of an account that nobody sends again. */
async function payFromAccount(): Promise<void> {
  const account = devAccounts().accounts[0] as DevAccount;
  const input = { tHash: DEV_GENESIS_TX, n: account.outputs[0] ?? 0 };
  const amount = FIRST_AMOUNT + acknowledged.length;
  const outputs = [
    txOut(tokenAsset(BigInt(amount)), RECEIVER),
    txOut(tokenAsset(account.outputAmount - BigInt(amount)), account.address),
  ];
  const keys = new Map([[outPointKey(input), account.keyPair]]);
  const transaction = assembleSigned({ inputs: [unsignedInput(input)], outputs }, keys);
  await call(`${mempool.apiUrl}/v1/transactions`, { transactions: [transactionToCreateJson(transaction)] });
  acknowledged.push(amount);
}

describe('a network of four processes', () => {
  it('has the same mempool again after tessera rebuild, with what no block has yet (rule P2)', async () => {
    await until('block 0', async () => ((await height()) >= 0 ? true : undefined));
    await grow(4);
    const known = await blocks();
    await stopBoth();
    const digest = await digestOf(mempool.folder);
    await expect(interruptedRebuild(2)).rejects.toMatchObject({ code: 'aborted' });
    expect(await digestOf(mempool.folder)).toBe(digest);
    expect(await rebuild(mempool, '--archive', storage.folder)).toContain(`the blocks up to ${known.length - 1} and 0`);
    expect(await digestOf(mempool.folder)).toBe(digest);

    await miner.stop();
    await startBoth();
    await payFromAccount();
    await mempool.stop();
    await rm(join(mempool.folder, 'db', 'mempool', 'CURRENT'));
    expect(await rebuild(mempool)).toContain('no blocks yet');
    await Promise.all([mempool.start(), miner.start()]);
    await goesOn(known);
  });

  it('goes on when the folder of the mempool is lost while payments are under way', async () => {
    await grow(3);
    const known = await blocks();
    await mempool.stop();
    await rename(mempool.folder, `${mempool.folder}-lost`);
    await pay();
    await pay();
    await mempool.start();
    await goesOn(known);
  });

  it('goes on when either folder is put back from an older copy', async () => {
    await copyBoth('six');
    await grow(5);
    await copyBoth('one');
    await grow(1);
    for (const [side, name] of [
      ['mempool', 'six'],
      ['storage', 'one'],
    ] as const) {
      const known = await blocks();
      await node(side).stop();
      await restore(side, name);
      await pay();
      await node(side).start();
      await goesOn(known);
    }
  });

  // Worlds put back both, of any age (theme `copies`).
  const both = [['one', 'six'] as const, ...(process.env.LONG_TESTS === undefined ? [] : [['six', 'one'] as const])];
  for (const [ofMempool, ofStorage] of both) {
    it(`goes on when both are put back: the mempool of ${ofMempool}, storage of ${ofStorage}`, async () => {
      const known = await blocks();
      await pay();
      await stopBoth();
      await restore('mempool', ofMempool);
      await restore('storage', ofStorage);
      // The wallets have seen blocks that nobody has any more.
      const startOver = async (wallet: NodeProcess): Promise<void> => {
        await wallet.stop();
        expect(await rebuild(wallet)).toContain('starts over');
        await wallet.start();
      };
      await Promise.all([startBoth(), startOver(miner), startOver(user)]);
      const kept = Math.max(...[ofMempool, ofStorage].map((name) => heights.get(name) ?? Number.NaN));
      await goesOn(known.slice(0, kept + 1));
    });
  }
});
