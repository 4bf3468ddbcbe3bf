/**
 * Transactions for attacks: signed by the published accounts of the dev network, and put to a mempool node by every way
 * there is.
 */

import { addressOf } from '../../src/chain/address.js';
import { tokenAsset } from '../../src/chain/assets.js';
import { createItemTransaction, txOut } from '../../src/chain/builders.js';
import { transactionToCreateJson } from '../../src/chain/create-transaction.js';
import { encodeTransactions } from '../../src/chain/decode-in-pieces.js';
import type { Transaction, TxOut } from '../../src/chain/types.js';
import { DEV_GENESIS_TX, type DevAccount, devAccounts } from '../../src/config/dev-accounts.js';
import { generateKeyPair } from '../../src/crypto/ed25519.js';
import { stringifyExact } from '../../src/lib/json.js';
import { systemRandom } from '../../src/lib/random.js';
import type { Link, Message } from '../../src/peers/network.js';
import { payment } from '../support/mempool.js';
import { call, type NodeProcess, until } from '../support/processes.js';

/** An address that nobody has used. */
export const freshAddress = (): string => addressOf(generateKeyPair(systemRandom).publicKey);

export function devAccount(number: number): DevAccount {
  const account = devAccounts().accounts[number];
  if (account === undefined) throw new Error(`there is no account ${number}`);
  return account;
}

/** The first output of an account, spent: these outputs, and the rest back. */
export function spendOf(account: DevAccount, outputs: readonly TxOut[]): Transaction {
  const { keyPair, address, outputs: owned, outputAmount } = account;
  const paid = outputs.reduce((sum, { value }) => sum + value.amount, 0n);
  return payment({
    from: { key: keyPair, address },
    inputs: [{ tHash: DEV_GENESIS_TX, n: owned[0] ?? 0 }],
    outputs: [...outputs, txOut(tokenAsset(outputAmount - paid), address)],
  });
}

/** '' when it was admitted, else the code of the refusal. */
export async function submitByLink(link: Link, transactions: readonly Transaction[]): Promise<string> {
  const attachment = encodeTransactions(transactions);
  const { body } = (await link.request('transactions.submit', {}, { attachment })) as Message<'transactions.result'>;
  return body.accepted ? '' : body.code;
}

/** The same by HTTP. */
export async function submitByHttp(node: NodeProcess, transactions: readonly Transaction[]): Promise<string> {
  return postText(
    node,
    '/v1/transactions',
    stringifyExact({ transactions: transactions.map(transactionToCreateJson) }),
  );
}

/** '' when the answer is 2xx, else the code of the problem; the status when it is none. */
export async function postText(node: NodeProcess, path: string, body: string): Promise<string> {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(`${node.apiUrl}${path}`, { method: 'POST', headers, body });
  const text = await response.text();
  if (response.ok) return '';
  const { code } = JSON.parse(text) as { code?: string };
  return code ?? String(response.status);
}

/** Tokens of the addresses together. */
export async function tokensOf(mempool: NodeProcess, addresses: readonly string[]): Promise<number> {
  const answer = (await call(`${mempool.apiUrl}/v1/balances/query`, { addresses })) as {
    balance: { total: { tokens: number | bigint } };
  };
  return Number(answer.balance.total.tokens);
}

/** Resolves when the addresses have that many tokens together. */
export async function untilTokens(mempool: NodeProcess, addresses: readonly string[], tokens: number): Promise<void> {
  await until(`the addresses to have ${tokens}`, async () =>
    (await tokensOf(mempool, addresses)) >= tokens ? true : undefined,
  );
}

/** Transactions that need no funds: items, each of its own amount, of a key that nobody has. */
export function creations(count: number): Transaction[] {
  const key = generateKeyPair(systemRandom);
  return Array.from({ length: count }, (_, i) =>
    createItemTransaction({ bNum: 0n, amount: BigInt(i + 1), spec: 'Create', metadata: null }, key),
  );
}
