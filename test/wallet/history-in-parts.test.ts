/** The history when the chain tells of a transaction in parts, twice, or under another hash (docs/wallet.md#history). */

import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { transactionHash } from '../../src/chain/hash.js';
import type { Transaction } from '../../src/chain/types.js';
import { LevelKv } from '../../src/db/level-kv.js';
import { systemClock } from '../../src/lib/clock.js';
import { startOver } from '../../src/wallet/start-over.js';
import type { Wallet } from '../../src/wallet/wallet.js';
import {
  fund,
  NOBODY,
  newWallet,
  nextBlock,
  openWallet,
  paymentFromOutside,
  refreshOnce,
  removeFolders,
  tokens,
} from '../support/wallet-fixtures.js';

afterAll(removeFolders);

/** Every movement, oldest first; they add up to the balance. */
async function movementsOf(wallet: Wallet) {
  const { movements } = await wallet.history.movements({ limit: 100, newestFirst: false });
  expect(movements.reduce((sum, { net }) => sum + net, 0n)).toBe(wallet.coins.totals().running);
  return movements.map(({ kind, direction, state, amount, net }) => ({ kind, direction, state, amount, net }));
}

function outputOf(transaction: Transaction, n: number) {
  const txOut = transaction.outputs[n];
  if (txOut === undefined) throw new Error(`no output ${n}`);
  return [{ tHash: transactionHash(transaction), n }, txOut] as const;
}

const funded = { kind: 'payment', direction: 'in', state: 'confirmed', amount: 1_000_000n, net: 1_000_000n };
const paid = { kind: 'payment', direction: 'out', state: 'confirmed', amount: 10n, net: -10n };

/** A wallet that has paid 10 of 1,000,000. */
async function payingWallet() {
  const open = await newWallet();
  await fund(open.wallet, [1_000_000n]);
  const { transaction, hash } = await open.wallet.payments.pay({ address: NOBODY, amount: 10n, locktime: 0n });
  return { ...open, transaction, hash };
}

describe('a wallet that has started over (docs/operations.md#rebuilding)', () => {
  it.each([12, 0])(
    'shows what a confirmed payment has paid, those of the last %i hours queued again',
    async (hours) => {
      const { wallet, folder, close, transaction, hash } = await payingWallet();
      await wallet.chain.apply(nextBlock(wallet, [transaction]));
      await close();
      const kv = await LevelKv.open(join(folder, 'db'), { createIfMissing: false });
      await startOver(kv, systemClock.now() + 1, hours);
      await kv.close();
      const again = await openWallet(folder);
      await refreshOnce(again.wallet, again.wallet.keys.watched(), [outputOf(transaction, 1)], 1);
      await again.wallet.settlement.markConfirmed(hash);
      expect(await movementsOf(again.wallet)).toEqual([funded, paid]);
      expect(again.wallet.coins.totals().running).toBe(999_990n);
      await again.close();
    },
  );

  it.each([12, 0])('shows the same when it reads all blocks again, with %i hours', async (hours) => {
    const { wallet, folder, close } = await newWallet();
    const deposit = paymentFromOutside([tokens(await wallet.newAddress(), 1_000_000n)]);
    const blocks = [nextBlock(wallet, [deposit])];
    for (const one of blocks) await wallet.chain.apply(one);
    // The second spends the change of the first, so that it is spent in what the wallet has kept.
    for (let i = 0; i < 2; i++) {
      const { transaction } = await wallet.payments.pay({ address: NOBODY, amount: 10n, locktime: 0n });
      const next = nextBlock(wallet, [transaction]);
      await wallet.chain.apply(next);
      blocks.push(next);
    }
    await close();
    const kv = await LevelKv.open(join(folder, 'db'), { createIfMissing: false });
    await startOver(kv, systemClock.now() + 1, hours);
    await kv.close();
    const again = await openWallet(folder);
    for (const one of blocks) expect(await again.wallet.chain.apply(one)).toBe('applied');
    expect(await movementsOf(again.wallet)).toEqual([funded, paid, paid]);
    expect(again.wallet.coins.totals().running).toBe(999_980n);
    await again.close();
  });
});

describe('a copy of a payment with another unsigned version', () => {
  it('counts once when a refresh brings its change before its block', async () => {
    const { wallet, close, transaction } = await payingWallet();
    const copy = { ...transaction, version: transaction.version + 1n };
    const change = outputOf(copy, 1);
    await refreshOnce(wallet, [change[1].scriptPublicKey ?? ''], [change], wallet.chain.height + 1);
    await wallet.chain.apply(nextBlock(wallet, [copy]));
    expect(await movementsOf(wallet)).toEqual([funded, paid]);
    expect(wallet.coins.totals().running).toBe(999_990n);
    await close();
  });

  it('counts once when a refresh of everything is ahead of its block', async () => {
    const { wallet, close, transaction } = await payingWallet();
    const copy = { ...transaction, version: transaction.version + 1n };
    const next = nextBlock(wallet, [copy]);
    const [address = ''] = copy.outputs.slice(1).map(({ scriptPublicKey }) => scriptPublicKey ?? '');
    await refreshOnce(wallet, [address], [outputOf(copy, 1)], wallet.chain.height + 1);
    await wallet.chain.advanceTo({ height: wallet.chain.height + 1, hash: next.hash });
    expect(await wallet.chain.apply(next)).toBe('known');
    expect(await movementsOf(wallet)).toEqual([funded, paid]);
    await close();
  });

  it('leaves nothing of its change when that is spent before the wallet sees it', async () => {
    const { wallet, close, transaction } = await payingWallet();
    const next = nextBlock(wallet, [{ ...transaction, version: transaction.version + 1n }]);
    await wallet.chain.advanceTo({ height: wallet.chain.height + 1, hash: next.hash });
    expect(await wallet.chain.apply(next)).toBe('known');
    expect(wallet.coins.totals().running).toBe(0n);
    const gone = { kind: 'unexplained', direction: 'out', state: 'confirmed', amount: 999_990n, net: -999_990n };
    expect(await movementsOf(wallet)).toEqual([funded, paid, gone]);
    await close();
  });
});

it('one transaction to two addresses is one payment, though they are refreshed one after the other', async () => {
  const open = await newWallet();
  let { wallet } = open;
  const [a, b] = [await wallet.newAddress(), await wallet.newAddress()];
  const transaction = paymentFromOutside([tokens(a, 5n), tokens(b, 7n)]);
  await refreshOnce(wallet, [a], [outputOf(transaction, 0)], 3);
  await open.close();
  const again = await openWallet(open.folder);
  ({ wallet } = again);
  await refreshOnce(wallet, [b], [outputOf(transaction, 1)], 3);
  expect(await movementsOf(wallet)).toEqual([{ ...funded, amount: 12n, net: 12n }]);
  // What was gone and is there again was no part of it.
  await refreshOnce(wallet, [a], [], 4);
  await refreshOnce(wallet, [a], [outputOf(transaction, 0)], 5);
  const unexplained = { kind: 'unexplained', state: 'confirmed', amount: 5n };
  expect(await movementsOf(wallet)).toEqual([
    { ...funded, amount: 12n, net: 12n },
    { ...unexplained, direction: 'out', net: -5n },
    { ...unexplained, direction: 'in', net: 5n },
  ]);
  await again.close();
});

it('a transaction with inputs of this wallet and of others comes or goes by what the wallet has more or less', async () => {
  for (const [back, direction, amount] of [
    [120n, 'in', 70n],
    [20n, 'out', 30n],
    [50n, 'self', 0n],
  ] as const) {
    const { wallet, close } = await newWallet();
    await fund(wallet, [50n]);
    const [[coin] = []] = (await wallet.info({})).addresses.values();
    if (coin === undefined) throw new Error('no coin');
    const theirs = paymentFromOutside([tokens(NOBODY, 30n), tokens(await wallet.newAddress(), back)]);
    const both = { ...theirs, inputs: [{ previousOut: coin.outPoint, script: [] }, ...theirs.inputs] };
    await wallet.chain.apply(nextBlock(wallet, [both]));
    expect((await movementsOf(wallet))[1]).toMatchObject({ direction, amount, net: back - 50n });
    await close();
  }
});
