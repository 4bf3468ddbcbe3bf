/**
 * A whole network in one process (docs/adr/0035-one-address.md): every operation answers at its one address, and a kill -9 under
 * load, at any moment, loses nothing that was acknowledged (rules P1, P2, P4, P7).
 */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { transactionToCreateJson } from '../../src/chain/create-transaction.js';
import { NodeClient } from '../../src/client/client.js';
import { devAccounts } from '../../src/config/dev-accounts.js';
import { NODE_ROLES } from '../../src/lib/roles.js';
import { ChainRecord, readChain } from '../reliability/chain-record.js';
import { Ledger } from '../soak/ledger.js';
import { Load, lanesOf, SigningWriter, splitFor, WalletWriter } from '../soak/writers.js';
import { ALL_ROLES, createNetwork, type Network, type NodeProcess, until, whenReady } from '../support/processes.js';

/** Transactions a second, and how many must be acknowledged before the kill. */
const RATE = 50;
const BEFORE_KILL = 25;

let network: Network;
let all: NodeProcess<string>;

beforeAll(async () => {
  network = await createNetwork();
  all = network.make('all', ALL_ROLES, {
    'role.user.wallet.genesis_seed_index': 0,
    'role.miner.wallet.genesis_seed_index': 1,
    'role.miner.api.port': 0,
    'peers.reconnect_max_ms': 200,
  });
  await all.start();
  await whenReady(all);
});

afterAll(() => network.stopAll());

const client = () => new NodeClient({ url: all.apiUrl, timeoutMs: 10_000 });

describe('a process with four roles', () => {
  it('has a folder for each node, in which commands find the one address', async () => {
    for (const role of NODE_ROLES) {
      const marker = JSON.parse(await readFile(join(all.folder, role, 'tessera.json'), 'utf8'));
      expect(marker.role).toBe(role);
      const note = await readFile(join(all.folder, role, 'lock.url'), 'utf8');
      const isOwn = role === 'miner';
      expect(note === `${all.pid} ${all.apiUrl}\n`).toBe(!isOwn);
    }
    const debug = await client().api.getDebug();
    expect(debug.node_type).toBe('Mempool/Storage/Miner/User');
    expect(debug.node_peers).toHaveLength(2);
  });

  it('loses nothing that it has acknowledged when it is killed under load', async () => {
    const [account] = devAccounts().accounts;
    if (account === undefined) throw new Error('no account');
    const split = splitFor(account, [account.address], 30);
    await client().api.createTransactions({ body: { transactions: [transactionToCreateJson(split)] } });
    // The address of the process is the same after each start.
    const writers = [
      new SigningWriter(client(), lanesOf(account, split)),
      new WalletWriter('user', client(), account.address),
    ];
    const ledger = new Ledger();
    const record = new ChainRecord();
    const faults: string[] = [];
    const load = new Load(ledger, writers);
    load.start(RATE);
    await until('enough to be acknowledged', async () => ledger.count >= BEFORE_KILL || undefined);
    await all.kill();
    await load.stop();
    await all.start();
    await whenReady(all);
    await until('everything acknowledged to be in a block', async () => {
      faults.push(...(await readChain(record, client())));
      return record.missing(ledger.hashes).length === 0 || faults.length > 0 || undefined;
    });
    expect(faults).toEqual([]);
    expect(record.missing(ledger.hashes)).toEqual([]);
    // Every block once more, as the archive has them now.
    expect(await readChain(record, client(), true)).toEqual([]);
    const { running_total_tokens: inWallet } = await client().api.getWallet({ query: {} });
    expect(BigInt(inWallet)).toBeGreaterThan(0n);
  });

  it('ends with status 0 at SIGTERM, and when one of its nodes cannot start, with its error', async () => {
    expect(await all.stop()).toBe(0);
    const other = network.make('other', ALL_ROLES, {
      'role.storage.node.data_dir': join(all.folder, 'mempool'),
      'role.user.wallet.genesis_seed_index': 0,
      'role.miner.wallet.genesis_seed_index': 1,
      'role.miner.api.port': 0,
    });
    await expect(other.start()).rejects.toThrow(
      /ended with 1:(.|\n)*data_dir_invalid: the storage node: .*belongs to a mempool node/,
    );
  });
});
