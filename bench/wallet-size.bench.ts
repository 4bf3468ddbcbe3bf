/** What a wallet costs by the number of outputs that it holds: opening it, paying, its balance, a block for it. */

import { join } from 'node:path';
import type { Kv } from '../src/db/kv.js';
import { LevelKv } from '../src/db/level-kv.js';
import { systemClock } from '../src/lib/clock.js';
import { silentLogger } from '../src/lib/logger.js';
import { systemRandom } from '../src/lib/random.js';
import { encodeCoin, newCoin } from '../src/wallet/coins/coin.js';
import { outpointRecordKey } from '../src/wallet/layout.js';
import { loadWallet, type Wallet } from '../src/wallet/wallet.js';
import { fund, NOBODY, nextBlock, paymentFromOutside, tokens } from '../test/support/wallet-fixtures.js';
import { manyOutPoint } from './many-outputs.js';
import { printRow, printSection } from './report.js';
import { measured } from './rounds.js';
import { inFolders, type SizeOptions } from './sizes.js';
import { threadTime } from './turns.js';

const SIZES = [5_000, 1_000_000];
const SHORT_SIZES = [5_000, 20_000];
const ADDRESSES = 200;
const BATCH = 5_000;
const PAYMENTS = 20;
const PASSPHRASE = 'a passphrase of the benchmark';

const open = (folder: string, kv: Kv): Promise<Wallet> =>
  loadWallet(
    {
      keystoreFile: join(folder, 'keystore.json'),
      passphrase: PASSPHRASE,
      allowBlankPassphrase: false,
      aggregateAbove: null,
    },
    { kv, clock: systemClock, random: systemRandom, logger: silentLogger },
  );

/** Amounts from 1,000,000 to 1,999,999 raw units: no output alone pays more. */
const amountOf = (i: number): bigint => 1_000_000n + BigInt((Math.imul(i, 0x9e37_79b1) >>> 0) % 1_000_000);

async function fill(kv: Kv, addresses: readonly string[], count: number): Promise<void> {
  for (let from = 0; from < count; from += BATCH) {
    const batch = kv.batch();
    for (let i = from; i < Math.min(from + BATCH, count); i++) {
      const address = addresses[i % addresses.length] ?? '';
      const coin = newCoin(manyOutPoint(i), tokens(address, amountOf(i)), address, 1, 'unspent', null);
      batch.put(outpointRecordKey(coin.key), encodeCoin(coin));
    }
    await kv.write(batch, { sync: false });
  }
}

/** Milliseconds by the clock and of the main thread for each call. */
async function each(times: number, work: (i: number) => unknown): Promise<{ clock: number[]; main: number[] }> {
  const found = { clock: [] as number[], main: [] as number[] };
  for (let i = 0; i < times; i++) {
    const [clock, main] = [performance.now(), threadTime()];
    await work(i);
    found.clock.push(performance.now() - clock);
    found.main.push(threadTime() - main);
  }
  return found;
}

function print(name: string, { clock, main }: { clock: number[]; main: number[] }): void {
  const { median } = measured(main);
  const note = `at most ${Math.max(...main).toFixed(1)}; by the clock ${measured(clock).median.toFixed(1)}, at most ${Math.max(...clock).toFixed(1)}`;
  printRow({
    name,
    value: median,
    unit: 'ms of the main thread',
    note: main.length > 1 ? note : `by the clock ${clock[0]?.toFixed(0)}`,
  });
}

async function measure(folder: string, count: number): Promise<void> {
  const name = count.toLocaleString('en-US');
  const path = join(folder, 'db');
  let kv: Kv = await LevelKv.open(path, { createIfMissing: true });
  let wallet = await open(folder, kv);
  const addresses: string[] = [];
  for (let i = 0; i < ADDRESSES; i++) addresses.push(await wallet.newAddress());
  await fund(wallet, [1n]);
  await fill(kv, addresses, count);
  await wallet.close();
  await kv.close();
  kv = await LevelKv.open(path, { createIfMissing: false });
  const heap = process.memoryUsage().heapUsed;
  print(`${name}: open the wallet`, await each(1, async () => (wallet = await open(folder, kv))));
  printRow({ name: `${name}: memory of an output`, value: (process.memoryUsage().heapUsed - heap) / count, unit: 'B' });
  const pay = (amount: bigint) => wallet.payments.pay({ address: NOBODY, amount, locktime: 0n });
  print(`${name}: the first payment`, await each(1, () => pay(500_000n)));
  print(`${name}: a payment of one input`, await each(PAYMENTS, (i) => pay(500_000n + BigInt(i))));
  print(`${name}: a payment of about 20 inputs`, await each(PAYMENTS, (i) => pay(39_000_000n + BigInt(i))));
  print(`${name}: a payment of about 100 inputs`, await each(4, (i) => pay(195_000_000n + BigInt(i))));
  print(`${name}: one that needs too many inputs`, await each(4, () => pay(700_000_000_000n).catch(() => undefined)));
  print(`${name}: the balance`, await each(PAYMENTS, () => wallet.coins.totals()));
  print(`${name}: a page of it`, await each(PAYMENTS, (i) => wallet.info({ page: i })));
  const block = (i: number) => {
    const outputs = Array.from({ length: 100 }, (_, k) => tokens(addresses[k] ?? '', amountOf(i * 100 + k)));
    return wallet.chain.apply(nextBlock(wallet, [paymentFromOutside(outputs)]));
  };
  print(`${name}: a block with 100 outputs for it`, await each(8, block));
  print(
    `${name}: the payment after such a block`,
    await each(8, async (i) => {
      await block(100 + i);
      await pay(500_000n);
    }),
  );
  await wallet.close();
  await kv.close();
}

export async function walletSizeBench({ short, sizes = short ? SHORT_SIZES : SIZES }: SizeOptions): Promise<void> {
  printSection(`A wallet by its outputs, at ${ADDRESSES} addresses`);
  await inFolders('wallet', sizes, measure);
}
