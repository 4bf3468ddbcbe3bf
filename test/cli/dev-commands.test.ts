/** `tessera faucet` and `tessera mine`, against an API over fake services. */

import { describe, expect, it } from 'vitest';
import { runCli } from '../../src/cli/run.js';
import { devAccounts } from '../../src/config/dev-accounts.js';
import { NODE_ROLES } from '../../src/lib/roles.js';
import { openApp } from '../support/api/app.js';
import { TX_HASH } from '../support/api/fakes.js';
import { createContext } from '../support/cli-context.js';

const FIRST = devAccounts().accounts[0]?.address ?? '';

async function network({ intervalMs = null as number | null, isDev = true } = {}) {
  const asked: unknown[] = [];
  let height = 4;
  const dev = {
    facts: () => ({
      accounts: [],
      urls: { mempool: '', storage: '', miner: '', user: '' },
      intervalMs,
      automine: true,
    }),
    async faucet(order: { readonly address: string; readonly amount: bigint }) {
      asked.push(order);
      return { txHash: TX_HASH, to: order.address, amount: order.amount, height: intervalMs === null ? 5 : null };
    },
    async mine(count: number, time?: number) {
      asked.push(time === undefined ? count : [count, time]);
      return Array.from({ length: count }, () => ++height);
    },
    setAutomine: async (isOn: boolean) => isOn,
    time: () => 0,
    setTime: async (seconds: number) => seconds,
    snapshots: () => [],
    takeSnapshot: () => Promise.reject(new Error('not asked')),
    revert: () => Promise.reject(new Error('not asked')),
    saveState: () => Promise.reject(new Error('not asked')),
  };
  const app = await openApp(NODE_ROLES, { api: { auth: 'open' }, modules: isDev ? { dev: () => dev } : {} });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const run = async (...argv: string[]) => {
    const context = createContext();
    const status = await runCli([...argv, '--url', url], context);
    return { status, out: context.out(), err: context.err() };
  };
  return { run, asked };
}

describe('tessera faucet', () => {
  it('pays display units, raw units, or what the network thinks right', async () => {
    const { run, asked } = await network();
    expect((await run('faucet', 'dev:1', '1.5')).out).toBe(
      `paid 1.5 (108108000 raw units) to ${FIRST}\n${TX_HASH} in block 5\n`,
    );
    expect(JSON.parse((await run('faucet', FIRST, '7', '--raw', '--json')).out)).toEqual({
      tx_hash: TX_HASH,
      to_address: FIRST,
      amount: 7,
      block_num: 5,
    });
    expect((await run('faucet', FIRST)).status).toBe(0);
    expect(asked).toEqual([
      { address: FIRST, amount: 108_108_000n },
      { address: FIRST, amount: 7n },
      { address: FIRST, amount: 72_072_000_000n },
    ]);
  });

  it('pays from another address, and sets a balance', async () => {
    const { run, asked } = await network();
    await run('faucet', 'dev:1', '1', '--from', 'dev:1');
    expect((await run('faucet', 'dev:1', '1', '--set')).out).toContain(`set the balance of ${FIRST}: paid 1 (`);
    const order = { address: FIRST, amount: 72_072_000n };
    expect(asked).toEqual([
      { ...order, from: FIRST },
      { ...order, set: true },
    ]);
  });

  it('says that the payment waits where blocks are made at an interval', async () => {
    const { run } = await network({ intervalMs: 1_000 });
    expect((await run('faucet', FIRST)).out).toContain('waits for a block');
  });

  it('says which networks have one', async () => {
    const { run } = await network({ isDev: false });
    expect(await run('faucet', FIRST)).toMatchObject({
      status: 1,
      err: expect.stringContaining('not the shared address of a dev network'),
    });
  });
});

describe('the URL of a dev network', () => {
  it.each(['http://user:secret@127.0.0.1:8080', 'file:///etc', 'nowhere'])('is that of an API: %s', async (url) => {
    const context = createContext();
    expect(await runCli(['mine', '--url', url], context)).toBe(2);
    expect(context.err()).not.toContain('secret@');
  });
});

describe('tessera mine', () => {
  it('makes as many blocks as it is asked for, a hundred in a request', async () => {
    const { run, asked } = await network();
    expect((await run('mine')).out).toBe('made block 5\n');
    expect((await run('mine', '3')).out).toBe('made blocks 6 to 8\n');
    expect(JSON.parse((await run('mine', '250', '--json')).out)).toEqual({ first: 9, last: 258 });
    expect(asked).toEqual([1, 3, 100, 100, 50]);
    expect((await run('mine', '0')).status).toBe(2);
    await run('mine', '--at', '1900000000');
    expect(asked.at(-1)).toEqual([1, 1_900_000_000]);
    expect((await run('mine', '--at', 'tomorrow')).status).toBe(2);
  });
});
