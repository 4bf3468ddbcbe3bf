// A program that is paid, tested against a chain of its own, which goes back to its beginning between tests.

import { startDevNetwork } from 'tessera-node/testing';

let network;
let clean;

beforeAll(async () => {
  network = await startDevNetwork({ accounts: 2 });
  clean = await network.snapshot();
});

afterEach(() => network.revert(clean));

afterAll(() => network?.stop());

/** What an address has, in raw units. */
async function tokensOf(address) {
  const answer = await fetch(`${network.url}/v1/balances?address=${address}`);
  return (await answer.json()).balance.total.tokens;
}

const shop = 'ab'.repeat(32);

test('a customer pays', async () => {
  const { height } = await network.faucet(shop, 100n);
  expect(height).toBe(1);
  expect(await tokensOf(shop)).toBe(100);
});

test('nobody has paid before', async () => {
  expect(await tokensOf(shop)).toBe(0);
  expect(await network.mine(2)).toEqual([1, 2]);
});
