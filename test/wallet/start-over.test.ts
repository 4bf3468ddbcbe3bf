/** A wallet that has seen blocks which are lost (docs/operations.md#rebuilding). */

import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { tokenAsset } from '../../src/chain/assets.js';
import { assemble, txOut, unsignedInput } from '../../src/chain/builders.js';
import { transactionHash } from '../../src/chain/hash.js';
import type { OutPoint } from '../../src/chain/types.js';
import { LevelKv } from '../../src/db/level-kv.js';
import { systemClock } from '../../src/lib/clock.js';
import { MetaStore } from '../../src/wallet/meta.js';
import { Outgoing } from '../../src/wallet/payments/outgoing.js';
import { type StartedOver, startOver } from '../../src/wallet/start-over.js';
import { WriteBuffer } from '../../src/wallet/write-buffer.js';
import { MemoryKv } from '../support/memory-kv.js';
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
  const { hash } = await wallet.payments.pay({ address: NOBODY, amount: 70n, locktime: 0n });
  const paid = wallet.outgoing.get(hash);
  if (paid === undefined) throw new Error('not queued');
  await wallet.chain.apply(nextBlock(wallet, [paid.transaction]));
  expect(wallet.outgoing.get(hash)).toBeUndefined();
  const addresses = [...wallet.keys.addresses.keys()];
  await close();
  return { folder, hash, addresses, payment: paid.transaction };
}

async function forget(folder: string, now = systemClock.now(), hours?: number): Promise<StartedOver> {
  const kv = await LevelKv.open(join(folder, 'db'), { createIfMissing: false });
  try {
    return await startOver(kv, now, hours);
  } finally {
    await kv.close();
  }
}

/** A store with this many payments of the last hour, each of which spends the change of the one before. */
async function chainedPayments(count: number) {
  const kv = new MemoryKv();
  const writes = new WriteBuffer(kv);
  const outgoing = await Outgoing.open(kv, writes, await MetaStore.open(kv, writes));
  const now = systemClock.now();
  let before: OutPoint = { tHash: 'a coin of the chain', n: 0 };
  for (let i = 0; i < count; i++) {
    const outputs = [txOut(tokenAsset(5n), NOBODY), txOut(tokenAsset(BigInt(count - i)), 'b'.repeat(64))];
    const transaction = assemble({ inputs: [unsignedInput(before)], outputs });
    const hash = transactionHash(transaction);
    outgoing.add({ hash, transaction, kind: 'payment', peer: null, createdAt: now - 3_600_000 + i });
    outgoing.mark(hash, 'confirmed');
    before = { tHash: hash, n: 1 };
  }
  await writes.flush();
  return { kv, now };
}

describe('a wallet that starts over', () => {
  it('queues every payment of the last hours again, however many, none without what it spends from', async () => {
    const { kv, now } = await chainedPayments(2_500);
    expect(await startOver(kv, now)).toMatchObject({ payments: 2_500 });
    const writes = new WriteBuffer(kv);
    const again = await Outgoing.open(kv, writes, await MetaStore.open(kv, writes));
    const queued = [...again.inFlight()];
    expect(queued).toHaveLength(2_500);
    const without = queued.filter((one) => again.parentsOf(one).length === 0);
    expect(without.map(({ hash }) => hash)).toEqual([queued[0]?.hash]);
  });

  it('keeps its keys, asks for its coins again, and takes an older chain', async () => {
    const { folder, addresses } = await seenWallet();
    expect(await forget(folder)).toEqual({ coins: 1, payments: 1, height: 1 });
    const { wallet, close } = await openWallet(folder);
    expect([...wallet.keys.addresses.keys()].sort()).toEqual([...addresses].sort());
    expect(wallet.chain.height).toBe(-1);
    expect(wallet.coins.totals().available).toBe(0n);
    expect(await refreshOnce(wallet, addresses, [], 0)).toBe(true);
    await close();
  });

  it('queues the payments of the last hours again, and spends their inputs for nothing else', async () => {
    const { folder, hash, payment } = await seenWallet();
    await forget(folder);
    const { wallet, close } = await openWallet(folder);
    const again = wallet.outgoing.takeQueued();
    expect(again).toMatchObject({ hash, state: 'queued', transaction: payment });
    expect(wallet.coins.totals().available).toBe(0n);
    await wallet.chain.apply(nextBlock(wallet, [payment]));
    expect((await wallet.outgoing.latest()).map(({ state }) => state)).toEqual(['confirmed']);
    await close();
  });

  it('queues again what was admitted: that its inputs are gone proves nothing on a chain that has lost blocks', async () => {
    const { wallet, folder, close } = await newWallet();
    await fund(wallet, [70n]);
    const { hash } = await wallet.payments.pay({ address: NOBODY, amount: 70n, locktime: 0n });
    await wallet.settlement.markSent(hash);
    await close();
    expect(await forget(folder)).toMatchObject({ payments: 1 });
    const again = await openWallet(folder);
    expect(again.wallet.outgoing.takeQueued()).toMatchObject({ hash, state: 'queued' });
    await again.close();
  });

  it('leaves payments alone that are older than a mempool node remembers', async () => {
    const { folder } = await seenWallet();
    expect(await forget(folder, systemClock.now() + 13 * 3_600_000)).toMatchObject({ payments: 0 });
    const { wallet, close } = await openWallet(folder);
    expect(wallet.outgoing.takeQueued()).toBeUndefined();
    await close();
  });

  it('queues older ones too when it is told how many hours count: the chain may have lost more than twelve', async () => {
    const { folder, hash } = await seenWallet();
    expect(await forget(folder, systemClock.now() + 13 * 3_600_000, 24)).toMatchObject({ payments: 1 });
    const { wallet, close } = await openWallet(folder);
    expect(wallet.outgoing.takeQueued()).toMatchObject({ hash });
    await close();
  });
});
