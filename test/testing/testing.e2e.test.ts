/** `tessera-node/testing` as its users have it: from dist, in processes of its own. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { until } from '../support/processes.js';

const MODULE = new URL('../../dist/testing/index.js', import.meta.url).href;
const PACKAGE = fileURLToPath(new URL('../../', import.meta.url));
const { startDevNetwork } = (await import(MODULE)) as typeof import('../../src/testing/index.js');
const WORDS = 'test test test test test test test test test test test junk';

let network: Awaited<ReturnType<typeof startDevNetwork>>;

beforeAll(async () => {
  network = await startDevNetwork({ accounts: 2, balance: 5n, mnemonic: WORDS });
});

afterAll(() => network.stop());

async function balanceOf(address: string): Promise<number> {
  const answer = await fetch(`${network.url}/v1/balances?address=${address}`);
  const { balance } = (await answer.json()) as { balance: { total: { tokens: number } } };
  return balance.total.tokens;
}

describe('startDevNetwork', () => {
  it('gives a network with the accounts that were asked for, at one address', async () => {
    expect(network.accounts.map(({ account, tokens }) => [account, tokens]).slice(0, 2)).toEqual([
      ['1', 5n],
      ['2', 5n],
    ]);
    expect(network.urls).toEqual({ mempool: network.url, storage: network.url, miner: network.url, user: network.url });
    expect(await balanceOf(network.accounts[0]?.address ?? '')).toBe(5);
  });

  it('pays, makes blocks, moves the clock, and goes back to where it was', async () => {
    const [account] = network.accounts;
    if (account === undefined) throw new Error('it has accounts');
    const snapshot = await network.snapshot();
    const { height, txHash } = await network.faucet(account.address, 10n);
    expect(txHash).toMatch(/^g/);
    expect(await balanceOf(account.address)).toBe(15);
    expect(await network.mine(2)).toEqual([(height ?? 0) + 1, (height ?? 0) + 2]);
    const later = (await network.time()) + 86_400;
    expect(await network.setTime(new Date(later * 1_000))).toBe(later);
    expect(await network.advanceTime(10)).toBeGreaterThanOrEqual(later + 10);
    await network.revert(snapshot);
    expect(await balanceOf(account.address)).toBe(5);
    expect(await network.time()).toBeLessThan(later);
    expect(await network.mine()).toEqual([height]);
  });

  it('makes no blocks but those that are asked for, until it is to go on by itself', async () => {
    const still = await startDevNetwork({ automine: false });
    onTestFinished(() => still.stop());
    const address = still.accounts[0]?.address ?? '';
    expect(await still.faucet(address, 10n)).toMatchObject({ height: null });
    expect(await still.mine()).toEqual([1]);
    await still.setAutomine(true);
    expect(await still.faucet(address, 10n)).toMatchObject({ height: expect.any(Number) });
    await still.setAutomine(false);
    expect(await still.faucet(address, 10n)).toMatchObject({ height: null });
  });

  it('says what was wrong, with the code of the API', async () => {
    await expect(network.revert(99)).rejects.toMatchObject({ name: 'DevNetworkError', code: 'not_found' });
    await expect(startDevNetwork({ mnemonic: 'no words' })).rejects.toMatchObject({ code: 'invalid_request' });
    const taken = Number(new URL(network.url).port);
    await expect(startDevNetwork({ port: taken })).rejects.toMatchObject({ code: 'port_in_use' });
  });

  it('leaves nothing behind when whoever started it is killed', async () => {
    const tmp = mkdtempSync(join(tmpdir(), 'tessera-test-'));
    onTestFinished(() => rmSync(tmp, { recursive: true, force: true }));
    const script = `
      import { startDevNetwork } from ${JSON.stringify(MODULE)};
      const { url } = await startDevNetwork();
      console.log(url);
      setInterval(() => undefined, 1_000);
    `;
    const runner = spawn(process.execPath, ['--input-type=module', '-e', script], {
      cwd: PACKAGE,
      env: { ...process.env, TMPDIR: tmp },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    onTestFinished(() => void runner.kill('SIGKILL'));
    const [line] = (await once(runner.stdout.setEncoding('utf8'), 'data')) as [string];
    const url = line.trim();
    expect((await fetch(`${url}/livez`)).status).toBe(200);
    expect(readdirSync(tmp)).toHaveLength(1);
    runner.kill('SIGKILL');
    await until('the network to be gone', async () => {
      const isUp = await fetch(`${url}/livez`).then(
        () => true,
        () => false,
      );
      return !isUp && readdirSync(tmp).length === 0 ? true : undefined;
    });
  });
});
