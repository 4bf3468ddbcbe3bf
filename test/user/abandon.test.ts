/** Giving up a payment that was never admitted (docs/wallet.md#payments). */

import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createTestNet, order, richUser, stateOf, type TestNet, type TestUser, until } from '../support/user.js';
import { removeFolders } from '../support/wallet-fixtures.js';

let net: TestNet;

beforeEach(async () => {
  net = await createTestNet();
});
afterEach(() => net.stop());
afterAll(removeFolders);

/** Tries until the attempt of the sender that is under way has its answer. */
async function abandon({ user }: TestUser, hash: string): Promise<void> {
  await until(async () => {
    try {
      await user.abandonPayment(hash);
      return true;
    } catch (error) {
      expect(error).toMatchObject({ code: 'payment_sent' });
      return false;
    }
  });
}

describe('a payment that was never admitted', () => {
  it('is abandoned where nobody was given it, and its inputs come back', async () => {
    const before = await richUser(net, [100n]);
    await before.stop();
    await net.mempoolNetwork.stop();
    const node = await net.user({ folder: before.folder });
    const { txHash } = await node.user.payAddress(order(30n));
    await node.user.abandonPayment(txHash);
    expect(await stateOf(node, txHash)).toBe('rejected');
    expect(node.wallet.coins.totals()).toMatchObject({ running: 100n, available: 100n });
    await expect(node.user.abandonPayment(txHash)).rejects.toMatchObject({ code: 'payment_not_found' });
    expect(node.wallet.outgoing.takeQueued()).toBeUndefined();
  });

  it.each(['mempool_full', 'unknown_input'] as const)('is abandoned while the node refuses it (%s)', async (code) => {
    const node = await richUser(net, [100n]);
    net.mempool.refuseWith = code;
    const { txHash } = await node.user.payAddress(order(30n));
    await until(() => net.mempool.submissions.length >= 1);
    await abandon(node, txHash);
    expect(await stateOf(node, txHash)).toBe('rejected');
    expect(node.wallet.coins.totals()).toMatchObject({ running: 100n, available: 100n });
    net.mempool.refuseWith = undefined;
    // The inputs are free: they pay for another one, and the first is not sent again.
    const sent = net.mempool.submissions.length;
    const other = await node.user.payAddress(order(100n));
    await until(async () => (await stateOf(node, other.txHash)) === 'sent');
    expect(net.mempool.submissions.slice(sent)).toEqual([other.txHash]);
  });

  it('takes along what spends its change, once, whoever asks at the same time', async () => {
    const node = await richUser(net, [100n]);
    net.mempool.refuseWith = 'mempool_full';
    const first = await node.user.payAddress(order(30n));
    const second = await node.user.payAddress(order(30n));
    await until(() => net.mempool.submissions.length >= 1);
    await abandon(node, first.txHash);
    expect([await stateOf(node, first.txHash), await stateOf(node, second.txHash)]).toEqual(['rejected', 'rejected']);
    expect(node.wallet.coins.totals()).toMatchObject({ running: 100n, available: 100n });
    await expect(node.user.abandonPayment(second.txHash)).rejects.toMatchObject({ code: 'payment_not_found' });
  });
});

describe('a payment that may be in a block yet', () => {
  it('is not abandoned when it was sent, or is unknown', async () => {
    const node = await richUser(net, [100n]);
    const { txHash } = await node.user.payAddress(order(30n));
    await until(async () => (await stateOf(node, txHash)) === 'sent');
    await expect(node.user.abandonPayment(txHash)).rejects.toMatchObject({ code: 'payment_sent' });
    await expect(node.user.abandonPayment('g0')).rejects.toMatchObject({ code: 'payment_not_found' });
    net.mempool.mine();
    await until(async () => (await stateOf(node, txHash)) === 'confirmed');
    await expect(node.user.abandonPayment(txHash)).rejects.toMatchObject({ code: 'payment_not_found' });
  });

  it('is not abandoned when the answer to it is lost, also after a restart', async () => {
    const before = await richUser(net, [100n]);
    net.mempool.silent = true;
    const { txHash } = await before.user.payAddress(order(30n));
    await until(() => net.mempool.submissions.includes(txHash));
    await expect(before.user.abandonPayment(txHash)).rejects.toMatchObject({ code: 'payment_sent' });
    await before.stop();
    await net.mempoolNetwork.stop();
    const node = await net.user({ folder: before.folder });
    await expect(node.user.abandonPayment(txHash)).rejects.toMatchObject({ code: 'payment_sent' });
    expect(node.wallet.coins.totals().available).toBe(70n);
  });

  it('is not abandoned when it was mined, and the node refuses what it has forgotten', async () => {
    const before = await richUser(net, [100n]);
    net.mempool.silent = true;
    const { txHash } = await before.user.payAddress(order(100n));
    await until(() => net.mempool.submissions.includes(txHash));
    await before.stop();
    net.mempool.silent = false;
    net.mempool.mine();
    net.mempool.forget();
    // Its payee has paid with it, so that nothing shows it any more.
    for (const [key, [{ tHash }]] of net.mempool.utxos) if (tHash === txHash) net.mempool.utxos.delete(key);
    const sent = net.mempool.submissions.length;
    const node = await net.user({ folder: before.folder });
    await until(() => net.mempool.submissions.length > sent);
    for (let i = 0; i < 5; i++) {
      await expect(node.user.abandonPayment(txHash)).rejects.toMatchObject({ code: 'payment_sent' });
    }
    expect(await stateOf(node, txHash)).toBe('queued');
  });

  it('is sent on after it could not be abandoned', async () => {
    const node = await richUser(net, [100n]);
    net.mempool.refuseWith = 'mempool_full';
    const { txHash } = await node.user.payAddress(order(30n));
    await until(() => net.mempool.submissions.length >= 1);
    net.mempool.failPages = true;
    await until(async () => {
      const error = await node.user.abandonPayment(txHash).catch((cause: unknown) => cause);
      const isAsked = net.mempool.failedPages > 0;
      expect(error).toMatchObject({ code: isAsked ? 'mempool_unreachable' : 'payment_sent' });
      return isAsked;
    });
    net.mempool.failPages = false;
    net.mempool.refuseWith = undefined;
    await until(async () => (await stateOf(node, txHash)) === 'sent');
  });
});
