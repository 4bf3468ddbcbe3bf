/** What a wallet costs: a thousand payments at once, and how long they hold the event loop. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LevelKv } from '../src/db/level-kv.js';
import { systemClock } from '../src/lib/clock.js';
import { silentLogger } from '../src/lib/logger.js';
import { systemRandom } from '../src/lib/random.js';
import { loadWallet, type Wallet } from '../src/wallet/wallet.js';
import { fund, NOBODY } from '../test/support/wallet-fixtures.js';
import { printRow, printSection } from './report.js';

const PASSPHRASE = 'a passphrase of the benchmark';
const PAYMENTS = 1_000;
/** Raw units: each payment has change. */
const COIN = 1_000_000n;

export async function walletBench(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'tessera-bench-wallet-'));
  const kv = await LevelKv.open(join(folder, 'db'), { createIfMissing: true });
  const wallet = await loadWallet(
    {
      keystoreFile: join(folder, 'keystore.json'),
      passphrase: PASSPHRASE,
      allowBlankPassphrase: false,
      aggregateAbove: null,
    },
    { kv, clock: systemClock, random: systemRandom, logger: silentLogger },
  );
  try {
    await fund(wallet, new Array<bigint>(PAYMENTS * 2).fill(COIN));
    printSection(`wallet: ${PAYMENTS.toLocaleString('en-US')} payments`);
    await measure('one after the other', async () => {
      for (let i = 0; i < PAYMENTS; i++) await pay(wallet, i);
    });
    await measure('all at once', () => Promise.all(Array.from({ length: PAYMENTS }, (_, i) => pay(wallet, i))));
  } finally {
    await wallet.close();
    await kv.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/** As a request does: the passphrase first, then the payment. */
async function pay(wallet: Wallet, i: number): Promise<void> {
  await wallet.keystore.verify(PASSPHRASE);
  await wallet.payments.pay({ address: NOBODY, amount: 300_000n + BigInt(i), locktime: 0n });
}

/** Rate, and the longest time between two turns of the event loop. */
async function measure(name: string, run: () => Promise<unknown>): Promise<void> {
  let longest = 0;
  let last = performance.now();
  let running = true;
  const turn = (): void => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
    if (running) setImmediate(turn);
  };
  setImmediate(turn);
  const start = performance.now();
  await run();
  const seconds = (performance.now() - start) / 1_000;
  running = false;
  await new Promise((resolve) => setImmediate(resolve));
  printRow({ name, value: PAYMENTS / seconds, unit: 'payments/s' });
  printRow({ name: `${name}: longest turn of the event loop`, value: longest, unit: 'ms' });
}
