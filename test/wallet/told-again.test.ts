/** What the wallet remembers of imports, and says of payments and labels, when the disk fails or the chain is of another mind. */

import { afterAll, describe, expect, it } from 'vitest';
import { transactionHash } from '../../src/chain/hash.js';
import { createdOutPoints } from '../../src/chain/transaction.js';
import { withWrite } from '../support/kv.js';
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

it('funds of an imported key are an import, also when the wallet starts again before it has asked for them', async () => {
  const other = await newWallet();
  const foreign = await other.wallet.newAddress();
  const open = await newWallet();
  await expect(open.wallet.importKeyPairs(await other.wallet.exportKeyPairs())).rejects.toMatchObject({
    code: 'refresh_failed',
  });
  await open.close();
  const again = await openWallet(open.folder);
  const { wallet } = again;
  const [held, later] = [paymentFromOutside([tokens(foreign, 9n)]), paymentFromOutside([tokens(foreign, 1n)])];
  await refreshOnce(wallet, wallet.keys.watched(), [[{ tHash: transactionHash(held), n: 0 }, tokens(foreign, 9n)]], 3);
  await again.close();
  const third = await openWallet(open.folder);
  await third.wallet.chain.advanceTo({ height: 3, hash: null });
  await third.wallet.chain.apply(nextBlock(third.wallet, [later]));
  const { movements } = await third.wallet.history.movements({ limit: 10, newestFirst: false });
  expect(movements.map(({ kind, amount }) => [kind, amount])).toEqual([
    ['import', 9n],
    ['payment', 1n],
  ]);
  await Promise.all([third.close(), other.close()]);
});

describe('a payment that was rejected and is in the chain all the same', () => {
  it.each(['a refresh', 'a block'])('is confirmed in the list of payments and in the history, by %s', async (by) => {
    const open = await newWallet();
    await fund(open.wallet, [100n]);
    const { hash, transaction } = await open.wallet.payments.pay({ address: NOBODY, amount: 30n, locktime: 0n });
    await open.wallet.settlement.markRejected(hash, 'refused');
    await open.close();
    const again = await openWallet(open.folder);
    const { wallet } = again;
    if (by === 'a block') await wallet.chain.apply(nextBlock(wallet, [transaction]));
    else {
      const [, change] = createdOutPoints(transaction, hash);
      if (change === undefined) throw new Error('no change');
      await refreshOnce(wallet, wallet.keys.watched(), [[change.outPoint, change.txOut]], wallet.chain.height + 1);
    }
    expect(wallet.coins.totals().running).toBe(70n);
    const { movements } = await wallet.history.movements({ limit: 10, newestFirst: false });
    expect(movements.find((movement) => movement.hash === hash)).toMatchObject({ state: 'confirmed', reason: '' });
    expect(await wallet.history.payments()).toMatchObject([{ hash, state: 'confirmed', reason: '' }]);
    await again.close();
    const third = await openWallet(open.folder);
    expect(await third.wallet.history.payments()).toMatchObject([{ hash, state: 'confirmed', reason: '' }]);
    await third.close();
  });
});

describe('while the disk takes nothing', () => {
  it('errors say what was not done, and a label is the one from before', async () => {
    let isFull = false;
    const { wallet, close } = await newWallet({
      wrap: (kv) =>
        withWrite(kv, (batch, options) => (isFull ? Promise.reject(new Error('full')) : kv.write(batch, options))),
    });
    await fund(wallet, [100n]);
    const label = { kind: 'address', name: NOBODY } as const;
    await wallet.labels.set([{ ...label, label: 'first' }]);
    const { hash } = await wallet.payments.pay({ address: NOBODY, amount: 1n, locktime: 0n });
    isFull = true;
    const failed = async (done: Promise<unknown>) => done.then(String, (error: Error) => error.message);
    const paid = wallet.payments.pay({ address: NOBODY, amount: 1n, locktime: 0n });
    expect(await failed(paid)).toBe('the wallet cannot be written to disk; nothing was paid');
    const others = [wallet.labels.set([{ ...label, label: 'second' }]), wallet.newAddress()];
    for (const other of others) expect(await failed(other)).toBe('the wallet cannot be written to disk');
    expect(wallet.labels.all()).toEqual([{ ...label, label: 'first' }]);
    expect(await failed(wallet.settlement.markRejected(hash, 'abandoned'))).toBe(
      'the wallet cannot be written to disk',
    );
    isFull = false;
    await wallet.newAddress();
    expect(wallet.labels.all()).toEqual([{ ...label, label: 'first' }]);
    expect(await wallet.history.payments()).toMatchObject([{ hash, state: 'rejected', reason: 'abandoned' }]);
    await close();
  });
});
