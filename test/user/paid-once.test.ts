/** Payments, items and donations with an idempotency key (docs/wallet.md#paid-exactly-once). */

import { afterAll, afterEach, beforeEach, expect, it } from 'vitest';
import { createTestNet, richUser, type TestNet, type TestUser, until } from '../support/user.js';
import { NOBODY, PASSPHRASE, removeFolders } from '../support/wallet-fixtures.js';

const COINS = [100n, 100n, 100n, 100n];

let net: TestNet;

beforeEach(async () => {
  net = await createTestNet();
});
afterEach(() => net.stop());
afterAll(removeFolders);

const order = (amount: bigint, idempotencyKey: string, address = NOBODY) => ({
  address,
  amount,
  locktime: 0n,
  passphrase: PASSPHRASE,
  idempotencyKey,
});

const history = ({ wallet }: TestUser) => wallet.outgoing.latest();

it('checks the passphrase of a repetition, and takes the key for the same with a new passphrase', async () => {
  const node = await richUser(net, COINS);
  const { txHash } = await node.user.payAddress(order(10n, 'a'));
  const wrong = node.user.payAddress({ ...order(10n, 'a'), passphrase: 'wrong' });
  await expect(wrong).rejects.toMatchObject({ code: 'wrong_passphrase' });
  await node.wallet.keystore.changePassphrase(PASSPHRASE, 'another');
  expect(await node.user.payAddress({ ...order(10n, 'a'), passphrase: 'another' })).toEqual({ txHash });
  expect(await history(node)).toHaveLength(1);
});

it('takes a key for payments, items and donations together', async () => {
  const node = await richUser(net, COINS);
  await node.user.payAddress(order(10n, 'a'));
  const reused = { code: 'idempotency_key_reused' };
  const item = { spec: 'Default', amount: 1n, metadata: null } as const;
  await expect(node.user.createItem({ ...item, idempotencyKey: 'a' })).rejects.toMatchObject(reused);
  const peer = { idempotencyKey: 'a' };
  await expect(node.user.requestDonation('127.0.0.1:12360', peer)).rejects.toMatchObject(reused);
  await expect(node.user.payPeer(order(10n, 'a', '127.0.0.1:12360'))).rejects.toMatchObject(reused);
  const made = await node.user.createItem({ ...item, idempotencyKey: 'b' });
  expect(await node.user.createItem({ ...item, idempotencyKey: 'b' })).toEqual(made);
  const other = { ...item, metadata: 'null' };
  await expect(node.user.createItem({ ...other, idempotencyKey: 'b' })).rejects.toMatchObject(reused);
  expect(await history(node)).toHaveLength(2);
});

it('pays a peer once, though the request is repeated at once and after a restart', async () => {
  const [payer, payee] = [await richUser(net, COINS), await net.user()];
  const pay = (from: TestUser) => from.user.payPeer(order(10n, 'a', payee.address));
  await Promise.all([pay(payer), pay(payer), pay(payer)]);
  await payer.stop();
  const again = await net.user({ folder: payer.folder });
  await payee.stop();
  // The peer is not even asked for an address.
  await pay(again);
  expect(await history(again)).toHaveLength(1);
});

it('is given one donation for a key, though the answer was lost and the asking node has forgotten it', async () => {
  const [donor, asker] = [await richUser(net, COINS, { donationAmount: 5n }), await net.user()];
  const lost = new Error('the wallet was killed before it kept the key');
  const once = asker.wallet.idempotencyKeys.once.bind(asker.wallet.idempotencyKeys);
  asker.wallet.idempotencyKeys.once = (keyed, make) =>
    once(keyed, async () => {
      await make(() => undefined);
      throw lost;
    });
  const ask = () => asker.user.requestDonation(donor.address, { idempotencyKey: 'a' });
  await expect(ask()).rejects.toBe(lost);
  await until(async () => (await history(donor)).length === 1);
  asker.wallet.idempotencyKeys.once = once;
  await ask();
  await ask();
  expect(await history(donor)).toHaveLength(1);
  await asker.user.requestDonation(donor.address, { idempotencyKey: 'b' });
  expect(await history(donor)).toHaveLength(2);
});
