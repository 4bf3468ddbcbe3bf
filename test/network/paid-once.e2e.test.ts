/** One payment for one key, on real processes: the user node is killed before, between acting and answering, and after. */

import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type LossyProxy, startLossyProxy } from '../support/lossy-proxy.js';
import { call, createNetwork, MAIN, type Network, type NodeProcess } from '../support/processes.js';

const PAYEE = 'ab'.repeat(32);

let network: Network;
let folder: string;
/** Without a mempool node: its payments wait on its disk, where they are counted. */
let user: NodeProcess;
let proxy: LossyProxy;
let restarted: Promise<void> = Promise.resolve();

function killAndStart(): Promise<void> {
  restarted = restarted.then(async () => {
    await user.kill();
    await user.start();
  });
  return restarted;
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tessera-once-'));
  await writeFile(join(folder, 'passphrase'), '');
  network = await createNetwork();
  user = await network.add('user', 'user', { 'wallet.genesis_seed_index': 0 });
  let isFirst = true;
  proxy = await startLossyProxy(user.apiUrl, {
    fate(nth) {
      // While it takes the first request in, or before.
      if (isFirst) void killAndStart();
      isFirst = false;
      return nth === 0 ? 'lose answer' : 'pass';
    },
    // After it has acted, and before the client hears of it.
    onLost: killAndStart,
  });
});

afterAll(async () => {
  await proxy.stop();
  await network.stopAll();
  await rm(folder, { recursive: true, force: true });
});

it('pays once for one command, whenever the user node is killed', async () => {
  const flags = ['--raw', '--yes', '--url', proxy.url, '--data', folder];
  const args = ['wallet', 'pay', PAYEE, '12345', ...flags, '--passphrase-file', join(folder, 'passphrase')];
  const child = spawn(process.execPath, [MAIN, ...args], {
    env: { PATH: process.env.PATH ?? '' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exit = new Promise<number | null>((resolve) => child.once('exit', resolve));
  const [out, err, code] = await Promise.all([text(child.stdout), text(child.stderr), exit]);
  expect([code, err]).toEqual([0, expect.stringContaining(`--idempotency-key ${proxy.keys[0]}`)]);
  expect(proxy.keys.length).toBeGreaterThan(1);
  expect(new Set(proxy.keys).size).toBe(1);
  await restarted;
  const { transactions } = (await call(`${user.apiUrl}/v1/wallet/history`)) as { transactions: { tx_hash: string }[] };
  expect(transactions.map(({ tx_hash }) => `${tx_hash}\n`)).toEqual([out]);
});
