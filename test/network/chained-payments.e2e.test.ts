/**
 * Payments that build on each other, on real processes: a wallet with one output pays again and again without waiting for
 * a block, also while its node and the mempool node are killed (docs/adr/0023-own-change.md), and a client posts a chain of
 * its own. LONG_TESTS=1 makes 200 payments at blocks of 5 seconds too, and more kills.
 */

import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tokenAsset } from '../../src/chain/assets.js';
import { assembleSigned, txOut, unsignedInput } from '../../src/chain/builders.js';
import { transactionToCreateJson } from '../../src/chain/create-transaction.js';
import { transactionHash } from '../../src/chain/hash.js';
import { outPointKey } from '../../src/chain/transaction.js';
import type { OutPoint, Transaction } from '../../src/chain/types.js';
import { DEV_GENESIS_TX, type DevAccount, devAccounts } from '../../src/config/dev-accounts.js';
import { parseExactJson, stringifyExact } from '../../src/lib/json.js';
import { call, createNetwork, type Network, type NodeProcess, until, whenReady } from '../support/processes.js';
import { temporaryFolder } from '../support/wallet-fixtures.js';
import { historyOf, settledHistory } from '../support/wallet-history.js';

const isLong = process.env.LONG_TESTS !== undefined;
/** More than the ancestors that one transaction may have. */
const PAYMENTS = isLong ? 200 : 110;
/** Answers to these, in a row and then at once, after which user and mempool nodes are killed. */
const KILLED_AFTER = [50, 130, 230, 330];
/** What is killed while clients repeat, in the long form: worlds play it too (theme `wallets`). */
const PACES = isLong
  ? [
      { blocks: 'blocks of 5 seconds', pace: { 'mining.instant': false, 'mining.block_interval_ms': 5_000 } },
      { blocks: 'instant blocks', pace: {} },
    ]
  : [];
const KILLS = isLong ? 6 : 1;
/** Payments at once while nodes are killed. */
const THROUGH_KILLS = isLong ? PAYMENTS : 60;
const FUNDS = 72_072_000_000n;

type Amount = number | bigint;
interface Listed {
  readonly value: { readonly Token: Amount };
}
interface WalletInfo {
  readonly addresses: Readonly<Record<string, readonly Listed[]>>;
  readonly available_total_tokens: Amount;
  readonly running_total_tokens: Amount;
}
interface Answer {
  /** Undefined when no answer came. */
  readonly status: number | undefined;
  readonly hash: string | undefined;
  readonly detail: string | undefined;
  readonly amount: bigint;
}

let network: Network;
let storage: NodeProcess;
let mempool: NodeProcess;
let payer: NodeProcess;
const { accounts } = devAccounts();
const receiver = accounts[9]?.address ?? '';
/** The amounts of all payments differ. */
let nextAmount = 1_000_000n;

async function start(pace: Readonly<Record<string, unknown>>): Promise<void> {
  const folder = await temporaryFolder();
  const passphrase = join(folder, 'passphrase');
  await writeFile(passphrase, 'a passphrase\n');
  const links = { 'peers.heartbeat_ms': 1_000, 'peers.reconnect_max_ms': 200 };
  network = await createNetwork();
  storage = await network.add('storage', 'storage', links);
  mempool = await network.add('mempool', 'mempool', { ...links, ...pace, 'peers.storage': storage.peerAddress });
  const common = { ...links, 'peers.mempool': mempool.peerAddress };
  [, payer] = await Promise.all([
    network.add('miner', 'miner', { ...common, 'wallet.genesis_seed_index': 1 }),
    network.add('payer', 'user', { ...common, 'wallet.passphrase_file': passphrase }),
  ]);
  const { address } = (await call(`${payer.apiUrl}/v1/wallet/addresses`, {})) as { address: string };
  await whenReady(mempool);
  await post([paying(accounts[0] as DevAccount, genesisOutput(accounts[0] as DevAccount), [[address, FUNDS]])]);
  await until('one output', async () => (outputsOf(await info()).length === 1 ? true : undefined));
}

const info = async (): Promise<WalletInfo> => (await call(`${payer.apiUrl}/v1/wallet`)) as WalletInfo;
const outputsOf = ({ addresses }: WalletInfo): readonly Listed[] => Object.values(addresses).flat();

interface Spendable {
  readonly outPoint: OutPoint;
  readonly amount: bigint;
}

const genesisOutput = ({ outputs, outputAmount }: DevAccount, i = 0): Spendable => ({
  outPoint: { tHash: DEV_GENESIS_TX, n: outputs[i] ?? 0 },
  amount: outputAmount,
});

/** A transaction of the account with these payments, and the rest to itself as its last output. */
function paying(account: DevAccount, from: Spendable, payments: readonly (readonly [string, bigint])[]): Transaction {
  const rest = from.amount - payments.reduce((sum, [, amount]) => sum + amount, 0n);
  const outputs = [...payments, [account.address, rest] as const].map(([to, amount]) => txOut(tokenAsset(amount), to));
  const keys = new Map([[outPointKey(from.outPoint), account.keyPair]]);
  return assembleSigned({ inputs: [unsignedInput(from.outPoint)], outputs }, keys);
}

const post = (transactions: readonly Transaction[]): Promise<unknown> =>
  call(`${mempool.apiUrl}/v1/transactions`, { transactions: transactions.map(transactionToCreateJson) });

async function pay(amount = nextAmount++, key?: string): Promise<Answer> {
  try {
    const response = await fetch(`${payer.apiUrl}/v1/payments`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(key && { 'idempotency-key': key }) },
      body: stringifyExact({ kind: 'address', address: receiver, amount, passphrase: 'a passphrase' }),
    });
    const { tx_hash: hash, detail } = parseExactJson(await response.text()) as { tx_hash?: string; detail?: string };
    return { status: response.status, hash, detail, amount };
  } catch {
    return { status: undefined, hash: undefined, detail: undefined, amount };
  }
}

/** As a client pays that asks again with its key until there is an answer of a node that runs. */
function payUntilAnswered(): Promise<Answer> {
  const [amount, key] = [nextAmount++, randomUUID()];
  return until('an answer', async () => {
    const answer = await pay(amount, key);
    return answer.status === undefined || answer.status >= 500 ? undefined : answer;
  });
}

/** Kills user and mempool nodes after so many answers, and starts them again. */
class Kills {
  readonly #after: readonly number[];
  #answered = 0;
  /** Resolves when the nodes run again. */
  over: Promise<void> = Promise.resolve();

  constructor(after: readonly number[]) {
    this.#after = after;
  }

  answered(): void {
    this.#answered += 1;
    if (this.#after.includes(this.#answered)) this.over = this.over.then(() => this.#kill());
  }

  async #kill(): Promise<void> {
    await Promise.all([mempool.kill(), payer.kill()]);
    await mempool.start();
    await payer.start();
  }
}

/** Amounts of payments at the receiver, each as often as it arrived. */
async function arrived(): Promise<bigint[]> {
  const { balance } = (await call(`${mempool.apiUrl}/v1/balances?address=${receiver}`)) as {
    balance: { address_list: Readonly<Record<string, readonly Listed[]>> };
  };
  const amounts = (balance.address_list[receiver] ?? []).map(({ value }) => BigInt(value.Token));
  return amounts.filter((amount) => amount >= 1_000_000n && amount < nextAmount).sort((a, b) => Number(a - b));
}

/** Every answer is 202, every payment is confirmed and has arrived once, and the wallet has the rest in one output. */
async function expectAllPaid(known: number, answers: readonly Answer[]): Promise<void> {
  expect(answers.filter(({ status }) => status !== 202)).toEqual([]);
  const entries = (await settledHistory(payer, known + answers.length)).slice(known);
  expect(entries.filter(({ state }) => state !== 'confirmed')).toEqual([]);
  expect(new Set(entries.map(({ tx_hash }) => tx_hash))).toEqual(new Set(answers.map(({ hash }) => hash)));
  await expectArrived(answers);
}

async function expectArrived(answers: readonly Answer[]): Promise<void> {
  const amounts = await arrived();
  expect(new Set(amounts).size).toBe(amounts.length);
  const there = new Set(amounts);
  expect(answers.filter(({ amount }) => !there.has(amount))).toEqual([]);
  const left = FUNDS - amounts.reduce((sum, amount) => sum + amount, 0n);
  const wallet = await until('the rest in one output', async () => {
    const found = await info();
    return outputsOf(found).length === 1 && BigInt(found.running_total_tokens) === left ? found : undefined;
  });
  expect(BigInt(wallet.available_total_tokens)).toBe(left);
}

describe('a wallet with one output at instant blocks (decision V29)', () => {
  beforeAll(() => start({}), 180_000);
  afterAll(() => network.stopAll());

  it(`pays ${PAYMENTS} times in a row without waiting for a block`, async () => {
    const answers: Answer[] = [];
    for (let i = 0; i < PAYMENTS; i++) answers.push(await pay());
    await expectAllPaid(0, answers);
  });

  it(`pays ${PAYMENTS} times at once`, async () => {
    const known = (await historyOf(payer)).length;
    await expectAllPaid(known, await Promise.all(Array.from({ length: PAYMENTS }, () => pay())));
  });

  it('says at once, and with the same sentence to one and to twenty, that the funds do not suffice', async () => {
    const { available_total_tokens: available } = await info();
    const tooMuch = BigInt(available) + 1n;
    const alone = await pay(tooMuch);
    expect(alone).toMatchObject({ status: 422, detail: expect.stringContaining('short of 1') });
    const answers = await Promise.all(Array.from({ length: 20 }, () => pay(tooMuch)));
    expect(new Set(answers.map(({ status, detail }) => `${status} ${detail}`))).toEqual(
      new Set([`422 ${alone.detail}`]),
    );
    // Among payments that can be made, too.
    const known = (await historyOf(payer)).length;
    const mixed = await Promise.all(Array.from({ length: 40 }, (_, i) => pay(i % 2 === 0 ? undefined : tooMuch)));
    expect(mixed.map(({ status }) => status)).toEqual(mixed.map((_, i) => (i % 2 === 0 ? 202 : 422)));
    await expectAllPaid(
      known,
      mixed.filter(({ status }) => status === 202),
    );
  });

  it('delivers what it has acknowledged once when user and mempool nodes are killed in the middle (rule P1)', async () => {
    for (let kill = 0; kill < KILLS; kill++) {
      const known = (await historyOf(payer)).length;
      let acknowledged = 0;
      let killed: Promise<unknown> | undefined;
      const answers = await Promise.all(
        Array.from({ length: THROUGH_KILLS }, async () => {
          const answer = await pay();
          if (answer.status === 202) acknowledged += 1;
          if (acknowledged === Math.min(20 * (kill + 1), THROUGH_KILLS / 2))
            killed ??= Promise.all([mempool.kill(), payer.kill()]);
          return answer;
        }),
      );
      await killed;
      await mempool.start();
      await payer.start();
      const accepted = answers.filter(({ status }) => status === 202);
      const entries = (await settledHistory(payer, known + accepted.length)).slice(known);
      expect(entries.filter(({ state }) => state !== 'confirmed')).toEqual([]);
      const confirmed = new Set(entries.map(({ tx_hash }) => tx_hash));
      expect(accepted.filter(({ hash }) => hash === undefined || !confirmed.has(hash))).toEqual([]);
      await expectArrived(accepted);
    }
  });

  it('takes a chain of a client: parent and child in one list, and a child in a later one', async () => {
    const account = accounts[3] as DevAccount;
    const parent = paying(account, genesisOutput(account), [[receiver, 11n]]);
    const rest = (of: Transaction): Spendable => ({
      outPoint: { tHash: transactionHash(of), n: of.outputs.length - 1 },
      amount: of.outputs.at(-1)?.value.amount ?? 0n,
    });
    const child = paying(account, rest(parent), [[receiver, 12n]]);
    const grandchild = paying(account, rest(child), [[receiver, 13n]]);
    await expect(post([child, parent])).rejects.toThrow(/ 500 .*transaction_rejected|unknown_input/);
    await post([parent, child]);
    await post([grandchild]);
    const hashes = [parent, child, grandchild].map((transaction) => transactionHash(transaction));
    await until('the chain confirmed', async () => {
      const statuses = (await call(
        `${mempool.apiUrl}/v1/transactions/status?${hashes.map((h) => `hash=${h}`).join('&')}`,
      )) as Record<string, { status: string }>;
      return hashes.every((hash) => statuses[hash]?.status === 'Confirmed') ? true : undefined;
    });
  });
});

describe.each(PACES)('a wallet with one output at $blocks, with kill -9 of user and mempool nodes', ({ pace }) => {
  beforeAll(() => start(pace), 180_000);
  afterAll(() => network.stopAll());

  it(`pays ${PAYMENTS} times in a row, and as often at once (docs/wallet.md#paid-exactly-once)`, async () => {
    const kills = new Kills(KILLED_AFTER);
    const payOne = async (): Promise<Answer> => {
      const answer = await payUntilAnswered();
      kills.answered();
      return answer;
    };
    const answers: Answer[] = [];
    for (let i = 0; i < PAYMENTS; i++) answers.push(await payOne());
    answers.push(...(await Promise.all(Array.from({ length: PAYMENTS }, payOne))));
    await kills.over;
    await expectAllPaid(0, answers);
  });
});
