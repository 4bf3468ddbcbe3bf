/**
 * Somebody else answers where the mempool node was (its name points elsewhere now, or its machine is another's): a link
 * proves only that both ends hold their own keys. What it tells must not become money (decision record 0010).
 */

import { afterAll, beforeAll, expect, it } from 'vitest';
import { coinbaseTransaction } from '../../src/chain/builders.js';
import { encodeUtxos } from '../../src/chain/decode-in-pieces.js';
import { DEV_AMOUNT } from '../../src/config/dev-accounts.js';
import { parseAddress } from '../../src/peers/address.js';
import { createPeer } from '../hostile/stranger.js';
import { encodeFullBlock } from '../support/full-block.js';
import { call, createNetwork, type Network, type NodeProcess, until } from '../support/processes.js';
import { block, NOBODY, paymentFromOutside, tokens } from '../support/wallet-fixtures.js';

const FORGED = 7n * DEV_AMOUNT;

let network: Network;
let storage: NodeProcess;
let mempool: NodeProcess;
let user: NodeProcess;

beforeAll(async () => {
  network = await createNetwork();
  ({ storage, mempool, user } = await network.addAll());
});

afterAll(() => network.stopAll());

async function funds(): Promise<bigint> {
  const { running_total_tokens: held } = (await call(`${user.apiUrl}/v1/wallet`)) as { running_total_tokens: bigint };
  return BigInt(held);
}

it('cannot make a wallet count a forged block, or outputs that it made up', async () => {
  const { address } = (await call(`${user.apiUrl}/v1/wallet/addresses`, {})) as { address: string };
  await call(`${user.apiUrl}/v1/payments`, { kind: 'address', address: NOBODY, amount: 1_000, passphrase: '' });
  // The wallet knows block 1 and what became of its payment before the mempool node goes.
  await until('the payment in a block', async () => {
    const { transactions } = (await call(`${user.apiUrl}/v1/wallet/history`)) as { transactions: { state: string }[] };
    return transactions.every(({ state }) => state === 'confirmed') ? true : undefined;
  });
  const tip = await call(`${storage.apiUrl}/v1/blockchain-entries/nIndexedBlockHashKey_0000000000000001`).then(
    (entry) => ({ height: 1, hash: (entry as { key: string }).key }),
  );
  const before = await funds();
  await mempool.kill();

  const impostor = await createPeer('mempool', { listen: parseAddress(mempool.peerAddress) });
  const riches = paymentFromOutside([tokens(address, FORGED)]);
  const mining = coinbaseTransaction(BigInt(tip.height + 1), 1n, NOBODY);
  const forged = block(tip.height + 1, [riches], { previous: tip.hash, mining });
  const farewells: string[] = [];
  impostor.handle('statuses.get', () => ({ type: 'statuses', body: { statuses: [] } }));
  impostor.handle('utxos.get', () => ({
    type: 'utxos',
    body: { block_num: tip.height, hash: tip.hash },
    attachment: encodeUtxos([[{ tHash: 'made up', n: 0 }, tokens(address, FORGED)]]),
  }));
  impostor.linkUp.on((link) => {
    if (link.role !== 'user') return;
    link.send('block.mined', { block_num: tip.height + 1, hash: forged.hash }, encodeFullBlock(forged.full));
  });
  impostor.linkDown.on(({ link, reason }) => {
    if (link.role === 'user') farewells.push(reason);
  });
  await impostor.start();
  try {
    const end = await until('the user to judge the impostor', async () => {
      if ((await funds()) > before) return 'the wallet counts what the impostor told';
      return farewells.length > 1 ? farewells.join('; ') : undefined;
    });
    expect(end).toMatch(/producer/);
    expect(await funds()).toBe(before);
  } finally {
    await impostor.stop();
  }
  await mempool.start();
  await call(`${user.apiUrl}/v1/payments`, { kind: 'address', address, amount: 1_000, passphrase: '' });
  await until('the true mempool node to confirm a payment', async () => {
    const { balance } = (await call(`${mempool.apiUrl}/v1/balances?address=${address}`)) as {
      balance: { total: { tokens: number } };
    };
    return Number(balance.total.tokens) === 1_000 ? true : undefined;
  });
});
