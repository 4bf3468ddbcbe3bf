/** What the wallet says of its past (docs/wallet.md#history): right figures for every movement, each once. */

import { afterAll, describe, expect, it } from 'vitest';
import { coinbaseTransaction } from '../../src/chain/builders.js';
import type { MovementQuery, OwnPayment } from '../../src/wallet/service.js';
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

/** What left the wallet, by the list of payments as clients read it. */
const left = ({ outputs }: OwnPayment): bigint =>
  outputs.reduce((sum, { value, own }) => (own ? sum : sum + value.amount), 0n);

describe('the list of own payments', () => {
  it('keeps what a payment was when the key of its receiver is imported later', async () => {
    const [one, other] = [await newWallet(), await newWallet()];
    await fund(one.wallet, [100n]);
    const address = await other.wallet.newAddress();
    const { hash, transaction } = await one.wallet.payments.pay({ address, amount: 30n, locktime: 0n });
    await one.wallet.chain.apply(nextBlock(one.wallet, [transaction]));
    expect((await one.wallet.history.payments()).map(left)).toEqual([30n]);
    await one.wallet.importKeyPairs(await other.wallet.exportKeyPairs()).catch(() => undefined);
    expect((await one.wallet.history.payments()).map((payment) => [payment.hash, left(payment)])).toEqual([
      [hash, 30n],
    ]);
    await one.close();
    await other.close();
  });
});

/** Movements as a reader sees them, oldest first. */
async function listed(wallet: Wallet): Promise<readonly unknown[]> {
  const { movements } = await wallet.history.movements({ limit: 100, newestFirst: false });
  return movements.map(({ kind, direction, state, amount, net, fee, height }) => [
    `${kind} ${direction} ${state}`,
    amount,
    net,
    fee,
    height,
  ]);
}

describe('the movements of a wallet', () => {
  it('are payments in and out, to itself, rewards, items and merges, with amount, fee and block', async () => {
    const { wallet, close } = await newWallet();
    await fund(wallet, [100n]);
    const pay = async (address: string, amount: bigint) =>
      (await wallet.payments.pay({ address, amount, locktime: 0n })).transaction;
    const out = await pay(NOBODY, 30n);
    expect((await listed(wallet)).at(-1)).toEqual(['payment out queued', 30n, -30n, 0n, null]);
    await wallet.chain.apply(nextBlock(wallet, [out]));
    // The change of 60 is no part of what it has paid itself.
    const toItself = await pay(await wallet.newAddress(), 10n);
    await wallet.chain.apply(
      nextBlock(wallet, [toItself], coinbaseTransaction(2n, 9n, await wallet.chain.rewardAddress())),
    );
    await wallet.payments.createItem({ spec: 'Create', amount: 5n, metadata: null });
    const refused = await wallet.payments.pay({ address: NOBODY, amount: 1n, locktime: 0n });
    await wallet.settlement.markRejected(refused.hash, 'invalid_signature');
    expect(await listed(wallet)).toEqual([
      ['payment in confirmed', 100n, 100n, null, 0],
      ['payment out confirmed', 30n, -30n, 0n, 1],
      ['payment self confirmed', 10n, 0n, 0n, 2],
      ['reward in confirmed', 9n, 9n, null, 2],
      ['item in queued', 0n, 0n, null, null],
      ['payment out rejected', 1n, 0n, 0n, null],
    ]);
    const payments = await wallet.history.payments();
    expect(payments.map(({ amount, toSelf, height }) => [amount, toSelf, height])).toEqual([
      [30n, false, 1],
      [10n, true, 2],
      [0n, false, null],
      [1n, false, null],
    ]);
    await close();
  });

  it('tell who has paid, and to which address', async () => {
    const [payer, payee] = [await newWallet(), await newWallet()];
    const [from, to] = [await payer.wallet.newAddress(), await payee.wallet.newAddress()];
    await payer.wallet.chain.apply(nextBlock(payer.wallet, [paymentFromOutside([tokens(from, 50n)])]));
    const { transaction } = await payer.wallet.payments.pay({ address: to, amount: 20n, locktime: 0n });
    await payee.wallet.chain.apply(nextBlock(payee.wallet, [transaction]));
    const { movements } = await payee.wallet.history.movements({ limit: 10, newestFirst: true });
    expect(movements).toMatchObject([
      { from: [from], outputs: [{ address: to, amount: 20n, own: true }, { own: false }] },
    ]);
    await payer.close();
    await payee.close();
  });

  it('keep what was paid when the key of the receiver is imported, and count what came with it once', async () => {
    const [one, other] = [await newWallet(), await newWallet()];
    await fund(one.wallet, [100n]);
    const address = await other.wallet.newAddress();
    const { hash, transaction } = await one.wallet.payments.pay({ address, amount: 30n, locktime: 0n });
    await one.wallet.chain.apply(nextBlock(one.wallet, [transaction]));
    const before = await listed(one.wallet);
    await one.wallet.importKeyPairs(await other.wallet.exportKeyPairs()).catch(() => undefined);
    await refreshOnce(one.wallet, [address], [[{ tHash: hash, n: 0 }, tokens(address, 30n)]], 1);
    expect(await listed(one.wallet)).toEqual([...before, ['import in confirmed', 30n, 30n, null, null]]);
    expect(one.wallet.coins.totals().running).toBe(100n);
    await one.close();
    await other.close();
  });
});

describe('pages of the history', () => {
  it('have the same movements for ever, whatever comes after them, and pass through filters', async () => {
    const { wallet, close } = await newWallet();
    await fund(wallet, [10n, 20n, 30n]);
    await fund(wallet, [40n]);
    const first = await wallet.history.movements({ limit: 1, newestFirst: false });
    const newest = await wallet.history.movements({ limit: 1, newestFirst: true });
    const { hash } = await wallet.payments.pay({ address: NOBODY, amount: 5n, locktime: 0n });
    await fund(wallet, [50n]);
    await wallet.settlement.markRejected(hash, 'a rule');
    expect(await wallet.history.movements({ limit: 1, newestFirst: false })).toEqual(first);
    expect(first.next).toBe(1);
    const behind = await wallet.history.movements({ limit: 1, newestFirst: true, cursor: newest.next ?? -1 });
    expect(behind.movements).toEqual(first.movements);
    expect(behind.next).toBeNull();
    const numbers = async (query: Partial<MovementQuery>) =>
      (await wallet.history.movements({ limit: 100, newestFirst: true, ...query })).movements.map(
        ({ number }) => number,
      );
    expect(await numbers({})).toEqual([3, 2, 1, 0]);
    expect(await numbers({ direction: 'in' })).toEqual([3, 1, 0]);
    expect(await numbers({ state: 'rejected' })).toEqual([2]);
    expect(await numbers({ address: NOBODY })).toEqual([2]);
    expect(await numbers({ fromHeight: 1 })).toEqual([3, 1]);
    expect(await numbers({ toHeight: 0 })).toEqual([0]);
    expect(await numbers({ kind: 'reward' })).toEqual([]);
    await close();
  });
});

describe('labels', () => {
  it('stay with the wallet, all of a request or none', async () => {
    const { wallet, folder, close } = await newWallet();
    await fund(wallet, [10n]);
    const { movements } = await wallet.history.movements({ limit: 1, newestFirst: true });
    const name = movements[0]?.hash ?? '';
    await wallet.labels.set([{ kind: 'transaction', name, label: 'rent — May' }]);
    const tooLong = { kind: 'address' as const, name: NOBODY, label: 'x'.repeat(257) };
    const good = { kind: 'address' as const, name: NOBODY, label: 'nobody' };
    await expect(wallet.labels.set([good, tooLong])).rejects.toMatchObject({ code: 'invalid_request' });
    await close();
    const again = await openWallet(folder);
    expect(again.wallet.labels.all()).toEqual([{ kind: 'transaction', name, label: 'rent — May' }]);
    expect((await again.wallet.history.movements({ limit: 1, newestFirst: true })).movements).toMatchObject([
      { label: 'rent — May' },
    ]);
    await again.wallet.labels.set([{ kind: 'transaction', name, label: '' }]);
    expect(again.wallet.labels.all()).toEqual([]);
    await again.close();
  });
});
