/** A trade whose block the wallet has not seen when it hears that its half is in one (docs/wallet.md#trades). */

import { afterAll, afterEach, beforeEach, expect, it } from 'vitest';
import { type Clock, systemClock } from '../../src/lib/clock.js';
import { createTestNet, richUser, type TestNet, type TestUser, until } from '../support/user.js';
import { PASSPHRASE, removeFolders } from '../support/wallet-fixtures.js';

/** The nodes look at their trades every few seconds: here 100 times as often. */
const QUICKLY = 100;
const hasty: Clock = {
  now: () => systemClock.now(),
  monotonic: () => systemClock.monotonic() * QUICKLY,
  after: (ms, task) => systemClock.after(ms / QUICKLY, task),
};

let net: TestNet;

beforeEach(async () => {
  net = await createTestNet();
});
afterEach(() => net.stop());
afterAll(removeFolders);

const stateOfHalf = ({ user, wallet }: TestUser) => wallet.outgoing.get(user.trades()[0]?.half ?? '')?.state;

it('is done, for what it gets is asked for along with its half', async () => {
  const alice = await richUser(net, [100n], { clock: hasty });
  const bob = await richUser(net, [10n], { clock: hasty });
  const { txHash } = await bob.user.createItem({ spec: 'Create', amount: 10n, metadata: null });
  await until(() => net.mempool.statuses.get(txHash) === 'Pending');
  net.mempool.mine();
  await until(async () => (await bob.wallet.items.list())[0]?.available === 10n);
  const { offer } = await alice.user.offerTrade({
    give: { kind: 'token', amount: 30n },
    want: { kind: 'item', amount: 3n, genesisHash: txHash, metadata: null },
    ...{ validFor: 3_600, peer: null, isReachable: true, passphrase: PASSPHRASE },
  });
  await bob.user.acceptTrade(offer, PASSPHRASE);
  await until(() => stateOfHalf(alice) === 'sent' && stateOfHalf(bob) === 'sent');
  net.mempool.mine({ tell: false });
  await until(() => [alice, bob].every(({ user }) => user.trades()[0]?.state !== 'agreed'));
  expect([alice, bob].map(({ user }) => user.trades()[0])).toMatchObject([
    { state: 'done', reason: '' },
    { state: 'done', reason: '' },
  ]);
});
