/** A wallet with two mempool nodes goes on with the other when the one that it follows does not. */

import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Clock, systemClock } from '../../src/lib/clock.js';
import { createFakeMempool, type FakeMempool } from '../support/fake-mempool.js';
import {
  createTestNet,
  MEMPOOL,
  order,
  richUser,
  stateOf,
  type TestNet,
  type TestUser,
  until,
} from '../support/user.js';
import { removeFolders } from '../support/wallet-fixtures.js';

const OTHER_PORT = 12_301;
/** Its pauses are short. */
const hurried: Clock = { ...systemClock, after: (ms, run) => systemClock.after(ms / 20, run) };

let net: TestNet;
let first: FakeMempool;
let other: FakeMempool;
let node: TestUser;

/** The wallet follows the first. */
beforeEach(async () => {
  net = await createTestNet();
  first = net.mempool;
  const mempools = [MEMPOOL, `127.0.0.1:${OTHER_PORT}`];
  node = await richUser(net, [100n, 100n, 100n], { mempools, clock: hurried });
  const network = net.stranger('mempool', OTHER_PORT);
  other = createFakeMempool(network);
  for (const [key, utxo] of first.utxos) other.utxos.set(key, utxo);
  await network.start();
  // It is asked only when there is another to go to.
  await until(() => first.asked > 0);
});
afterEach(() => net.stop());
afterAll(removeFolders);

const pay = async (): Promise<string> => (await node.user.payAddress(order(30n))).txHash;
const sent = (hash: string): Promise<void> => until(async () => (await stateOf(node, hash)) === 'sent');

describe('a wallet with two mempool nodes', () => {
  it('goes over when the one that it follows is cut off from its journal, and is told of blocks there', async () => {
    first.unready = 'the journal waits for etcd';
    first.refuseWith = 'mempool_unreachable';
    const hashes = [await pay(), await pay(), await pay()];
    for (const hash of hashes) await sent(hash);
    expect(other.submissions.toSorted()).toEqual(hashes.toSorted());
    other.mine();
    for (const hash of hashes) await until(async () => (await stateOf(node, hash)) === 'confirmed');
    expect(node.wallet.coins.totals()).toMatchObject({ running: 210n, available: 210n });
  });

  it('goes over without a payment, too, and does not come back', async () => {
    const before = node.refreshes();
    first.unready = 'the journal waits for etcd';
    await until(() => node.refreshes() > before);
    other.mine();
    await until(() => node.wallet.chain.height === other.height);
    first.unready = undefined;
    const { asked } = other;
    await until(() => other.asked > asked + 2);
    await sent(await pay());
    expect(first.submissions).toEqual([]);
  });

  it('sends the same payments again, and makes no others, when the one that it follows does not answer', async () => {
    first.silent = true;
    const hashes = [await pay(), await pay(), await pay()];
    await until(() => first.submissions.length === 3);
    for (const hash of hashes) await sent(hash);
    expect(other.submissions.toSorted()).toEqual(hashes.toSorted());
  });

  it('goes over when the link ends', async () => {
    const [link] = net.mempoolNetwork.links;
    first.refuseWith = 'mempool_unreachable';
    link?.close('as the test wants');
    await sent(await pay());
    expect(other.submissions).toHaveLength(1);
  });

  it('stays where it is when the other has the same trouble', async () => {
    for (const mempool of [first, other]) {
      mempool.unready = 'the journal waits for etcd';
      mempool.refuseWith = 'mempool_unreachable';
    }
    const hash = await pay();
    await until(() => other.asked > 2);
    for (const mempool of [first, other]) mempool.refuseWith = undefined;
    await sent(hash);
    expect(other.submissions).toEqual([]);
  });
});
