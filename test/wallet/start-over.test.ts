/** A wallet that has seen blocks which are lost (docs/operations.md#rebuilding). */

import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { openLevelKv } from '../../src/db/level-kv.js';
import { systemClock } from '../../src/lib/clock.js';
import { type StartedOver, startOver } from '../../src/wallet/start-over.js';
import {
  fund,
  NOBODY,
  newWallet,
  nextBlock,
  openWallet,
  refreshOnce,
  removeFolders,
} from '../support/wallet-fixtures.js';

afterAll(removeFolders);

/** A wallet with a coin of 100 left and a payment of another one in a block, both seen; closed. */
async function seenWallet() {
  const { wallet, folder, close } = await newWallet();
  await fund(wallet, [100n, 70n]);
  const { hash } = await wallet.transfers.pay({ address: NOBODY, amount: 70n, locktime: 0n });
  const paid = wallet.transfers.inFlightByHash(hash);
  if (paid === undefined) throw new Error('not queued');
  await wallet.applyBlock(nextBlock(wallet, [paid.transaction]));
  expect(wallet.transfers.inFlightByHash(hash)).toBeUndefined();
  const addresses = wallet.addresses();
  await close();
  return { folder, hash, addresses, payment: paid.transaction };
}

async function forget(folder: string, now = systemClock.now(), hours?: number): Promise<StartedOver> {
  const kv = await openLevelKv(join(folder, 'db'), { createIfMissing: false });
  try {
    return await startOver(kv, now, hours);
  } finally {
    await kv.close();
  }
}

describe('a wallet that starts over', () => {
  it('keeps its keys, asks for its coins again, and takes an older chain', async () => {
    const { folder, addresses } = await seenWallet();
    expect(await forget(folder)).toEqual({ coins: 1, payments: 1, height: 1 });
    const { wallet, close } = await openWallet(folder);
    expect([...wallet.addresses()].sort()).toEqual([...addresses].sort());
    expect(wallet.height).toBe(-1);
    expect(wallet.totals().available).toBe(0n);
    expect(await refreshOnce(wallet, addresses, [], 0)).toBe(true);
    await close();
  });

  it('queues the payments of the last hours again, and spends their inputs for nothing else', async () => {
    const { folder, hash, payment } = await seenWallet();
    await forget(folder);
    const { wallet, close } = await openWallet(folder);
    const again = wallet.transfers.takeQueued();
    expect(again).toMatchObject({ hash, state: 'queued', transaction: payment });
    expect(wallet.totals().available).toBe(0n);
    await wallet.applyBlock(nextBlock(wallet, [payment]));
    expect((await wallet.transfers.history()).map(({ state }) => state)).toEqual(['confirmed']);
    await close();
  });

  it('queues again what was admitted: that its inputs are gone proves nothing on a chain that has lost blocks', async () => {
    const { wallet, folder, close } = await newWallet();
    await fund(wallet, [70n]);
    const { hash } = await wallet.transfers.pay({ address: NOBODY, amount: 70n, locktime: 0n });
    await wallet.settlement.markSent(hash);
    await close();
    expect(await forget(folder)).toMatchObject({ payments: 1 });
    const again = await openWallet(folder);
    expect(again.wallet.transfers.takeQueued()).toMatchObject({ hash, state: 'queued' });
    await again.close();
  });

  it('leaves payments alone that are older than a mempool node remembers', async () => {
    const { folder } = await seenWallet();
    expect(await forget(folder, systemClock.now() + 13 * 3_600_000)).toMatchObject({ payments: 0 });
    const { wallet, close } = await openWallet(folder);
    expect(wallet.transfers.takeQueued()).toBeUndefined();
    await close();
  });

  it('queues older ones too when it is told how many hours count: the chain may have lost more than twelve', async () => {
    const { folder, hash } = await seenWallet();
    expect(await forget(folder, systemClock.now() + 13 * 3_600_000, 24)).toMatchObject({ payments: 1 });
    const { wallet, close } = await openWallet(folder);
    expect(wallet.transfers.takeQueued()).toMatchObject({ hash });
    await close();
  });
});
