/**
 * Two blocks are being made, and storage is away for many intervals (docs/adr/0044-rounds-that-overlap.md): there is no third; and when
 * the mempool node is killed just then, both are in the chain, with all that was acknowledged.
 */

import { afterAll, beforeAll, expect, it } from 'vitest';
import { tokenAsset } from '../../src/chain/assets.js';
import { assembleSigned, txOut, unsignedInput } from '../../src/chain/builders.js';
import { transactionToCreateJson } from '../../src/chain/create-transaction.js';
import { transactionHash } from '../../src/chain/hash.js';
import { outPointKey } from '../../src/chain/transaction.js';
import type { Transaction } from '../../src/chain/types.js';
import { NodeClient } from '../../src/client/client.js';
import { DEV_GENESIS_TX, devAccounts } from '../../src/config/dev-accounts.js';
import { ChainRecord, readChain } from '../reliability/chain-record.js';
import { call, createNetwork, type Network, type Nodes, until } from '../support/processes.js';

const INTERVAL_MS = 200;
const INTERVALS = 10;

let network: Network;
let nodes: Nodes;
const { accounts } = devAccounts();

beforeAll(async () => {
  network = await createNetwork({ logLines: 5_000 });
  // A link to a process that is held stays for longer than that lasts.
  const links = { 'peers.heartbeat_ms': 60_000, 'peers.reconnect_max_ms': 200 };
  const pace = { 'mining.instant': false, 'mining.block_interval_ms': INTERVAL_MS };
  nodes = await network.addAll(links, { mempool: pace });
});

afterAll(() => network?.stopAll());

/** The last block of which the mempool node has said that, -1 before the first. */
function last(what: 'cut' | 'closed' | 'stored'): number {
  const found = [...nodes.mempool.log().matchAll(new RegExp(`block (\\d+) ${what}`, 'g'))];
  return Math.max(-1, ...found.map(([, height]) => Number(height)));
}

/** Resolves with the height of the second of two blocks that wait for storage, when there was no third for many intervals. */
function twoForManyIntervals(): Promise<number> {
  let two = -1;
  let since = 0;
  return until('two blocks that wait for storage', async () => {
    const isWaiting = last('closed') === last('cut') && last('cut') === last('stored') + 2;
    // What storage has answered before it was held may still come.
    if (!isWaiting || last('cut') !== two) since = performance.now();
    two = isWaiting ? last('cut') : -1;
    return performance.now() - since > INTERVALS * INTERVAL_MS ? two : undefined;
  });
}

/** An account pays itself; a transaction that the node has acknowledged. */
async function pay(index: number): Promise<Transaction> {
  const account = accounts[index];
  if (account === undefined) throw new Error('no such account');
  const input = { tHash: DEV_GENESIS_TX, n: account.outputs[0] ?? 0 };
  const outputs = [txOut(tokenAsset(account.outputAmount), account.address)];
  const keys = new Map([[outPointKey(input), account.keyPair]]);
  const tx = assembleSigned({ inputs: [unsignedInput(input)], outputs }, keys);
  await call(`${nodes.mempool.apiUrl}/v1/transactions`, { transactions: [transactionToCreateJson(tx)] });
  return tx;
}

it('makes one block more than storage is to keep, however long that takes, and a kill costs neither (rules P1, P7)', async () => {
  const { mempool, storage } = nodes;
  await until('some blocks', async () => (last('stored') >= 3 ? true : undefined));
  const acknowledged = [await pay(2)];
  storage.suspend();
  const two = await twoForManyIntervals();
  acknowledged.push(await pay(3));
  expect(await twoForManyIntervals()).toBe(two);
  acknowledged.push(await pay(4));
  await mempool.kill();
  storage.resume();
  await mempool.start();
  const hashes = acknowledged.map((tx) => transactionHash(tx));
  const record = new ChainRecord();
  const client = new NodeClient({ url: storage.apiUrl, timeoutMs: 60_000 });
  const faults: string[] = [];
  await until('blocks with all that was acknowledged', async () => {
    faults.push(...(await readChain(record, client)));
    return record.next > two + 1 && record.missing(hashes).length === 0 ? true : undefined;
  });
  // No transaction is in two of them, and each follows the one before it.
  expect(faults).toEqual([]);
});
