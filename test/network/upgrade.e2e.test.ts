/**
 * A network from before blocks were signed: it goes on as it is, names its producers later, and keeps its chain (decision
 * record 0010).
 */

import { afterAll, beforeEach, expect, it } from 'vitest';
import { call, createNetwork, type Network, type NodeProcess, type Nodes, until } from '../support/processes.js';
import { NOBODY } from '../support/wallet-fixtures.js';

const networks: Network[] = [];
let network: Network;

beforeEach(async () => {
  network = await createNetwork();
  networks.push(network);
});
afterAll(async () => {
  for (const one of networks) await one.stopAll();
});

async function stopAll({ storage, mempool, miner, user }: Nodes): Promise<void> {
  for (const node of [user, miner, mempool, storage]) expect(await node.stop()).toBe(0);
}

const height = async ({ apiUrl }: NodeProcess): Promise<number> => {
  const { block } = (await call(`${apiUrl}/v1/blocks/latest`)) as { block: { block: { header: { b_num: number } } } };
  return Number(block.block.header.b_num);
};

async function payOnce({ user }: Nodes): Promise<void> {
  await call(`${user.apiUrl}/v1/payments`, { kind: 'address', address: NOBODY, amount: 1_000, passphrase: '' });
  await until('the payment in a block', async () => {
    const { transactions } = (await call(`${user.apiUrl}/v1/wallet/history`)) as { transactions: { state: string }[] };
    return transactions.every(({ state }) => state === 'confirmed') ? true : undefined;
  });
}

it('works unsigned and says so, and is signed from the block on that follows the naming of producers', async () => {
  const before = await network.addAll({ 'network.producer_keys': '' });
  await payOnce(before);
  expect(before.user.log()).toContain('network.producer_keys is empty');
  expect(before.mempool.log()).toContain('[network] producer_keys = ');
  const old = await height(before.storage);
  const block = await (await fetch(`${before.storage.apiUrl}/v1/blocks/${old}`)).text();
  await stopAll(before);

  const after = await network.addAll({});
  await payOnce(after);
  expect(await height(after.storage)).toBeGreaterThan(old);
  expect(await (await fetch(`${after.storage.apiUrl}/v1/blocks/${old}`)).text()).toBe(block);

  // The first signed block proves all before it to one who comes late.
  const late = await network.add('late', 'storage', { 'peers.storage': after.storage.peerAddress });
  await until('the late storage node to catch up', async () =>
    (await height(late)) === (await height(after.storage)) ? true : undefined,
  );
  await stopAll(after);
});

it('does not start a mempool node whose blocks nobody would believe, and prints the line to add', async () => {
  const stranger = '11'.repeat(32);
  const starting = network.add('mempool', 'mempool', { 'network.producer_keys': stranger });
  await expect(starting).rejects.toThrow(
    /network\.producer_keys does not name.*producer_keys = \[.*1111.*,.*49ed36e5/s,
  );
});
