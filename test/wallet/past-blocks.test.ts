/** Blocks of the past, taken in one after the other: many are made durable at once, and a power cut takes whole blocks back. */

import { afterAll, describe, expect, it } from 'vitest';
import type { ToldBlock } from '../../src/wallet/block-check.js';
import type { Wallet } from '../../src/wallet/wallet.js';
import { withWrite } from '../support/kv.js';
import {
  block,
  newWallet,
  openWallet,
  paymentFromOutside,
  removeFolders,
  temporaryFolder,
  tokens,
} from '../support/wallet-fixtures.js';

afterAll(removeFolders);

/** Every tenth pays one raw unit. */
function chainTo(address: string, length: number): readonly ToldBlock[] {
  const told: ToldBlock[] = [];
  for (let height = 0; height < length; height++) {
    const payments = height % 10 === 0 ? [paymentFromOutside([tokens(address, 1n)])] : [];
    told.push({ ...block(height, payments, { previous: told.at(-1)?.hash ?? null }), isPast: true });
  }
  return told;
}

async function heights(wallet: Wallet): Promise<readonly unknown[]> {
  return (await wallet.history.movements({ limit: 100, newestFirst: false })).movements.map(({ height }) => height);
}

describe('past blocks', () => {
  it('are not written one by one', async () => {
    let writes = 0;
    const { wallet } = await newWallet({
      wrap: (kv) =>
        withWrite(kv, (batch, options) => {
          writes += 1;
          return kv.write(batch, options);
        }),
    });
    const chain = chainTo(await wallet.newAddress(), 100);
    writes = 0;
    for (const told of chain) await wallet.chain.apply(told);
    await wallet.chain.sync();
    expect(writes).toBe(1);
    expect(await heights(wallet)).toEqual([0, 10, 20, 30, 40, 50, 60, 70, 80, 90]);
  });

  it('are taken back whole by a power cut, and come again', async () => {
    let isCut = false;
    const folder = await temporaryFolder();
    const first = await openWallet(folder, {
      wrap: (kv) =>
        withWrite(kv, async (batch, options) => {
          if (!isCut) await kv.write(batch, options);
        }),
    });
    const chain = chainTo(await first.wallet.newAddress(), 40);
    for (const told of chain.slice(0, 15)) await first.wallet.chain.apply(told);
    await first.wallet.chain.sync();
    isCut = true;
    for (const told of chain.slice(15)) await first.wallet.chain.apply(told);
    await first.close();
    const { wallet } = await openWallet(folder);
    expect([wallet.chain.height, wallet.coins.totals().running, await heights(wallet)]).toEqual([14, 2n, [0, 10]]);
    for (const told of chain.slice(15)) await wallet.chain.apply(told);
    await wallet.chain.sync();
    expect([wallet.chain.height, wallet.coins.totals().running, await heights(wallet)]).toEqual([
      39,
      4n,
      [0, 10, 20, 30],
    ]);
  });
});
