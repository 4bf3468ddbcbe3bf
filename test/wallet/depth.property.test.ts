/**
 * How deep the payments of a wallet build on each other while no block comes: own change is taken where it is least deep, so that
 * what waits for a mempool node is many short chains, which the next blocks hold at once (docs/adr/0023-own-change.md).
 */

import { afterAll, describe, expect } from 'vitest';
import { spentOutPoints } from '../../src/chain/transaction.js';
import type { OwnTransaction } from '../../src/wallet/payments/outgoing.js';
import type { Wallet } from '../../src/wallet/wallet.js';
import { fc, test } from '../support/property.js';
import { fund, NOBODY, newWallet, nextBlock, openWallet, removeFolders } from '../support/wallet-fixtures.js';

afterAll(removeFolders);

const MOST = 50;

const pay = (wallet: Wallet, amount: number) =>
  wallet.payments.pay({ address: NOBODY, amount: BigInt(amount), locktime: 0n });

/** How many of these, itself included, stand one behind the other at the end of which each is. */
function depthsOf(made: Iterable<OwnTransaction>): ReadonlyMap<string, number> {
  const depths = new Map<string, number>();
  for (const { hash, transaction } of made) {
    depths.set(hash, 1 + Math.max(0, ...spentOutPoints(transaction).map(({ tHash }) => depths.get(tHash) ?? 0)));
  }
  return depths;
}

const deepest = (made: Iterable<OwnTransaction>): number => Math.max(0, ...depthsOf(made).values());

describe('payments that no block has', () => {
  test.prop(
    [
      fc.array(fc.nat(10 * MOST), { minLength: 1, maxLength: 12 }),
      fc.array(fc.integer({ min: 1, max: MOST }), { minLength: 1, maxLength: 60, size: 'max' }),
      fc.boolean(),
    ],
    { numRuns: 30, endOnFailure: true },
  )(
    'are ceil(N/K) + 1 deep at most when there are N, from K coins of which each has enough for its share',
    async (more, amounts, isAtOnce) => {
      const share = Math.ceil(amounts.length / more.length);
      const { wallet, close } = await newWallet();
      await fund(
        wallet,
        more.map((extra) => BigInt((share + 1) * MOST + extra)),
      );
      if (isAtOnce) await Promise.all(amounts.map((amount) => pay(wallet, amount)));
      else for (const amount of amounts) await pay(wallet, amount);
      expect(deepest(wallet.outgoing.inFlight())).toBeLessThanOrEqual(share + 1);
      await close();
    },
  );

  test.prop(
    [
      fc.array(fc.integer({ min: 1, max: 2 * MOST }), { minLength: 1, maxLength: 8 }),
      fc.array(
        fc.oneof(
          { weight: 5, arbitrary: fc.record({ pay: fc.integer({ min: 1, max: MOST }) }) },
          { weight: 1, arbitrary: fc.record({ mine: fc.nat(4) }) },
          { weight: 1, arbitrary: fc.record({ reject: fc.nat() }) },
          { weight: 1, arbitrary: fc.constant('reopen' as const) },
        ),
        { maxLength: 40, size: 'max' },
      ),
    ],
    { numRuns: 40, endOnFailure: true },
  )(
    'spend nothing that is deeper than what would have sufficed, whatever blocks, refusals and restarts came before',
    async (coins, steps) => {
      let open = await newWallet();
      await fund(
        open.wallet,
        coins.map((amount) => BigInt(amount)),
      );
      for (const step of steps) {
        const { wallet } = open;
        const { outgoing } = wallet;
        const inFlight = outgoing.inFlight();
        if (step === 'reopen') {
          await open.close();
          open = await openWallet(open.folder);
        } else if ('mine' in step) {
          const transactions = inFlight.slice(0, step.mine).map(({ transaction }) => transaction);
          await wallet.chain.apply(nextBlock(wallet, transactions));
        } else if ('reject' in step) {
          const { hash } = inFlight[step.reject % inFlight.length] ?? { hash: '' };
          await wallet.settlement.markRejected(hash, 'a rule');
        } else if (wallet.coins.totals().available >= BigInt(step.pay)) {
          const depths = depthsOf(inFlight);
          const free = [...(await wallet.info({})).addresses.values()].flat();
          const { transaction } = await pay(wallet, step.pay);
          const taken = Math.max(...spentOutPoints(transaction).map(({ tHash }) => depths.get(tHash) ?? 0));
          const shallower = free.filter(({ outPoint }) => (depths.get(outPoint.tHash) ?? 0) < taken);
          const sum = shallower.reduce((total, { value }) => total + Number(value.amount), 0);
          expect(sum).toBeLessThan(step.pay);
        }
      }
      await open.close();
    },
  );
});
