/**
 * The wallet on real processes (issue "The wallet", what is to be shown at the end): two user nodes and a miner, with a
 * mempool and a storage node, killed and restarted. LONG_TESTS=1 kills it among payments too, as chained-payments.e2e.test.ts does, and
 * during 40 changes of the passphrase: test/wallet/keystore-kills.e2e.test.ts has kills during changes of the keystore alone.
 */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tokenAsset } from '../../src/chain/assets.js';
import { assembleSigned, txOut, unsignedInput } from '../../src/chain/builders.js';
import { transactionToCreateJson } from '../../src/chain/create-transaction.js';
import { outPointKey } from '../../src/chain/transaction.js';
import { DEV_GENESIS_TX, type DevAccount, devAccounts } from '../../src/config/dev-accounts.js';
import { systemClock } from '../../src/lib/clock.js';
import { parseExactJson, stringifyExact } from '../../src/lib/json.js';
import { systemRandom } from '../../src/lib/random.js';

import { Keystore } from '../../src/wallet/keys/keystore.js';
import { call, createNetwork, type Network, type NodeProcess, until, whenReady } from '../support/processes.js';
import { historyOf, settledHistory } from '../support/wallet-history.js';

const PAYMENTS = 200;
/** Payments at once while the node is killed. */
const PAYERS = 20;
const isLong = process.env.LONG_TESTS !== undefined;
const PASSPHRASE_KILLS = 40;
/** Milliseconds: a change takes about 500, two derivations. */
const CHANGE_LASTS = 600;
const DONATION = 7_207_200;

type Amount = number | bigint;
interface WalletInfo {
  readonly addresses: Readonly<Record<string, readonly { readonly value: { readonly Token: Amount } }[]>>;
  readonly available_total_tokens: Amount;
  readonly locked_total_tokens: Amount;
  readonly running_total_tokens: Amount;
}
interface ChainInput {
  readonly previous_out: { readonly t_hash: string; readonly n: number };
}
type Outgoing = readonly (readonly [hash: string, transaction: { readonly inputs: readonly ChainInput[] }])[];

let network: Network;
let folder: string;
let mempool: NodeProcess;
let miner: NodeProcess;
let alice: NodeProcess;
let bob: NodeProcess;
const accounts = devAccounts().accounts;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tessera-passphrases-'));
  network = await createNetwork();
  const storage = await network.add('storage', 'storage');
  mempool = await network.add('mempool', 'mempool', { 'peers.storage': storage.peerAddress });
  const common = { 'peers.mempool': mempool.peerAddress, 'user.donation_amount': DONATION };
  [miner, alice, bob] = await Promise.all([
    network.add('miner', 'miner', { ...common, 'wallet.genesis_seed_index': 1 }),
    network.add('alice', 'user', { ...common, 'wallet.genesis_seed_index': 0 }),
    network.add('bob', 'user', {
      ...common,
      'wallet.passphrase_file': await passphraseFile('bob', 'the passphrase of bob'),
      'wallet.aggregate_above': 100,
    }),
  ]);
  await whenReady(mempool);
});

afterAll(async () => {
  await network.stopAll();
  await rm(folder, { recursive: true, force: true });
});

async function passphraseFile(name: string, passphrase: string): Promise<string> {
  const file = join(folder, name);
  await writeFile(file, `${passphrase}\n`);
  return file;
}

const info = async (node: NodeProcess): Promise<WalletInfo> => (await call(`${node.apiUrl}/v1/wallet`)) as WalletInfo;
const total = async (node: NodeProcess): Promise<bigint> => BigInt((await info(node)).running_total_tokens);
const newAddress = async (node: NodeProcess): Promise<string> =>
  ((await call(`${node.apiUrl}/v1/wallet/addresses`, {})) as { address: string }).address;
const keysOf = async (node: NodeProcess): Promise<Record<string, unknown>> =>
  ((await call(`${node.apiUrl}/v1/wallet/keypairs`)) as { addresses: Record<string, unknown> }).addresses;

/** Raw units in each output at the address, in order. */
async function amountsAt(address: string): Promise<bigint[]> {
  const { balance } = (await call(`${mempool.apiUrl}/v1/balances?address=${address}`)) as {
    balance: { address_list: WalletInfo['addresses'] };
  };
  return (balance.address_list[address] ?? []).map(({ value }) => BigInt(value.Token)).sort((a, b) => Number(a - b));
}

/** The account's whole funds to the addresses, in equal parts. */
async function fund(account: DevAccount, address: string, parts: number, share: bigint): Promise<void> {
  const input = { tHash: DEV_GENESIS_TX, n: account.outputs[0] ?? 0 };
  const outputs = Array.from({ length: parts }, () => txOut(tokenAsset(share), address));
  const rest = account.outputAmount - share * BigInt(parts);
  const transaction = assembleSigned(
    { inputs: [unsignedInput(input)], outputs: [...outputs, txOut(tokenAsset(rest), account.address)] },
    new Map([[outPointKey(input), account.keyPair]]),
  );
  await call(`${mempool.apiUrl}/v1/transactions`, { transactions: [transactionToCreateJson(transaction)] });
}

interface PaymentAnswer {
  /** Undefined when no answer came. */
  readonly status: number | undefined;
  readonly hash: string | undefined;
  readonly amount: bigint;
}

async function pay(
  node: NodeProcess,
  to: string,
  amount: bigint,
  kind = 'address',
  passphrase = '',
): Promise<PaymentAnswer> {
  try {
    const response = await fetch(`${node.apiUrl}/v1/payments`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: stringifyExact({ kind, address: to, amount, passphrase }),
    });
    const { tx_hash } = parseExactJson(await response.text()) as { tx_hash?: string };
    return { status: response.status, hash: tx_hash, amount };
  } catch {
    return { status: undefined, hash: undefined, amount };
  }
}

const holds = (node: NodeProcess, amount: bigint): Promise<unknown> =>
  until(`${amount} in the wallet`, async () => ((await total(node)) === amount ? true : undefined));

async function expectNoOutpointTwice(node: NodeProcess): Promise<void> {
  const { transactions } = (await call(`${node.apiUrl}/v1/transactions/outgoing`)) as { transactions: Outgoing };
  const spent = transactions.flatMap(([, { inputs }]) =>
    inputs.map(({ previous_out: { t_hash, n } }) => `${t_hash}:${n}`),
  );
  expect(new Set(spent).size).toBe(spent.length);
}

describe('payments of one wallet', () => {
  const receiver = accounts[9]?.address ?? '';

  it('takes 200 at once: 202 or 422, no outpoint twice, sums conserved', async () => {
    const account = accounts[0] as DevAccount;
    await fund(account, await newAddress(alice), 150, 72_072_000n);
    const before = await until('150 more outputs', async () => {
      const wallet = await info(alice);
      const outputs = Object.values(wallet.addresses).flat().length;
      return outputs === 160 ? BigInt(wallet.running_total_tokens) : undefined;
    });
    const had = (await amountsAt(receiver)).reduce((sum, amount) => sum + amount, 0n);

    const tooMuch = before + 1n;
    const answers = await Promise.all(
      Array.from({ length: PAYMENTS }, (_, i) => pay(alice, receiver, i % 10 === 9 ? tooMuch : 1_000_000n + BigInt(i))),
    );
    const accepted = answers.filter(({ status }) => status === 202);
    const paid = accepted.reduce((sum, { amount }) => sum + amount, 0n);
    expect(answers.filter(({ status }) => status !== 202 && status !== 422)).toEqual([]);
    expect(accepted.length).toBeGreaterThanOrEqual(150);
    expect(accepted.length).toBeLessThanOrEqual(180);

    const entries = await settledHistory(alice);
    expect(entries.every(({ state }) => state === 'confirmed')).toBe(true);
    expect(new Set(entries.map(({ tx_hash }) => tx_hash))).toEqual(new Set(accepted.map(({ hash }) => hash)));
    await expectNoOutpointTwice(alice);
    expect(await total(alice)).toBe(before - paid);
    const has = (await amountsAt(receiver)).reduce((sum, amount) => sum + amount, 0n);
    expect(has - had).toBe(paid);
  });

  it.each(isLong ? ['the middle'] : [])(
    'delivers each acknowledged one exactly once when the node is killed in %s (rule P1)',
    async () => {
      const before = await total(alice);
      const known = (await historyOf(alice)).length;
      let acknowledged = 0;
      let killed: Promise<void> | undefined;
      const answers: PaymentAnswer[] = [];
      let next = 2_000_000n;
      // Each pays until it gets no answer, so that the kill is in the middle however late it comes.
      await Promise.all(
        Array.from({ length: PAYERS }, async () => {
          for (let isThere = true; isThere; ) {
            const answer = await pay(alice, receiver, next++);
            answers.push(answer);
            if (answer.status === 202) acknowledged += 1;
            if (acknowledged === 40) killed ??= alice.kill();
            isThere = answer.status !== undefined;
          }
        }),
      );
      await killed;
      await alice.start();

      const accepted = answers.filter(({ status }) => status === 202);
      expect(accepted.length).toBeLessThan(answers.length);
      const entries = (await settledHistory(alice)).slice(known);
      expect(entries.every(({ state }) => state === 'confirmed')).toBe(true);
      const confirmed = new Set(entries.map(({ tx_hash }) => tx_hash));
      expect(accepted.filter(({ hash }) => hash === undefined || !confirmed.has(hash))).toEqual([]);
      await expectNoOutpointTwice(alice);

      // What was acknowledged has arrived, once; nothing has arrived twice, acknowledged or not.
      const arrived = (await amountsAt(receiver)).filter((amount) => amount >= 2_000_000n && amount < 3_000_000n);
      expect(new Set(arrived).size).toBe(arrived.length);
      expect(accepted.filter(({ amount }) => !arrived.includes(amount))).toEqual([]);
      expect(await total(alice)).toBe(before - arrived.reduce((sum, amount) => sum + amount, 0n));
    },
  );
});

describe('payments between nodes (decision V15)', () => {
  const AMOUNT = 72_072_000n;

  it('pays the other node by its ip, both ways; both wallets agree', async () => {
    const [a, b] = [await total(alice), await total(bob)];
    expect((await pay(alice, bob.peerAddress, 3n * AMOUNT, 'ip')).status).toBe(202);
    await Promise.all([holds(alice, a - 3n * AMOUNT), holds(bob, b + 3n * AMOUNT)]);
    expect((await pay(bob, alice.peerAddress, AMOUNT, 'ip', 'the passphrase of bob')).status).toBe(202);
    await Promise.all([holds(alice, a - 2n * AMOUNT), holds(bob, b + 2n * AMOUNT)]);
  });

  it('gives a donation to the node that asks, both ways, and one a day', async () => {
    const [a, b] = [await total(alice), await total(bob)];
    const ask = (asking: NodeProcess, asked: NodeProcess): Promise<unknown> =>
      call(`${asking.apiUrl}/v1/donation-requests`, { address: asked.peerAddress });
    await ask(alice, bob);
    await Promise.all([holds(alice, a + BigInt(DONATION)), holds(bob, b - BigInt(DONATION))]);
    await ask(bob, alice);
    await Promise.all([holds(alice, a), holds(bob, b)]);
    await ask(alice, bob);
    expect((await historyOf(bob)).filter(({ kind }) => kind === 'donation')).toHaveLength(1);
  });
});

describe('items and rewards', () => {
  it.each([
    ['user', 'Create'],
    ['user', 'Default'],
    ['miner', 'Create'],
  ] as const)('shows what a %s node has created with %s in its wallet and its balance', async (role, spec) => {
    const node = role === 'user' ? alice : miner;
    const metadata = 'm'.repeat(800);
    const itemsOf = async () => (await historyOf(node)).filter(({ kind }) => kind === 'item');
    const known = (await itemsOf()).length;
    await call(`${node.apiUrl}/v1/items`, { item_amount: 7, genesis_hash_spec: spec, metadata });
    const made = await until('the item in its block', async () => {
      const item = (await itemsOf())[known];
      return item?.state === 'confirmed' ? item : undefined;
    });
    const genesisHash = spec === 'Default' ? 'default_genesis_hash' : made.tx_hash;
    const { item_total } = (await call(`${node.apiUrl}/v1/wallet`)) as { item_total: Record<string, number> };
    expect(item_total[genesisHash]).toBe(7);
    const address = made.outputs[0]?.address ?? '';
    const { balance } = (await call(`${mempool.apiUrl}/v1/balances?address=${address}`)) as {
      balance: { total: { items: Record<string, number> } };
    };
    expect(balance.total.items).toEqual({ [genesisHash]: 7 });
  });

  it('locks the rewards of the miner', async () => {
    const {
      locked_total_tokens: locked,
      running_total_tokens: running,
      available_total_tokens: free,
    } = await info(miner);
    expect(BigInt(locked)).toBeGreaterThan(0n);
    expect(BigInt(running)).toBe(BigInt(locked) + BigInt(free));
  });
});

describe('aggregation', () => {
  it('joins a thousand small outputs into a few, and loses nothing', async () => {
    const before = await total(bob);
    const small = 1_000n;
    const address = await newAddress(bob);
    await fund(accounts[1] as DevAccount, address, 1_000, small);
    await holds(bob, before + 1_000n * small);
    const merges = await until('the merges', async () => {
      const entries = (await historyOf(bob)).filter(({ kind }) => kind === 'merge');
      const outputs = Object.values((await info(bob)).addresses).flat().length;
      return outputs <= 100 && entries.every(({ state }) => state === 'confirmed') ? entries : undefined;
    });
    expect(merges.length).toBeLessThanOrEqual(4);
    expect(merges.every(({ outputs }) => outputs.length === 1 && outputs[0]?.own === true)).toBe(true);
    // While another merge is signed, its inputs are in no sum.
    await holds(bob, before + 1_000n * small);
    await expectNoOutpointTwice(bob);
  });
});

describe('keys of one node on another (decisions V11, V13)', () => {
  it('has the same balance there after the refresh', async () => {
    const keys = await keysOf(alice);
    const expected = await total(alice);
    const twin = await network.add('twin', 'user', {
      'peers.mempool': mempool.peerAddress,
      'wallet.passphrase_file': await passphraseFile('twin', 'another passphrase'),
    });
    expect(await total(twin)).toBe(0n);
    await until('a mempool node for the refresh', async () =>
      (await fetch(`${twin.apiUrl}/readyz`)).ok ? true : undefined,
    );
    const { imported } = (await call(`${twin.apiUrl}/v1/wallet/keypairs`, { addresses: keys })) as {
      imported: string[];
    };
    expect(new Set(imported)).toEqual(new Set(Object.keys(keys)));
    await holds(twin, expected);
    await twin.kill();
  });
});

describe('secrets (rule P8)', () => {
  it('stand in no log and in no answer but the export', async () => {
    for (const node of [alice, bob]) {
      const keys = Object.values(await keysOf(node)) as { secret_key: string }[];
      // The seed stands behind the 16 bytes that begin the document.
      const seeds = keys.map(({ secret_key }) => secret_key.slice(32, 96));
      const answers = await Promise.all(
        ['wallet', 'wallet?spent=true', 'wallet/history', 'transactions/outgoing', 'debug'].map(async (path) =>
          (await fetch(`${node.apiUrl}/v1/${path}`)).text(),
        ),
      );
      const text = [node.log(), ...answers].join('\n');
      expect(text.length).toBeGreaterThan(1_000);
      expect(seeds.filter((seed) => text.includes(seed))).toEqual([]);
      expect(text).not.toContain('the passphrase of bob');
    }
  });
});

// In the long form only.
describe.each(isLong ? [PASSPHRASE_KILLS] : [])('a change of passphrase', (kills) => {
  it(`leaves exactly one passphrase and every key after each kill, of ${kills}`, async () => {
    const data = join(folder, 'carol');
    const file = await passphraseFile('carol.txt', 'passphrase 0');
    const carol = await network.add('carol', 'user', {
      'node.data_dir': data,
      'peers.mempool': mempool.peerAddress,
      'wallet.passphrase_file': file,
    });
    await newAddress(carol);
    const keys = await keysOf(carol);
    let current = 'passphrase 0';
    for (let round = 1; round <= kills; round++) {
      const next = `passphrase ${round}`;
      const change = fetch(`${carol.apiUrl}/v1/wallet/passphrase`, {
        method: 'PUT',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ old_passphrase: current, new_passphrase: next }),
      }).then(
        ({ status }) => status,
        () => undefined,
      );
      // The moments of the kills are spread over the whole change.
      await new Promise((resolve) => setTimeout(resolve, (CHANGE_LASTS * (round - 0.5)) / kills));
      await carol.kill();
      const status = await change;
      const opens = [];
      for (const passphrase of [current, next])
        if (await opensWith(join(data, 'keystore.json'), passphrase)) opens.push(passphrase);
      expect(opens).toHaveLength(1);
      if (status === 204) expect(opens).toEqual([next]);
      current = opens[0] ?? '';
      await writeFile(file, current);
      await carol.start();
      expect(await keysOf(carol)).toEqual(keys);
    }
  });
});

async function opensWith(file: string, passphrase: string): Promise<boolean> {
  const options = { file, passphrase, createIfMissing: false, allowBlankPassphrase: false };
  try {
    (await Keystore.open(options, { random: systemRandom, clock: systemClock })).close();
    return true;
  } catch {
    return false;
  }
}
