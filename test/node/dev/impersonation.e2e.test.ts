/** `tessera dev --impersonate`: who may spend, what the blocks say, and that no other node takes them. And a clock that stands. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { addressOf } from '../../../src/chain/address.js';
import { IMPERSONATION } from '../../../src/chain/script/builders.js';
import { devAccounts } from '../../../src/config/dev-accounts.js';
import { devConfig } from '../../../src/config/dev-config.js';
import { DevNetwork, type DevNetworkOptions } from '../../../src/node/dev-network.js';
import { Node } from '../../../src/node/node.js';
import { NodeLogger } from '../../../src/observability/logger.js';
import { randomKeyPair } from '../../../src/sdk/keys.js';
import { call } from '../../support/processes.js';

const [FIRST = '', SECOND = ''] = devAccounts().accounts.map(({ address }) => address);
const logger = NodeLogger.create({ level: 'silent', format: 'json' });
const newAddress = (): string => addressOf(randomKeyPair().publicKey);

let root = '';
let network: DevNetwork;
const made = (name: string, options: Partial<DevNetworkOptions> = {}): DevNetwork =>
  new DevNetwork({ dataDir: join(root, name), ports: 'any', haveNodesAddresses: false, ...options }, { logger });

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'tessera-impersonate-'));
  network = made('one', { impersonates: true });
  await network.start();
});

afterAll(async () => {
  await network.stop();
  await rm(root, { recursive: true, force: true });
});

// biome-ignore lint/suspicious/noExplicitAny: answers of every shape
const post = (path: string, body: unknown, on = network): Promise<any> => call(`${on.url}${path}`, body);
// biome-ignore lint/suspicious/noExplicitAny: answers of every shape
const get = (path: string, on = network): Promise<any> => call(`${on.url}${path}`);
async function balanceOf(address: string, on = network): Promise<bigint> {
  return BigInt((await get(`/v1/balances?address=${address}`, on)).balance.total.tokens);
}

describe('a network that impersonates', () => {
  it('spends from an address without its key, and its block says so', async () => {
    const stranger = newAddress();
    await post('/v1/dev/faucet', { address: stranger, amount: 1_000_000 });
    const { tx_hash, block_num } = await post('/v1/dev/faucet', { from: stranger, address: SECOND, amount: 300_000 });
    expect(await balanceOf(stranger)).toBe(700_000n);
    const told = await get(`/v1/blockchain-entries/${tx_hash}`);
    const [said] = IMPERSONATION;
    expect(JSON.stringify(told)).toContain(said?.kind === 'bytes' ? said.text : '-');
    expect((await get(`/v1/blocks/${block_num}`)).data.block.transactions).toContain(tx_hash);
  });

  it('sets balances, up and down, and does nothing twice', async () => {
    const address = newAddress();
    const miner = devAccounts().miner.address;
    for (const amount of [500_000, 20_000, 0]) {
      const set = await post('/v1/dev/faucet', { address, amount, set: true });
      expect(set.to_address).toBe(amount === 500_000 ? address : miner);
      expect(set.block_num).toEqual(expect.any(Number));
      expect(await balanceOf(address)).toBe(BigInt(amount));
    }
    expect(await post('/v1/dev/faucet', { address, amount: 0, set: true })).toMatchObject({ tx_hash: null, amount: 0 });
    await expect(post('/v1/dev/faucet', { address: miner, amount: 1, set: true })).rejects.toThrow('the faucet itself');
  });

  it('refuses more than the address holds, and changes nothing', async () => {
    const before = await balanceOf(FIRST);
    const order = { from: FIRST, address: SECOND, amount: Number(before) + 1 };
    await expect(post('/v1/dev/faucet', order)).rejects.toThrow('are to be paid');
    await expect(post('/v1/dev/faucet', { from: FIRST, address: SECOND, amount: 0 })).rejects.toThrow('at least 1');
    expect(await balanceOf(FIRST)).toBe(before);
  });

  it('takes transactions of others with the mark of impersonation', async () => {
    const { balance } = await get(`/v1/balances?address=${FIRST}`);
    const [{ out_point, value }] = balance.address_list[FIRST];
    const [said] = IMPERSONATION;
    const script_signature = { stack: [{ Bytes: said?.kind === 'bytes' ? said.text : '' }, { Op: 'OP_BURN' }] };
    const transaction = {
      inputs: [{ previous_out: out_point, script_signature }],
      outputs: [{ value, locktime: 0, script_public_key: FIRST }],
      version: 2,
      fees: null,
      druid_info: null,
    };
    await post('/v1/transactions', { transactions: [transaction] });
    const other = made('other');
    await other.start();
    try {
      await expect(post('/v1/transactions', { transactions: [transaction] }, other)).rejects.toThrow(
        'Invalid signature',
      );
      await expect(post('/v1/dev/faucet', { from: FIRST, address: SECOND, amount: 1 }, other)).rejects.toThrow(
        '--impersonate',
      );
      await expect(post('/v1/dev/faucet', { address: FIRST, amount: 1, set: true }, other)).rejects.toThrow(
        '--impersonate',
      );
    } finally {
      await other.stop();
    }
  });

  it('is nothing that another node takes: neither its blocks, nor its folder, nor its links', async () => {
    const fork = { fork: network.url ?? '' };
    const copy = made('copy', fork);
    await expect(copy.start()).rejects.toThrow('Invalid signature');
    await copy.stop();
    const impersonating = made('copy-2', { ...fork, impersonates: true });
    await impersonating.start();
    await impersonating.stop();
    // A normal node, with the configuration of dev networks.
    const node = await Node.create(devConfig('storage', { dataDir: join(root, 'copy-2'), ports: 'any' }), { logger });
    await expect(node.start()).rejects.toThrow('belongs to the network "tessera-dev-impersonate"');
    await node.stop();
    // One that lies about its name is refused by the rules that links compare.
    const name = { option: 'network.name', value: 'tessera-dev-impersonate', flag: 'code' };
    const { peerAddress } = network.nodes.storage;
    const config = {
      dataDir: join(root, 'liar'),
      ports: 'any' as const,
      flags: [name],
      peers: { storage: [peerAddress] },
    };
    let log = '';
    const listening = NodeLogger.create({ level: 'warn', format: 'json' }, { out: { write: (text) => (log += text) } });
    const liar = await Node.create(devConfig('user', config), { logger: listening });
    await liar.start();
    await expect.poll(() => log).toContain('network.genesis_file');
    await liar.stop();
  });
});

describe('a clock that stands', () => {
  it('makes the same hashes from the same commands, and blocks at a wanted time', async () => {
    const hashes = await Promise.all(
      ['a', 'b'].map(async (name) => {
        const one = made(name, { clockAt: 1_800_000_000 });
        await one.start();
        try {
          await post('/v1/dev/faucet', { address: FIRST, amount: 5 }, one);
          await post('/v1/dev/blocks', { count: 2, time: 1_900_000_000 }, one);
          const { id } = await post('/v1/dev/snapshots', {}, one);
          await post('/v1/dev/time', { advance: 60 }, one);
          await post(`/v1/dev/snapshots/${id}/revert`, {}, one);
          const order = { kind: 'address', address: SECOND, amount: 7, passphrase: '' };
          const paid = await post('/v1/payments', order, one);
          await post('/v1/dev/blocks', { count: 1 }, one);
          const { block } = await get('/v1/blocks/latest', one);
          return [paid.tx_hash, block.block.header];
        } finally {
          await one.stop();
        }
      }),
    );
    expect(hashes[0]).toEqual(hashes[1]);
    expect(hashes[0]?.[1]).toMatchObject({ timestamp: 1_900_000_000 });
  });
});
