/**
 * A payment that was rejected is made again, and is the very same transaction: without change there is nothing in it that
 * could differ. It is one entry, which is queued again (docs/wallet.md#payments).
 */

import { afterAll, describe, expect, it } from 'vitest';
import type { Kv } from '../../src/db/kv.js';
import type { KeyedRequest } from '../../src/wallet/idempotency-keys.js';
import type { Wallet } from '../../src/wallet/wallet.js';
import { fund, NOBODY, newWallet, nextBlock, openWallet, removeFolders } from '../support/wallet-fixtures.js';

afterAll(removeFolders);

const payAll = (wallet: Wallet) => wallet.payments.pay({ address: NOBODY, amount: 10n, locktime: 0n });

const movementsOf = async (wallet: Wallet) =>
  (await wallet.history.movements({ newestFirst: false, limit: 100 })).movements.map(({ hash, state, net }) => [
    hash,
    state,
    net,
  ]);

const statesOf = async (wallet: Wallet) =>
  (await wallet.outgoing.latest()).map(({ hash, state, reason }) => [hash, state, reason]);

/** A wallet whose only coin went into a payment without change, which was rejected. */
async function afterRejection(wrap?: (kv: Kv) => Kv) {
  const open = await newWallet(wrap === undefined ? {} : { wrap });
  await fund(open.wallet, [10n]);
  const { hash } = await payAll(open.wallet);
  await open.wallet.settlement.markRejected(hash, 'refused once');
  const [deposit] = await movementsOf(open.wallet);
  return { ...open, hash, deposit };
}

describe('a rejected payment that is made again with the same bytes (docs/wallet.md#payments)', () => {
  it('is one entry, queued again and then confirmed, and its amount counts once', async () => {
    const { wallet, hash, deposit, close } = await afterRejection();
    const again = await payAll(wallet);
    expect(again.hash).toBe(hash);
    expect(await statesOf(wallet)).toEqual([[hash, 'queued', '']]);
    expect(await movementsOf(wallet)).toEqual([deposit, [hash, 'queued', -10n]]);
    expect(wallet.outgoing.takeQueued()?.hash).toBe(hash);
    await wallet.settlement.markSent(hash);
    await wallet.chain.apply(nextBlock(wallet, [again.transaction]));
    expect(await statesOf(wallet)).toEqual([[hash, 'confirmed', '']]);
    expect(await movementsOf(wallet)).toEqual([deposit, [hash, 'confirmed', -10n]]);
    expect(wallet.coins.totals().running).toBe(0n);
    await close();
  });

  it('is so too when the node has started in between, twice, and it was rejected a second time', async () => {
    const { hash, deposit, folder, close } = await afterRejection();
    await close();
    const second = await openWallet(folder);
    await payAll(second.wallet);
    await second.wallet.settlement.markRejected(hash, 'refused twice');
    expect(await statesOf(second.wallet)).toEqual([[hash, 'rejected', 'refused twice']]);
    expect(second.wallet.coins.totals().running).toBe(10n);
    await payAll(second.wallet);
    await second.close();
    const third = await openWallet(folder);
    expect(await statesOf(third.wallet)).toEqual([[hash, 'queued', '']]);
    expect(await movementsOf(third.wallet)).toEqual([deposit, [hash, 'queued', -10n]]);
    expect(third.wallet.outgoing.takeQueued()?.hash).toBe(hash);
    expect(third.wallet.coins.totals().running).toBe(0n);
    await third.close();
  });

  it('is found in a block when it was rejected a second time: confirmed, once', async () => {
    const { wallet, hash, deposit, close } = await afterRejection();
    const { transaction } = await payAll(wallet);
    await wallet.settlement.markRejected(hash, 'refused twice');
    await wallet.chain.apply(nextBlock(wallet, [transaction]));
    expect(await statesOf(wallet)).toEqual([[hash, 'confirmed', '']]);
    expect(await movementsOf(wallet)).toEqual([deposit, [hash, 'confirmed', -10n]]);
    expect(wallet.coins.totals().running).toBe(0n);
    await close();
  });

  it('stays rejected, with its reason, when it cannot be written; the coin is free', async () => {
    let fails = false;
    const wrap = (kv: Kv): Kv =>
      new Proxy(kv, {
        get: (target, name) => {
          if (name === 'write' && fails) return () => Promise.reject(new Error('no space left'));
          const found: unknown = Reflect.get(target, name, target);
          return typeof found === 'function' ? found.bind(target) : found;
        },
      });
    const { wallet, hash, deposit, folder, close } = await afterRejection(wrap);
    fails = true;
    await expect(payAll(wallet)).rejects.toMatchObject({ code: 'wallet_write_failed' });
    fails = false;
    expect(wallet.coins.totals().running).toBe(10n);
    expect(wallet.outgoing.inFlight()).toEqual([]);
    await wallet.labels.set([]);
    expect(await statesOf(wallet)).toEqual([[hash, 'rejected', 'refused once']]);
    expect(await movementsOf(wallet)).toEqual([deposit, [hash, 'rejected', 0n]]);
    await payAll(wallet);
    expect(await statesOf(wallet)).toEqual([[hash, 'queued', '']]);
    await close();
    const reopened = await openWallet(folder);
    expect(await movementsOf(reopened.wallet)).toEqual([deposit, [hash, 'queued', -10n]]);
    await reopened.close();
  });

  it('leaves the answers of both requests: a repetition of either pays nothing more', async () => {
    const { wallet, close } = await newWallet();
    await fund(wallet, [10n, 25n]);
    const request = (key: string): KeyedRequest => ({ scope: 'callers', key, request: ['address', NOBODY, '10'] });
    const payOnce = (key: string) =>
      wallet.idempotencyKeys.once(request(key), async (keep) => {
        const { hash } = await wallet.payments.pay({ address: NOBODY, amount: 10n, locktime: 0n, keep });
        return hash;
      });
    const hash = await payOnce('first');
    await wallet.settlement.markRejected(hash, 'refused once');
    expect(await payOnce('first')).toBe(hash);
    expect(await statesOf(wallet)).toEqual([[hash, 'rejected', 'refused once']]);
    expect(await payOnce('second')).toBe(hash);
    expect([await payOnce('first'), await payOnce('second')]).toEqual([hash, hash]);
    expect(await statesOf(wallet)).toEqual([[hash, 'queued', '']]);
    expect(wallet.coins.totals().running).toBe(25n);
    await close();
  });
});

describe('a rejected payment that is in a block all the same (docs/wallet.md#payments)', () => {
  it('is confirmed, and one to the same address of the same amount from other coins is not taken for it', async () => {
    const { wallet, close } = await newWallet();
    const pay = (amount: bigint) => wallet.payments.pay({ address: NOBODY, amount, locktime: 0n });
    await fund(wallet, [5n, 5n]);
    const first = await pay(10n);
    await wallet.settlement.markRejected(first.hash, 'refused once');
    await fund(wallet, [5n]);
    const small = await pay(5n);
    const second = await pay(10n);
    expect(second.hash).not.toBe(first.hash);
    await wallet.chain.apply(nextBlock(wallet, [first.transaction]));
    const reason = `an input was spent by another transaction: ${first.hash}`;
    expect(await statesOf(wallet)).toEqual([
      [first.hash, 'confirmed', ''],
      [small.hash, 'rejected', reason],
      [second.hash, 'rejected', reason],
    ]);
    const nets = (await movementsOf(wallet)).map(([, , net]) => net);
    expect(nets).toEqual([10n, -10n, 5n, 0n, 0n]);
    expect(wallet.coins.totals().running).toBe(5n);
    await close();
  });
});
