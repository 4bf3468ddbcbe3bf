/** Addresses that the wallet begins to watch while it runs: their coins are asked for at once, and not without end. */

import { afterAll, afterEach, expect, it } from 'vitest';
import { encodeUtxos } from '../../src/chain/decode-in-pieces.js';
import { createDeferred } from '../../src/lib/deferred.js';
import { DerivedKeys } from '../../src/wallet/keys/derived-keys.js';
import { parseWords } from '../../src/wallet/keys/words.js';
import { encodeFullBlock } from '../support/full-block.js';
import { createTestNet, type TestNet, until } from '../support/user.js';
import { block, NOBODY, PASSPHRASE, paymentFromOutside, removeFolders, tokens } from '../support/wallet-fixtures.js';

const WORDS = parseWords(`${'abandon '.repeat(11)}about`);

let net: TestNet;

afterEach(() => net.stop());
afterAll(removeFolders);

async function addressAt(index: number): Promise<string> {
  const keys = await DerivedKeys.of(WORDS);
  return keys.address({ account: 'receive', index });
}

it('has coins that another copy of the wallet was paid, when a block shows how far that has come', async () => {
  net = await createTestNet();
  // Beyond the addresses that a new wallet watches.
  net.mempool.grant([tokens(await addressAt(30), 70n)]);
  const { user, wallet } = await net.user({ words: WORDS });
  await until(() => user.inStep);
  expect(wallet.coins.totals().running).toBe(0n);
  net.mempool.admit(paymentFromOutside([tokens(await addressAt(15), 5n)]));
  net.mempool.mine();
  await until(() => wallet.coins.totals().running === 75n);
  // What is found by a refresh leads on in the same way.
  net.mempool.grant([tokens(await addressAt(45), 100n), tokens(await addressAt(64), 1_000n)]);
  await wallet.refresh({ all: true });
  await until(() => wallet.coins.totals().running === 1_175n);
});

it('has them too when the block came while everything was refreshed', async () => {
  const [near, far] = [await addressAt(15), await addressAt(30)];
  const { full, hash } = block(1, [paymentFromOutside([tokens(near, 5n)])]);
  const held = createDeferred<void>();
  let answers = 0;
  net = await createTestNet((network) => {
    network.handle('statuses.get', () => ({ type: 'statuses', body: { statuses: [] } }));
    network.handle('utxos.get', async (link, { body }) => {
      answers += 1;
      if (answers === 1) {
        link.send('block.mined', { block_num: 1, hash }, encodeFullBlock(full));
        held.resolve();
        return { type: 'utxos', body: { block_num: 0, hash: null }, attachment: encodeUtxos([]) };
      }
      const outputs = body.addresses.includes(far) ? [[{ tHash: 'far', n: 0 }, tokens(far, 70n)] as const] : [];
      return { type: 'utxos', body: { block_num: 1, hash }, attachment: encodeUtxos(outputs) };
    });
  });
  const { user, wallet } = await net.user({ words: WORDS });
  await held.promise;
  await until(() => wallet.coins.totals().running === 75n);
  await until(() => user.inStep && wallet.chain.height === 1);
});

it('is in step, and can pay, with a mempool node that names outputs at every address it is asked for', async () => {
  let asked = 0;
  net = await createTestNet((network) => {
    network.handle('statuses.get', () => ({ type: 'statuses', body: { statuses: [] } }));
    network.handle('utxos.get', (_, { body }) => {
      asked += body.addresses.length;
      const outputs = body.addresses.map((address, n) => [{ tHash: `lie ${asked}`, n }, tokens(address, 1n)] as const);
      return { type: 'utxos', body: { block_num: 0, hash: null }, attachment: encodeUtxos(outputs) };
    });
  });
  const { user, wallet } = await net.user({ words: WORDS });
  await until(() => user.inStep);
  expect(asked).toBeLessThan(10_000);
  const order = { address: NOBODY, amount: 1n, locktime: 0n, passphrase: PASSPHRASE };
  expect(await user.payAddress(order)).toMatchObject({ txHash: expect.any(String) });
  expect(wallet.keys.addresses.size).toBeLessThan(10_000);
});
