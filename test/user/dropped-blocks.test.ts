/** More blocks than are kept while the wallet synchronizes: what they held is asked for again. */

import { afterAll, afterEach, expect, it } from 'vitest';
import { createDeferred } from '../../src/lib/deferred.js';
import type { PeerNetwork } from '../../src/peers/network.js';
import { createFakeMempool, type FakeMempool } from '../support/fake-mempool.js';
import { createTestNet, type TestNet, until } from '../support/user.js';
import { NOBODY, PASSPHRASE, removeFolders, tokens } from '../support/wallet-fixtures.js';

/** More than are kept. */
const BLOCKS = 40;

let net: TestNet;

afterEach(() => net.stop());
afterAll(removeFolders);

it('does not write off the change of a payment that one of them has confirmed', async () => {
  let mempool: FakeMempool | undefined;
  let beforeAnswer: (() => Promise<void>) | undefined;
  net = await createTestNet((network) => {
    const handle: PeerNetwork['handle'] = (type, handler) =>
      network.handle(type, async (link, message) => {
        const reply = await handler(link, message);
        if (type === 'utxos.get') await beforeAnswer?.();
        return reply;
      });
    const links = { handle, nodeKey: network.nodeKey, links: network.links };
    mempool = createFakeMempool(links as unknown as PeerNetwork);
  });
  const before = await net.user();
  await until(() => before.user.inStep);
  mempool?.grant([tokens(await before.wallet.newAddress(), 100n)]);
  await before.wallet.refresh({ all: true });
  await until(() => before.wallet.coins.totals().running === 100n);
  const { txHash } = await before.user.payAddress({
    address: NOBODY,
    amount: 30n,
    locktime: 0n,
    passphrase: PASSPHRASE,
  });
  await until(() => before.wallet.outgoing.get(txHash)?.state === 'sent');
  await before.stop();

  const isHeard = createDeferred<void>();
  let heard = 0;
  beforeAnswer = async () => {
    beforeAnswer = undefined;
    await isHeard.promise;
    for (let i = 0; i < BLOCKS; i++) mempool?.mine();
    await until(() => heard === BLOCKS);
  };
  const { user, wallet } = await net.user({ folder: before.folder });
  user.blockMined.on(() => {
    heard += 1;
  });
  isHeard.resolve();
  await until(() => user.inStep && wallet.chain.height === BLOCKS);
  expect(wallet.coins.totals().running).toBe(70n);
  const { movements } = await wallet.history.movements({ limit: 10, newestFirst: false });
  expect(movements.map(({ kind, state, net }) => [kind, state, net])).toEqual([
    ['payment', 'confirmed', 100n],
    ['payment', 'confirmed', -30n],
  ]);
});
