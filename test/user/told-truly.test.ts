/** What a payment is said to be, and that one payment in trouble is no trouble for others (docs/wallet.md#payments). */

import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createTestNet, order, richUser, stateOf, type TestNet, type TestUser, until } from '../support/user.js';
import { NOBODY, removeFolders, tokens } from '../support/wallet-fixtures.js';

let net: TestNet;

beforeEach(async () => {
  net = await createTestNet();
});
afterEach(() => net.stop());
afterAll(removeFolders);

const entryOf = async ({ wallet }: TestUser, hash: string) =>
  (await wallet.outgoing.latest()).find((entry) => entry.hash === hash);

/** Pays so that the mempool node admits it and the answer is lost; its block comes, and after a day it is forgotten. */
async function forgottenPayment(node: TestUser, amount: bigint): Promise<string> {
  net.mempool.silent = true;
  const { txHash } = await node.user.payAddress(order(amount));
  await until(() => net.mempool.submissions.includes(txHash));
  await node.stop();
  net.mempool.silent = false;
  net.mempool.mine();
  net.mempool.forget();
  return txHash;
}

/** Its payee has paid with it. */
function spendByPayee(txHash: string): void {
  for (const [key, [{ tHash }]] of net.mempool.utxos) if (tHash === txHash) net.mempool.utxos.delete(key);
}

describe('a payment in the chain, of which the mempool node knows no more', () => {
  it('is not rejected when the node refuses its form meanwhile, and its inputs do not come back', async () => {
    const before = await richUser(net, [100n, 7n]);
    const txHash = await forgottenPayment(before, 100n);
    spendByPayee(txHash);
    net.mempool.refuseWith = 'transaction_rejected';
    const sent = net.mempool.submissions.length;
    const node = await net.user({ folder: before.folder });
    await until(() => net.mempool.submissions.length >= sent + 2);
    expect(await stateOf(node, txHash)).not.toBe('rejected');
    expect(node.wallet.coins.totals()).toMatchObject({ running: 7n, available: 7n });
  });

  it('is confirmed when its payee has it, though it left no change and its answer was lost', async () => {
    const before = await richUser(net, [100n, 7n]);
    const txHash = await forgottenPayment(before, 100n);
    const node = await net.user({ folder: before.folder });
    await until(async () => (await stateOf(node, txHash)) === 'confirmed');
    expect(node.wallet.coins.totals()).toMatchObject({ running: 7n, available: 7n });
  });

  it('waits, and cannot be abandoned, when the payee has spent it and nobody has the block', async () => {
    const before = await richUser(net, [100n, 7n]);
    const txHash = await forgottenPayment(before, 100n);
    spendByPayee(txHash);
    const sent = net.mempool.submissions.length;
    const node = await net.user({ folder: before.folder });
    await until(() => net.mempool.submissions.length >= sent + 2);
    expect(await stateOf(node, txHash)).toBe('queued');
    await expect(node.user.abandonPayment(txHash)).rejects.toMatchObject({ code: 'payment_sent' });
    expect(node.wallet.coins.totals()).toMatchObject({ running: 7n, available: 7n });
  });

  it('is not confirmed by what others have paid to its payee', async () => {
    const node = await richUser(net, [100n]);
    net.mempool.grant([tokens(NOBODY, 100n)]);
    net.mempool.refuseWith = 'unknown_input';
    const { txHash } = await node.user.payAddress(order(100n));
    await until(() => net.mempool.submissions.length >= 3);
    expect(await stateOf(node, txHash)).toBe('queued');
  });

  it('is confirmed when its change is there', async () => {
    const before = await richUser(net, [100n]);
    const txHash = await forgottenPayment(before, 60n);
    const node = await net.user({ folder: before.folder });
    await until(async () => (await stateOf(node, txHash)) === 'confirmed');
    expect(node.wallet.coins.totals()).toMatchObject({ running: 40n, available: 40n });
  });
});

describe('a payment whose form is refused', () => {
  it('is rejected when its inputs are proven to be unspent, and not before', async () => {
    const node = await richUser(net, [100n]);
    net.mempool.failPages = true;
    net.mempool.refuseWith = 'transaction_rejected';
    const { txHash } = await node.user.payAddress(order(30n));
    await until(() => net.mempool.submissions.length >= 2);
    expect(await stateOf(node, txHash)).toBe('queued');
    net.mempool.failPages = false;
    await until(async () => (await stateOf(node, txHash)) === 'rejected');
    expect(await entryOf(node, txHash)).toMatchObject({ reason: 'transaction_rejected: as the test wants' });
    expect(node.wallet.coins.totals()).toMatchObject({ running: 100n, available: 100n });
  });
});

describe('others are paid', () => {
  it('while a payment cannot be looked up', async () => {
    const node = await richUser(net, [100n, 50n]);
    let held = '';
    net.mempool.refuseWith = (hash) => (held === '' || held === hash ? 'unknown_input' : undefined);
    net.mempool.failPages = true;
    held = (await node.user.payAddress(order(100n))).txHash;
    await until(() => net.mempool.failedPages >= 1);
    const { txHash } = await node.user.payAddress(order(50n));
    await until(async () => (await stateOf(node, txHash)) === 'sent');
    expect(await stateOf(node, held)).toBe('queued');
    net.mempool.failPages = false;
    net.mempool.refuseWith = undefined;
    await until(async () => (await stateOf(node, held)) === 'sent');
  });

  it('while a refresh fails', async () => {
    const node = await richUser(net, [50n]);
    net.mempool.failPages = true;
    await node.wallet.refresh({ all: true });
    await until(() => net.mempool.failedPages >= 1);
    const { txHash } = await node.user.payAddress(order(50n));
    await until(async () => (await stateOf(node, txHash)) === 'sent');
    // What it could not fetch is fetched later.
    net.mempool.grant([tokens([...node.wallet.keys.addresses.keys()][0] ?? '', 9n)]);
    net.mempool.failPages = false;
    await until(() => node.wallet.coins.totals().available === 9n);
  });
});
