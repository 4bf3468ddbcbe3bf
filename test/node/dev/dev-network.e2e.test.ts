/** What can be done to a running dev network, over its own routes. */

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chunksOf } from '../../../src/client/transport.js';
import { devAccounts } from '../../../src/config/dev-accounts.js';
import { readState } from '../../../src/node/dev/state-file.js';
import { DevNetwork } from '../../../src/node/dev-network.js';
import { NodeLogger } from '../../../src/observability/logger.js';
import { call, until } from '../../support/processes.js';

const [FIRST, SECOND] = devAccounts().accounts.map(({ address }) => address) as [string, string];

let dataDir = '';
let network: DevNetwork;
const logger = NodeLogger.create({ level: 'silent', format: 'json' });

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'tessera-dev-test-'));
  network = new DevNetwork({ dataDir, ports: 'any' }, { logger });
  await network.start();
});

afterAll(async () => {
  await network.stop();
  await rm(dataDir, { recursive: true, force: true });
});

// biome-ignore lint/suspicious/noExplicitAny: answers of every shape
const dev = (path: string, body?: unknown): Promise<any> => call(`${network.url}/v1/dev${path}`, body);
// biome-ignore lint/suspicious/noExplicitAny: answers of every shape
const get = (path: string, url = network.url): Promise<any> => call(`${url}${path}`);

async function balanceOf(address: string): Promise<bigint> {
  return BigInt((await get(`/v1/balances?address=${address}`)).balance.total.tokens);
}

const heightNow = async (): Promise<number> => (await get('/v1/blocks/latest')).block.block.header.b_num;
const timestampNow = async (): Promise<number> => (await get('/v1/blocks/latest')).block.block.header.timestamp;

describe('a dev network', () => {
  it('pays from its faucet, and answers when the payment is in a block', async () => {
    const before = await balanceOf(FIRST);
    const paid = await dev('/faucet', { address: FIRST, amount: 12_345 });
    expect(await balanceOf(FIRST)).toBe(before + 12_345n);
    const { block } = (await get(`/v1/blocks/${paid.block_num}`)).data;
    expect(block.transactions).toContain(paid.tx_hash);
  });

  it('makes blocks on request, empty or not', async () => {
    const height = await heightNow();
    expect(await dev('/blocks', { count: 3 })).toEqual({ block_nums: [height + 1, height + 2, height + 3] });
    expect(await heightNow()).toBe(height + 3);
  });

  it('makes only the blocks that are asked for while mining is held, and then what waits', async () => {
    const statusOf = async (hash: string) => (await get(`/v1/transactions/status?hash=${hash}`))[hash]?.status;
    const held = async (): Promise<string> => {
      const { tx_hash, block_num } = await dev('/faucet', { address: FIRST, amount: 7 });
      expect(block_num).toBeNull();
      await until('the payment to wait', async () => (await statusOf(tx_hash)) === 'Pending' || undefined);
      return tx_hash;
    };
    const height = await heightNow();
    expect(await dev('/automine', { automine: false })).toEqual({ automine: false });
    expect((await dev('')).automine).toBe(false);
    const waiting = [await held(), await held()];
    expect(await dev('/blocks', {})).toEqual({ block_nums: [height + 1] });
    const { block } = (await get(`/v1/blocks/${height + 1}`)).data;
    expect(block.transactions).toEqual(expect.arrayContaining(waiting));
    const last = await held();
    expect(await dev('/automine', { automine: true })).toEqual({ automine: true });
    await until('the payment to be in a block', async () => (await statusOf(last)) === 'Confirmed' || undefined);
    expect(await heightNow()).toBe(height + 2);
  });

  it('has its commands at the one address only', async () => {
    for (const url of Object.values(network.urls)) expect((await fetch(`${url}/v1/dev/time`)).status).toBe(404);
    const { urls, accounts } = await dev('');
    expect(urls).toEqual(network.urls);
    expect(accounts.map(({ account }: { account: string }) => account).slice(-3)).toEqual(['10', 'user', 'miner']);
  });

  it('goes back to a snapshot: chain, balances, wallets, clock; readers of events are told', async () => {
    const before = { height: await heightNow(), balance: await balanceOf(SECOND), wallet: await get('/v1/wallet') };
    const snapshot = await dev('/snapshots', {});
    expect(snapshot).toMatchObject({ block_num: before.height });
    const urls = { ...network.urls };
    const events = await fetch(`${network.url}/v1/events?topics=blocks`);

    await dev('/time', { advance: 30 * 86_400 });
    await call(`${network.url}/v1/payments`, { kind: 'address', address: SECOND, amount: 99, passphrase: '' });
    const later = snapshot.time + 30 * 86_400;
    await until('a block with the new time', async () => (await timestampNow()) >= later || undefined);
    expect(await balanceOf(SECOND)).toBe(before.balance + 99n);

    expect(await dev(`/snapshots/${snapshot.id}/revert`, {})).toEqual(snapshot);
    expect(network.urls).toEqual(urls);
    expect([await heightNow(), await balanceOf(SECOND)]).toEqual([before.height, before.balance]);
    expect((await get('/v1/wallet')).running_total_tokens).toEqual(before.wallet.running_total_tokens);
    expect((await dev('/time')).time).toBeLessThan(later);
    expect(await toldToStartOver(events)).toBe(true);

    // The network goes on from there, at the old addresses of its nodes too.
    expect(await dev('/blocks', {})).toEqual({ block_nums: [before.height + 1] });
    expect((await dev('/faucet', { address: SECOND })).block_num).toBe(before.height + 2);
    expect((await get('/v1/wallet', network.urls.user)).running_total_tokens).toBeGreaterThan(0);
  });

  it('forgets answers by x-cache-id when it goes back, and keeps the passphrase that its wallets open with', async () => {
    const { id } = await dev('/snapshots', {});
    const supply = async (): Promise<string> => {
      const headers = { 'x-cache-id': 'c1d46199e5c89b00509e118f5af83172' };
      return (await fetch(`${network.url}/issued_supply`, { headers })).text();
    };
    const before = await supply();
    await dev('/blocks', { count: 2 });
    expect(await supply()).toBe(before);
    await dev(`/snapshots/${id}/revert`, {});
    await dev('/blocks', { count: 1 });
    expect(await supply()).not.toBe(before);

    const change = { old_passphrase: '', new_passphrase: 'another one' };
    const changed = await fetch(`${network.url}/v1/wallet/passphrase`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(change),
    });
    expect(changed.status).toBe(204);
    const payment = { kind: 'address', address: SECOND, amount: 1 };
    await call(`${network.url}/v1/payments`, { ...payment, passphrase: 'another one' });
    await dev('/snapshots', {});
    await call(`${network.url}/v1/payments`, { ...payment, passphrase: '' });
  });

  it('never sets its clock to before the last block', async () => {
    const { block_nums: numbers } = await dev('/blocks', { count: 1 });
    expect(numbers).toHaveLength(1);
    await expect(dev('/time', { time: 1_000 })).rejects.toThrow('blocks never go back');
    await expect(dev('/time', { advance: 253_402_300_799 })).rejects.toThrow('the year 9999');
  });

  it('saves its state in a file, on request and at the end, and begins from it', async () => {
    const stateFile = join(dataDir, 'chain.state');
    const start = async (name: string, accounts = {}) => {
      const one = new DevNetwork(
        { dataDir: join(dataDir, name), ports: 'any', stateFile, accounts, haveNodesAddresses: false },
        { logger },
      );
      await one.start().catch(async (error: unknown) => {
        await one.stop();
        throw error;
      });
      return one;
    };
    const first = await start('first', { count: 1 });
    expect(await first.control.saveState()).toMatchObject({ file: stateFile, height: 0 });
    const [owner] = first.accounts.accounts;
    await first.control.faucet({ address: owner?.address ?? '', amount: 5n });
    await first.stop();

    const second = await start('second');
    expect(second.accounts).toEqual(first.accounts);
    const { balance } = (await get(`/v1/balances?address=${owner?.address}`, second.url ?? '')) as {
      readonly balance: { readonly total: { readonly tokens: number } };
    };
    expect(balance.total.tokens).toBe(7_207_200_000_000_005);
    await second.stop();
    const late = await readFile(stateFile);

    await expect(start('third', { count: 2 })).rejects.toMatchObject({ code: 'data_dir_invalid' });
    // A start that was refused saves nothing.
    expect(await readFile(stateFile)).toEqual(late);
  });

  it('saves its state when it is stopped while its nodes stand still, and says when it could not', async () => {
    const folder = join(dataDir, 'interrupted');
    const stateFile = join(dataDir, 'place', 'chain.state');
    const one = new DevNetwork({ dataDir: folder, ports: 'any', stateFile, haveNodesAddresses: false }, { logger });
    try {
      await one.start();
      // A file where the folder of the state file should be.
      await writeFile(join(dataDir, 'place'), '');
      const snapshot = one.control.takeSnapshot();
      // The command has begun.
      await new Promise((resolve) => setImmediate(resolve));
      await expect(one.stop()).rejects.toMatchObject({ code: 'write_failed' });
      await snapshot;
      expect(one.isUnsaved).toBe(true);
    } finally {
      await rm(join(dataDir, 'place'), { force: true });
      await one.stop();
    }
    expect(one.isUnsaved).toBe(false);
    expect(await readState(stateFile, join(dataDir, 'from-state'))).toBe(true);
  });

  it('begins as a copy of another chain, with all of its blocks, and goes on apart from it', async () => {
    const before = {
      height: await heightNow(),
      latest: await get('/v1/blocks/latest'),
      balance: await balanceOf(FIRST),
    };
    const options = { dataDir: join(dataDir, 'fork'), ports: 'any', fork: network.url ?? '' } as const;
    const copy = new DevNetwork({ ...options, haveNodesAddresses: false }, { logger });
    try {
      await copy.start();
      expect(await get('/v1/blocks/latest', copy.url)).toEqual(before.latest);
      expect(copy.accounts).toEqual(devAccounts());
      // Its wallets have the coins of the other chain, and spend them on this one.
      const { height } = await copy.control.faucet({ address: FIRST, amount: 3n });
      expect(height).toBe(before.height + 1);
      const here = await get(`/v1/balances?address=${FIRST}`, copy.url);
      expect(BigInt(here.balance.total.tokens)).toBe(before.balance + 3n);
    } finally {
      await copy.stop();
    }
    expect([await heightNow(), await balanceOf(FIRST)]).toEqual([before.height, before.balance]);
    const others = new DevNetwork({ ...options, fork: 'http://127.0.0.1:1' }, { logger });
    await expect(others.start()).rejects.toThrow('has a chain already');
    await others.stop();
  });

  it('keeps accounts, clock and snapshots over a restart', async () => {
    const { time } = await dev('/time', { advance: 1_000_000 });
    const { id } = await dev('/snapshots', {});
    const height = await heightNow();
    await network.stop();
    network = new DevNetwork({ dataDir, ports: 'any' }, { logger });
    await network.start();
    expect((await dev('/time')).time).toBeGreaterThanOrEqual(time);
    expect(await heightNow()).toBe(height);
    expect((await dev('/snapshots')).snapshots.at(-1).id).toBe(id);
    expect((await dev('/blocks', {})).block_nums).toEqual([height + 1]);
  });
});

/** Resolves when the stream has told its reader to begin anew. */
async function toldToStartOver({ body }: Response): Promise<boolean> {
  let text = '';
  if (body === null) return false;
  for await (const chunk of chunksOf(body)) {
    text += Buffer.from(chunk).toString('utf8');
    if (text.includes('event: reset')) return true;
  }
  return false;
}
