/** Payments that spend each other's change, between a user node and its mempool node (docs/adr/0023-own-change.md). */

import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { spentOutPoints } from '../../src/chain/transaction.js';
import { createTestNet, order, richUser, type TestNet, type TestUser, until } from '../support/user.js';
import { removeFolders } from '../support/wallet-fixtures.js';

let net: TestNet;

beforeEach(async () => {
  net = await createTestNet();
});
afterEach(() => net.stop());
afterAll(removeFolders);

const pays = async ({ user }: TestUser, times: number): Promise<string[]> => {
  const made = await Promise.all(Array.from({ length: times }, () => user.payAddress(order(1n))));
  return made.map(({ txHash }) => txHash);
};
const allAre =
  ({ wallet }: TestUser, state: string) =>
  () =>
    wallet.outgoing.inFlight().every((entry) => entry.state === state);
/** Every own transaction is in this state, on disk too. */
const allHave =
  ({ wallet }: TestUser, state: string) =>
  async () =>
    (await wallet.outgoing.latest()).every((entry) => entry.state === state);

describe('a chain of payments', () => {
  it('is sent in its order, each once when nothing fails', async () => {
    const node = await richUser(net, [100n]);
    const hashes = await pays(node, 20);
    await until(allAre(node, 'sent'));
    expect(net.mempool.submissions).toEqual(hashes);
    net.mempool.mine();
    await until(allHave(node, 'confirmed'));
    expect(node.wallet.coins.totals()).toMatchObject({ running: 80n, available: 80n, unconfirmed: 0n });
  });

  it('goes out with the blocks where it is deeper than the mempool node takes', async () => {
    const node = await richUser(net, [1_000n]);
    net.mempool.maxAncestors = 10;
    const hashes = await pays(node, 40);
    for (let blocks = 0; net.mempool.statuses.size < 40; blocks++) {
      // Eleven are behind each other: the pool takes no more until a block.
      await until(() => net.mempool.statuses.size >= Math.min(40, 11 * (blocks + 1)));
      net.mempool.mine();
    }
    await until(allHave(node, 'confirmed'));
    expect(await node.wallet.outgoing.latest()).toHaveLength(hashes.length);
  });

  it('waits for a parent that is held up, and lets others pass', async () => {
    const node = await richUser(net, [100n]);
    let held = '';
    net.mempool.refuseWith = (hash) => (hash === held || held === '' ? 'overloaded' : undefined);
    [held = ''] = await pays(node, 1);
    const [child = ''] = await pays(node, 1);
    const { txHash: item } = await node.user.createItem({ spec: 'Create', amount: 1n, metadata: null });
    await until(() => node.wallet.outgoing.get(item)?.state === 'sent');
    expect(net.mempool.submissions).not.toContain(child);
    net.mempool.refuseWith = undefined;
    await until(allAre(node, 'sent'));
    expect(net.mempool.submissions.at(-1)).toBe(child);
  });

  it('ends as a whole when its first is refused for good', async () => {
    const node = await richUser(net, [100n]);
    net.mempool.silent = true;
    const hashes = await pays(node, 5);
    await until(() => net.mempool.submissions.length === 1);
    await node.stop();
    net.mempool.silent = false;
    net.mempool.forget();
    net.mempool.refuseWith = 'transaction_rejected';
    const again = await net.user({ folder: node.folder });
    await until(allHave(again, 'rejected'));
    expect(await again.wallet.outgoing.latest()).toHaveLength(hashes.length);
    expect(again.wallet.coins.totals()).toMatchObject({ running: 100n, available: 100n });
    net.mempool.refuseWith = undefined;
    await again.user.payAddress(order(100n));
    await until(allAre(again, 'sent'));
  });

  it('is sent again from its first, in its order, when the mempool node has lost it', async () => {
    const node = await richUser(net, [100n]);
    const hashes = await pays(node, 5);
    await until(allAre(node, 'sent'));
    await node.stop();
    net.mempool.forget();
    net.mempool.submissions.length = 0;
    const again = await net.user({ folder: node.folder });
    await until(() => net.mempool.statuses.size === 5);
    await until(allAre(again, 'sent'));
    expect(net.mempool.submissions).toEqual(hashes);
  });

  it('heals while linked when the mempool node has lost a parent: what the child lacks is looked up', async () => {
    const node = await richUser(net, [100n]);
    await pays(node, 2);
    await until(allAre(node, 'sent'));
    net.mempool.forget();
    await pays(node, 1);
    await until(() => net.mempool.statuses.size === 3);
    await until(allAre(node, 'sent'));
    net.mempool.mine();
    await until(allHave(node, 'confirmed'));
    expect(node.wallet.coins.totals()).toMatchObject({ running: 97n, available: 97n });
  });

  it('is confirmed when it was mined while the node was down, and nothing but its last output is left', async () => {
    const node = await richUser(net, [100n]);
    const hashes = await pays(node, 3);
    await until(allAre(node, 'sent'));
    await node.stop();
    net.mempool.mine();
    net.mempool.statuses.clear();
    const again = await net.user({ folder: node.folder });
    await until(allHave(again, 'confirmed'));
    expect(await again.wallet.outgoing.latest()).toHaveLength(hashes.length);
    expect(again.wallet.coins.totals()).toMatchObject({ running: 97n, available: 97n, unconfirmed: 0n });
  });

  it('spends nothing twice', async () => {
    const node = await richUser(net, [100n]);
    await pays(node, 50);
    const spent = node.wallet.outgoing.inFlight().flatMap(({ transaction }) => spentOutPoints(transaction));
    expect(new Set(spent.map(({ tHash, n }) => `${tHash} ${n}`)).size).toBe(spent.length);
  });
});
