/**
 * A whole session of an envelope wallet against a real network over HTTP (docs/clients.md#sessions-of-envelope-wallets),
 * whose nodes have an address each, or one.
 */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { devAccounts } from '../../src/config/dev-accounts.js';
import { useDevNetwork } from '../support/dev-network.js';
import { createTwoWayClient, keypair, type Relay, startRelay, type TwoWayClient } from './two-way-client.js';

const networks = {
  contract: useDevNetwork(),
  original: useDevNetwork({ 'envelope.answers': 'original', 'envelope.wallet_routes': true }),
};
describe.each([
  ['at the addresses of the nodes', false, 0, networks.contract],
  ['at one address', true, 2, networks.contract],
  ['with the answers of the original node', true, 0, networks.original],
] as const)('%s', (_where, isOne, from, network) => {
  let relay: Relay;
  let hosts: { readonly mempool: string; readonly storage: string; readonly relay: string };
  let alice: TwoWayClient;
  let bob: TwoWayClient;

  beforeAll(async () => {
    relay = await startRelay();
    const { url = '', urls } = network();
    const { mempool, storage } = isOne ? { mempool: url, storage: url } : urls;
    hosts = { mempool, storage, relay: relay.url };
    const [first, second] = devAccounts().accounts.slice(from);
    if (first === undefined || second === undefined) throw new Error('no accounts');
    alice = createTwoWayClient(hosts, keypair(first.keyPair.seed));
    bob = createTwoWayClient(hosts, keypair(second.keyPair.seed));
  });

  afterAll(() => relay.close());

  /** Resolves when the transactions are in a block, with the entries that storage has for them. */
  async function mined(client: TwoWayClient, hashes: readonly string[]): Promise<readonly (readonly unknown[])[]> {
    return expect
      .poll(() => client.fetchTransactions(hashes))
      .toSatisfy((entries: readonly (readonly unknown[])[]) => entries.every(([key]) => key !== ''))
      .then(() => client.fetchTransactions(hashes));
  }

  describe('a session in the manner of 2Way.js', () => {
    let genesisHash: string;

    it('starts with debug_data of mempool and storage, without headers', async () => {
      await alice.init();
      await bob.init();
    });

    it('reads a balance by array', async () => {
      const { total, address_list } = await alice.fetchBalance();
      expect(total.tokens).toBe(7_207_200_000_000_000);
      expect(Object.keys(address_list)).toEqual([alice.key.address]);
    });

    it('creates items and sees them in the balance', async () => {
      const created = await alice.createItems(1_000, '{"name":"a thing"}');
      expect(created.to_address).toBe(alice.key.address);
      expect(created.asset.asset.Item.amount).toBe(1_000);
      genesisHash = created.tx_hash;
      await mined(alice, [genesisHash]);
      expect((await alice.fetchBalance()).total.items).toEqual({ [genesisHash]: 1_000 });
    });

    it('pays tokens and items', async () => {
      const tokens = await alice.pay(bob.key.address, { Token: 1_000_000 });
      await mined(alice, [tokens]);
      const items = await alice.pay(bob.key.address, {
        Item: { amount: 10, genesis_hash: genesisHash, metadata: null },
      });
      await mined(alice, [items]);
      const { total } = await bob.fetchBalance();
      expect(total.tokens).toBe(7_207_200_001_000_000);
      expect(total.items).toEqual({ [genesisHash]: 10 });
      expect((await alice.fetchBalance()).total.items).toEqual({ [genesisHash]: 990 });
    });

    it('trades tokens for items through the relay: both halves in one block', async () => {
      const give = { Token: 5_000 };
      const take = { Item: { amount: 7, genesis_hash: genesisHash, metadata: null } };
      const druid = await bob.offerTrade(alice.key.address, give, take);
      const offer = (await alice.fetchOffers())[druid];
      if (offer === undefined) throw new Error('the offer did not arrive');
      const ofAlice = await alice.acceptTrade(offer, bob.key.address);
      const [ofBob] = await bob.settleTrades();
      const entries = await mined(alice, [ofAlice, ofBob ?? '']);
      const blocks = entries
        .map(([, , meta]) => JSON.stringify(meta))
        .map((text) => /"block_num":(\d+)/.exec(text)?.[1]);
      expect(blocks[0]).toBeDefined();
      expect(blocks[0]).toBe(blocks[1]);
      expect((await bob.fetchBalance()).total.items).toEqual({ [genesisHash]: 17 });
      expect((await alice.fetchBalance()).total.items).toEqual({ [genesisHash]: 983 });
      expect(await bob.settleTrades()).toEqual([]);
    });

    it('reads entries by array: bare data, and fillers for what is missing', async () => {
      const missing = `g${'0'.repeat(31)}`;
      const entries = await alice.fetchTransactions([genesisHash, missing]);
      expect(entries).toHaveLength(2);
      expect(entries[0]?.[0]).toBe(genesisHash);
      expect(entries[0]?.[1]).toMatchObject({ outputs: [{ value: { Item: { amount: 1_000 } } }] });
      expect(entries[1]).toEqual(['', '', '']);
    });

    it('is told by the envelope when a payment is refused', async () => {
      const reply = await alice.post(hosts.mempool, 'create_transactions', [
        { inputs: [], outputs: [], version: 2, druid_info: null },
      ]);
      const isOriginal = network === networks.original;
      expect(reply).toMatchObject({ status: 'Error', content: isOriginal ? 'null' : null });
    });
  });
});

describe('a program that operates a wallet of the original node', () => {
  async function call(node: 'user' | 'miner' | 'mempool', route: string, body?: unknown): Promise<unknown> {
    const response = await fetch(`${networks.original().urls[node]}/${route}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const reply = (await response.json()) as { status: string; reason: string; content: unknown };
    expect([route, reply.reason, reply.status === 'Error']).toEqual([route, reply.reason, false]);
    return reply.content;
  }

  it('pays an address of the miner, sees it confirmed, and sees it in both wallets', async () => {
    const address = (await call('miner', 'payment_address')) as string;
    const paid = (await call('user', 'make_payment', { address, amount: 4_321, passphrase: '', locktime: null })) as {
      readonly success: boolean;
      readonly tx_hash: string;
      readonly tx: { readonly outputs: readonly unknown[] };
    };
    expect(paid).toMatchObject({ success: true, reason: 'Payment transaction pending' });
    expect(paid.tx.outputs[0]).toEqual({ value: { Token: 4_321 }, locktime: 0, script_public_key: address });
    await expect
      .poll(() => call('mempool', 'transaction_status', [paid.tx_hash]))
      .toMatchObject({ [paid.tx_hash]: { status: 'Confirmed' } });
    await expect
      .poll(() => call('miner', 'wallet_info'))
      .toMatchObject({ addresses: { [address]: [{ out_point: { t_hash: paid.tx_hash, n: 0 } }] } });
    const outgoing = (await call('user', 'outgoing_transactions')) as readonly (readonly [string, unknown])[];
    expect(outgoing.at(-1)).toEqual([paid.tx_hash, paid.tx]);
  });

  it('moves a key from one wallet to the other', async () => {
    const address = (await call('miner', 'payment_address')) as string;
    const { addresses } = (await call('miner', 'export_keypairs')) as { addresses: Record<string, unknown> };
    expect(await call('user', 'import_keypairs', { addresses: { [address]: addresses[address] } })).toEqual([address]);
    expect(await call('user', 'update_running_total', ['all'])).toBe('null');
  });
});
