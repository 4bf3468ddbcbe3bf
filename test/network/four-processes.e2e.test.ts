/**
 * The main job on real processes (issue "A network that runs"): a payment made through the user node's API is checked by the
 * mempool, mined by the miner, kept by storage and seen in the receiver's balance, whatever is killed in between.
 */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tokenAsset } from '../../src/chain/assets.js';
import { assembleSigned, txOut, unsignedInput } from '../../src/chain/builders.js';
import { TOTAL_TOKENS } from '../../src/chain/constants.js';
import { transactionToCreateJson } from '../../src/chain/create-transaction.js';
import { transactionHash } from '../../src/chain/hash.js';
import { outPointKey } from '../../src/chain/transaction.js';
import type { OutPoint, Transaction } from '../../src/chain/types.js';
import { DEV_GENESIS_TX, type DevAccount, devAccounts } from '../../src/config/dev-accounts.js';
import { call, createNetwork, type Network, type NodeProcess, until } from '../support/processes.js';

interface Balance {
  readonly balance: {
    readonly total: { readonly tokens: number | bigint };
    readonly address_list: Readonly<Record<string, readonly { readonly value: { readonly Token: number | bigint } }[]>>;
  };
}

/** Payments of each account. */
const EACH = process.env.LONG_TESTS === undefined ? 50 : 200;

let network: Network;
let storage: NodeProcess;
let mempool: NodeProcess;
let miner: NodeProcess;
let user: NodeProcess;

beforeAll(async () => {
  network = await createNetwork();
  ({ storage, mempool, miner, user } = await network.addAll());
});

afterAll(() => network.stopAll());

const newAddress = async (node: NodeProcess): Promise<string> => {
  const answer = (await call(`${node.apiUrl}/v1/wallet/addresses`, {})) as { address: string };
  return answer.address;
};

const pay = (address: string, amount: number): Promise<unknown> =>
  call(`${user.apiUrl}/v1/payments`, { kind: 'address', address, amount, passphrase: '' });

const balanceOf = async (addresses: readonly string[]): Promise<Balance['balance']> =>
  ((await call(`${mempool.apiUrl}/v1/balances/query`, { addresses })) as Balance).balance;

/** Resolves when the address holds the amount, in exactly one output. */
const arrivedOnce = (address: string, amount: number): Promise<void> =>
  until(`${amount} at ${address}`, async () => {
    const { address_list } = await balanceOf([address]);
    const outputs = address_list[address];
    if (outputs === undefined) return undefined;
    expect(outputs.map(({ value }) => value.Token)).toEqual([amount]);
    return true;
  }).then(() => undefined);

const isConfirmed = (hash: string): Promise<string> =>
  until(`${hash} confirmed`, async () => {
    const statuses = (await call(`${mempool.apiUrl}/v1/transactions/status?hash=${hash}`)) as Record<
      string,
      { status: string; additional_info: string }
    >;
    return statuses[hash]?.status === 'Confirmed' ? statuses[hash].additional_info : undefined;
  });

describe('a network of four processes', () => {
  it('carries a payment from the user node to the receiver, block and entry included', async () => {
    const address = await newAddress(miner);
    const { tx_hash } = (await pay(address, 72_072_000)) as { tx_hash: string };
    await arrivedOnce(address, 72_072_000);
    const info = await isConfirmed(tx_hash);
    const entry = (await call(`${storage.apiUrl}/v1/blockchain-entries/${tx_hash}`)) as {
      data: { outputs: unknown[] };
      item_meta: { block_num: number };
    };
    expect(entry.data.outputs).toContainEqual({
      value: { Token: 72_072_000 },
      locktime: 0,
      script_public_key: address,
    });
    expect(info).toContain(`In block ${entry.item_meta.block_num} `);
    await until('the payment in the wallet of the receiver', async () => {
      const wallet = (await call(`${miner.apiUrl}/v1/wallet`)) as { addresses: Record<string, unknown> };
      return address in wallet.addresses ? true : undefined;
    });
  });

  for (const victim of ['storage', 'mempool', 'miner', 'user'] as const) {
    it(`delivers a payment exactly once when the ${victim} is killed in the middle of it (rules P1, P7)`, async () => {
      const node = { storage, mempool, miner, user }[victim];
      const address = await newAddress(miner);
      const amount = 1_000 + victim.length;
      const { tx_hash } = (await pay(address, amount)) as { tx_hash: string };
      await node.kill();
      await node.start();
      await isConfirmed(tx_hash);
      await arrivedOnce(address, amount);
    });
  }

  it('lets a second storage node join late, which then serves the same blocks', async () => {
    const late = await network.add('late', 'storage', { 'peers.storage': storage.peerAddress });
    const latest = async (node: NodeProcess): Promise<string> =>
      (await fetch(`${node.apiUrl}/v1/blocks/latest`)).text();
    const height = JSON.parse(await latest(storage)).block.block.header.b_num as number;
    expect(height).toBeGreaterThan(4);
    await until('the late storage node to catch up', async () =>
      (await latest(late)) === (await latest(storage)) ? true : undefined,
    );
    for (let num = 0; num <= height; num++) {
      const read = async (node: NodeProcess): Promise<string> =>
        (await fetch(`${node.apiUrl}/v1/blocks/${num}`)).text();
      expect(await read(late)).toBe(await read(storage));
    }
  });

  it(`carries ${10 * EACH} payments of ten accounts; all balances together are the issued supply`, async () => {
    const { accounts } = devAccounts();
    const splits = accounts.map((account) => split(account, EACH));
    await submit(splits);
    await Promise.all(splits.map((tx) => isConfirmed(transactionHash(tx))));
    const receivers = accounts.map((_, i) => accounts[(i + 1) % accounts.length]?.address ?? '');
    const payments = accounts.flatMap((account, i) => {
      const parent = splits[i];
      if (parent === undefined) return [];
      const tHash = transactionHash(parent);
      return parent.outputs.map(({ value }, n) => spend(account, { tHash, n }, receivers[i] ?? '', value.amount));
    });
    expect(payments).toHaveLength(10 * EACH);
    for (let at = 0; at < payments.length; at += 100) await submit(payments.slice(at, at + 100));
    for (const tx of payments) await isConfirmed(transactionHash(tx));

    const wallets = await Promise.all(
      [user, miner].map(async (node) =>
        Object.keys(((await call(`${node.apiUrl}/v1/wallet/keypairs`)) as { addresses: object }).addresses),
      ),
    );
    const everyone = [...accounts.map(({ address }) => address), ...wallets.flat()];
    const supply = await until('a moment between two blocks', async () => {
      const before = (await call(`${mempool.apiUrl}/v1/supply`)) as { total: bigint; issued: bigint };
      const { total } = await balanceOf(everyone);
      const after = (await call(`${mempool.apiUrl}/v1/supply`)) as { issued: bigint };
      return before.issued === after.issued ? { ...before, held: BigInt(total.tokens) } : undefined;
    });
    expect(supply.held).toBe(BigInt(supply.issued));
    expect(BigInt(supply.total)).toBe(TOTAL_TOKENS);
  });

  it('stops on SIGTERM with exit code 0', async () => {
    expect(await user.stop()).toBe(0);
    await user.start();
  });
});

const submit = (transactions: readonly Transaction[]): Promise<unknown> =>
  call(`${mempool.apiUrl}/v1/transactions`, { transactions: transactions.map(transactionToCreateJson) });

function split(account: DevAccount, parts: number): Transaction {
  const share = account.outputAmount / BigInt(parts);
  const input: OutPoint = { tHash: DEV_GENESIS_TX, n: account.outputs[0] ?? 0 };
  const last = account.outputAmount - share * BigInt(parts - 1);
  const outputs = Array.from({ length: parts }, (_, i) =>
    txOut(tokenAsset(i === parts - 1 ? last : share), account.address),
  );
  return assembleSigned({ inputs: [unsignedInput(input)], outputs }, new Map([[outPointKey(input), account.keyPair]]));
}

function spend(account: DevAccount, input: OutPoint, to: string, amount: bigint): Transaction {
  const outputs = [txOut(tokenAsset(amount), to)];
  return assembleSigned({ inputs: [unsignedInput(input)], outputs }, new Map([[outPointKey(input), account.keyPair]]));
}
