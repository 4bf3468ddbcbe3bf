/**
 * Payments that a wallet makes while its mempool node is away, on real processes: they spend each other's change, evenly over all
 * coins (docs/adr/0023-own-change.md), so that all of them are in the first blocks afterwards that have room for them.
 */

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { tokenAsset } from '../../src/chain/assets.js';
import { assembleSigned, txOut, unsignedInput } from '../../src/chain/builders.js';
import { transactionToCreateJson } from '../../src/chain/create-transaction.js';
import { outPointKey } from '../../src/chain/transaction.js';
import { DEV_GENESIS_TX, devAccounts } from '../../src/config/dev-accounts.js';
import { call, createNetwork, type Network, type NodeProcess, until, whenReady } from '../support/processes.js';
import { PASSPHRASE, temporaryFolder } from '../support/wallet-fixtures.js';
import { settledHistory } from '../support/wallet-history.js';

const COINS = process.env.LONG_TESTS === undefined ? 40 : 100;
/** Ten of each coin. */
const PAYMENTS = 10 * COINS;
/** Transactions of a block: two have room for all payments. */
const ROOM = PAYMENTS / 2;
/** Requests at once. */
const PARALLEL = 20;
const COIN = 72_072_000n;
/** After the outage only a full block is cut: on a slow machine, too, it waits until so many payments have been admitted. */
const FULL_BLOCKS = { TESSERA_MINING__INSTANT: 'false', TESSERA_MINING__BLOCK_INTERVAL_MS: '86400000' };

interface Latest {
  readonly block: { readonly block: { readonly header: { readonly b_num: number } } };
}

let network: Network;
let storage: NodeProcess;
let mempool: NodeProcess;
let payer: NodeProcess;

beforeAll(async () => {
  const folder = await temporaryFolder();
  const genesisFile = join(folder, 'genesis.json');
  const genesis = JSON.parse(await readFile('config/genesis-dev.json', 'utf8')) as object;
  await writeFile(genesisFile, JSON.stringify({ ...genesis, block_rules: { max_transactions: ROOM } }));
  network = await createNetwork();
  const common = { 'network.genesis_file': genesisFile, 'peers.heartbeat_ms': 1_000, 'peers.reconnect_max_ms': 200 };
  storage = await network.add('storage', 'storage', common);
  mempool = await network.add('mempool', 'mempool', { ...common, 'peers.storage': storage.peerAddress });
  const passphraseFile = join(folder, 'passphrase');
  await writeFile(passphraseFile, PASSPHRASE);
  const peers = { ...common, 'peers.mempool': mempool.peerAddress, 'wallet.passphrase_file': passphraseFile };
  [, payer] = await Promise.all([network.add('miner', 'miner', peers), network.add('payer', 'user', peers)]);
  await whenReady(mempool);
}, 180_000);
afterAll(() => network.stopAll());

/** Many coins of the same amount for the wallet, in one transaction of a dev account. */
async function fund(): Promise<void> {
  const [account] = devAccounts().accounts;
  if (account === undefined) throw new Error('no account');
  const { address } = (await call(`${payer.apiUrl}/v1/wallet/addresses`, {})) as { address: string };
  const input = { tHash: DEV_GENESIS_TX, n: account.outputs[0] ?? 0 };
  const outputs = Array.from({ length: COINS }, () => txOut(tokenAsset(COIN), address));
  const rest = txOut(tokenAsset(account.outputAmount - COIN * BigInt(COINS)), account.address);
  const transaction = assembleSigned(
    { inputs: [unsignedInput(input)], outputs: [...outputs, rest] },
    new Map([[outPointKey(input), account.keyPair]]),
  );
  await call(`${mempool.apiUrl}/v1/transactions`, { transactions: [transactionToCreateJson(transaction)] });
  await until('the coins', async () => {
    const { addresses } = (await call(`${payer.apiUrl}/v1/wallet`)) as { addresses: Record<string, unknown[]> };
    return Object.values(addresses).flat().length === COINS ? true : undefined;
  });
}

async function lastBlock(): Promise<bigint> {
  const { block } = (await call(`${storage.apiUrl}/v1/blocks/latest`)) as Latest;
  return BigInt(block.block.header.b_num);
}

it(`has ${PAYMENTS} payments that were queued meanwhile, from ${COINS} coins, in the first two blocks of ${ROOM}`, async () => {
  await fund();
  await mempool.kill();
  const before = await lastBlock();
  const to = devAccounts().accounts[9]?.address ?? '';
  let amount = 1_000n;
  const pay = async (): Promise<void> => {
    while (amount < 1_000n + BigInt(PAYMENTS)) {
      await call(`${payer.apiUrl}/v1/payments`, {
        kind: 'address',
        address: to,
        amount: amount++,
        passphrase: PASSPHRASE,
      });
    }
  };
  await Promise.all(Array.from({ length: PARALLEL }, pay));
  // A mempool node that starts begins a round at once: its block is to be over before the payments come.
  payer.suspend();
  await mempool.start(FULL_BLOCKS);
  await until('the block of the start', async () => ((await lastBlock()) === before + 1n ? true : undefined));
  payer.resume();
  const entries = await settledHistory(payer, PAYMENTS);
  expect(entries.filter(({ state }) => state !== 'confirmed')).toEqual([]);
  expect(await lastBlock()).toBe(before + 3n);
});
