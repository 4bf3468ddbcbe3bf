/**
 * A mempool node that is held for seconds under writers: links break, answers are
 * lost, and payments are sent again while the blocks that hold them are being stored. What was acknowledged arrives once.
 */

import { afterAll, beforeAll, expect, it } from 'vitest';
import { tokenAsset } from '../../src/chain/assets.js';
import { assembleSigned, txOut, unsignedInput } from '../../src/chain/builders.js';
import { transactionToCreateJson } from '../../src/chain/create-transaction.js';
import { outPointKey } from '../../src/chain/transaction.js';
import { DEV_GENESIS_TX, type DevAccount, devAccounts } from '../../src/config/dev-accounts.js';
import { parseExactJson, stringifyExact } from '../../src/lib/json.js';
import { call, createNetwork, type Network, type NodeProcess, until, whenReady } from '../support/processes.js';
import { settledHistory } from '../support/wallet-history.js';

const WRITERS = 8;
const ROUNDS = Number(process.env.SUSPENSIONS ?? 1);
/** Payments acknowledged before the node is held, and again after it goes on. */
const BETWEEN = 40;
/**
 * Payments that the writers may have acknowledged before the node is held, while it is, and after it goes on: the wallet's
 * history shows the last 10,000, which a fast machine would pass.
 */
const MOST_AT_ONCE = 400;
const LOOK_EVERY = 5;
const SHARE = 72_072_000n;
const FIRST_AMOUNT = 1_000_000n;

type Amount = number | bigint;

let network: Network;
let mempool: NodeProcess;
let alice: NodeProcess;
const { accounts } = devAccounts();

beforeAll(async () => {
  network = await createNetwork();
  const pace = { 'mining.instant': false, 'mining.block_interval_ms': 100 };
  const links = { 'peers.heartbeat_ms': 1_000, 'peers.reconnect_max_ms': 200 };
  const storage = await network.add('storage', 'storage', links);
  mempool = await network.add('mempool', 'mempool', { ...pace, ...links, 'peers.storage': storage.peerAddress });
  const common = { ...links, 'peers.mempool': mempool.peerAddress };
  await network.add('miner', 'miner', { ...common, 'wallet.genesis_seed_index': 1 });
  alice = await network.add('alice', 'user', { ...common, 'wallet.genesis_seed_index': 0 });
  await whenReady(mempool);
});

afterAll(() => network.stopAll());

const isReady = async (): Promise<boolean> => (await fetch(`${alice.apiUrl}/readyz`)).status === 200;
const isLinked = async (): Promise<boolean> =>
  !(await (await fetch(`${alice.apiUrl}/readyz`)).text()).includes('no mempool node is linked');

/** Many outputs of the same amount for the wallet, out of one account. */
async function fund(account: DevAccount, parts: number): Promise<void> {
  const { address } = (await call(`${alice.apiUrl}/v1/wallet/addresses`, {})) as { address: string };
  const input = { tHash: DEV_GENESIS_TX, n: account.outputs[0] ?? 0 };
  const outputs = Array.from({ length: parts }, () => txOut(tokenAsset(SHARE), address));
  const rest = account.outputAmount - SHARE * BigInt(parts);
  const transaction = assembleSigned(
    { inputs: [unsignedInput(input)], outputs: [...outputs, txOut(tokenAsset(rest), account.address)] },
    new Map([[outPointKey(input), account.keyPair]]),
  );
  await call(`${mempool.apiUrl}/v1/transactions`, { transactions: [transactionToCreateJson(transaction)] });
}

it('loses no acknowledged payment, calls none rejected, and pays none twice', async () => {
  const receiver = accounts[9]?.address ?? '';
  await fund(accounts[0] as DevAccount, 60);
  await until('the outputs', async () => {
    const wallet = (await call(`${alice.apiUrl}/v1/wallet`)) as { addresses: Record<string, unknown[]> };
    return Object.values(wallet.addresses).flat().length >= 60 ? true : undefined;
  });

  const acknowledged = new Map<string, bigint>();
  let next = FIRST_AMOUNT;
  let allowed = 0;
  let writing = true;
  const allowMore = (): void => {
    allowed = acknowledged.size + MOST_AT_ONCE;
  };
  async function write(): Promise<void> {
    while (writing) {
      if (acknowledged.size >= allowed) {
        await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY));
        continue;
      }
      const amount = next++;
      const response = await fetch(`${alice.apiUrl}/v1/payments`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: stringifyExact({ kind: 'address', address: receiver, amount, passphrase: '' }),
      });
      const { tx_hash } = parseExactJson(await response.text()) as { tx_hash?: string };
      if (response.status === 202 && tx_hash !== undefined) acknowledged.set(tx_hash, amount);
    }
  }
  const more = (count: number): Promise<unknown> => {
    const goal = acknowledged.size + count;
    allowMore();
    return until(`${goal} payments`, async () => (acknowledged.size >= goal ? true : undefined));
  };

  const writers = Array.from({ length: WRITERS }, write);
  for (let round = 0; round < ROUNDS; round++) {
    await more(BETWEEN);
    mempool.suspend();
    allowMore();
    await until('the link to break', async () => ((await isLinked()) ? undefined : true));
    mempool.resume();
    allowMore();
    await until('the wallet in step', async () => ((await isReady()) ? true : undefined));
  }
  await more(BETWEEN);
  writing = false;
  await Promise.all(writers);

  const entries = await settledHistory(alice, acknowledged.size);
  expect(entries.filter(({ state }) => state === 'rejected')).toEqual([]);
  expect(new Set(entries.map(({ tx_hash }) => tx_hash))).toEqual(new Set(acknowledged.keys()));
  const { balance } = (await call(`${mempool.apiUrl}/v1/balances?address=${receiver}`)) as {
    balance: { address_list: Record<string, readonly { readonly value: { readonly Token: Amount } }[]> };
  };
  const arrived = (balance.address_list[receiver] ?? [])
    .map(({ value }) => BigInt(value.Token))
    .filter((amount) => amount >= FIRST_AMOUNT && amount < SHARE);
  const sorted = (list: Iterable<bigint>): bigint[] => [...list].sort((a, b) => Number(a - b));
  expect(sorted(arrived)).toEqual(sorted(acknowledged.values()));
  process.stdout.write(`${acknowledged.size} acknowledged, ${arrived.length} arrived, ${ROUNDS} suspensions\n`);
});
