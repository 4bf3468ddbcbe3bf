/**
 * Who pays during a run: clients that sign by themselves and post to the mempool node, and wallets of nodes that are asked
 * to.
 */

import { tokenAsset } from '../../src/chain/assets.js';
import { assembleSigned, txOut, unsignedInput } from '../../src/chain/builders.js';
import { transactionToCreateJson } from '../../src/chain/create-transaction.js';
import { transactionHash } from '../../src/chain/hash.js';
import { outPointKey } from '../../src/chain/transaction.js';
import type { OutPoint, Transaction } from '../../src/chain/types.js';
import type { NodeClient } from '../../src/client/client.js';
import { DEV_GENESIS_TX, type DevAccount } from '../../src/config/dev-accounts.js';
import { errorMessage, isTesseraError } from '../../src/lib/errors.js';
import type { Ledger } from './ledger.js';

/** Raw units of a payment of a wallet. */
const PAYMENT = 100_000n;

export interface Writer {
  readonly name: string;
  /** Tries one transaction; resolves with its hash when it is acknowledged. */
  send(): Promise<string>;
}

/** A coin that goes round. */
export interface Lane {
  readonly owner: DevAccount;
  readonly amount: bigint;
  readonly from: OutPoint;
  /** Made and not acknowledged yet: it is sent again as it is, since the node may have got it. */
  readonly pending?: Transaction;
}

/**
 * A client with keys of its own. Its coins go round: each payment spends the output of an earlier one, so that the number of
 * unspent outputs stays as it is.
 */
export class SigningWriter implements Writer {
  readonly name = 'client';
  readonly #mempool: NodeClient;
  readonly #lanes: Lane[];

  constructor(mempool: NodeClient, lanes: readonly Lane[]) {
    this.#mempool = mempool;
    this.#lanes = [...lanes];
  }

  async send(): Promise<string> {
    const lane = this.#lanes.shift();
    if (lane === undefined) throw new Error('all coins of the client are under way');
    const { owner, amount, from } = lane;
    const transaction = lane.pending ?? payment(owner, from, [{ to: owner.address, amount }]);
    try {
      await this.#mempool.api.createTransactions({ body: { transactions: [transactionToCreateJson(transaction)] } });
    } catch (error) {
      this.#lanes.push({ ...lane, pending: transaction });
      throw error;
    }
    const hash = transactionHash(transaction);
    this.#lanes.push({ owner, amount, from: { tHash: hash, n: 0 } });
    return hash;
  }
}

/** The wallet of a node, which pays the same address again and again. */
export class WalletWriter implements Writer {
  readonly name: string;
  readonly #node: NodeClient;
  readonly #to: string;

  constructor(name: string, node: NodeClient, to: string) {
    this.name = name;
    this.#node = node;
    this.#to = to;
  }

  async send(): Promise<string> {
    const { tx_hash: hash } = await this.#node.api.createPayment({
      body: { kind: 'address', address: this.#to, amount: PAYMENT, passphrase: '' },
    });
    if (hash === null) throw new Error('a payment without a hash');
    return hash;
  }
}

/** One transaction that turns the account's coin of block 0 into `parts` coins of each receiver. */
export function splitFor(account: DevAccount, receivers: readonly string[], parts: number): Transaction {
  const share = account.outputAmount / BigInt(parts * receivers.length);
  const outputs = receivers.flatMap((to) => Array.from({ length: parts }, () => ({ to, amount: share })));
  const [first, ...others] = outputs;
  if (first === undefined) throw new Error('a split for nobody');
  const rest = account.outputAmount - share * BigInt(outputs.length);
  return payment(account, { tHash: DEV_GENESIS_TX, n: account.outputs[0] ?? 0 }, [
    { to: first.to, amount: share + rest },
    ...others,
  ]);
}

/** The coins that a split has given to the account itself. */
export function lanesOf(owner: DevAccount, split: Transaction): Lane[] {
  const tHash = transactionHash(split);
  return split.outputs.flatMap(({ value, scriptPublicKey }, n) =>
    scriptPublicKey === owner.address ? [{ owner, amount: value.amount, from: { tHash, n } }] : [],
  );
}

/** Spends the output with the key of its owner. */
export function payment(
  owner: DevAccount,
  from: OutPoint,
  to: readonly { readonly to: string; readonly amount: bigint }[],
): Transaction {
  const outputs = to.map(({ to, amount }) => txOut(tokenAsset(amount), to));
  return assembleSigned({ inputs: [unsignedInput(from)], outputs }, new Map([[outPointKey(from), owner.keyPair]]));
}

/** Lets the writers take turns at a steady rate, and notes in the ledger what came of it. */
export class Load {
  /** Attempts under way at once; beyond it a turn is left out, as when a node is suspended. */
  static readonly #maxUnderWay = 256;
  readonly #ledger: Ledger;
  readonly #writers: readonly Writer[];
  readonly #began = performance.now();
  readonly #underWay = new Set<Promise<void>>();
  #timer: NodeJS.Timeout | undefined;
  #turn = 0;

  constructor(ledger: Ledger, writers: readonly Writer[]) {
    this.#ledger = ledger;
    this.#writers = writers;
  }

  /** Called again, it goes on at the new rate. */
  start(transactionsPerSecond: number): void {
    clearInterval(this.#timer);
    this.#timer = setInterval(() => this.#next(), 1_000 / transactionsPerSecond);
  }

  /** Resolves when every attempt has been answered or has timed out. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all(this.#underWay);
  }

  #next(): void {
    const writer = this.#writers[this.#turn++ % this.#writers.length];
    if (writer === undefined) return;
    if (this.#underWay.size >= Load.#maxUnderWay) {
      this.#ledger.refuse('left out: too many under way');
      return;
    }
    const attempt = this.#attempt(writer).finally(() => this.#underWay.delete(attempt));
    this.#underWay.add(attempt);
  }

  async #attempt(writer: Writer): Promise<void> {
    try {
      const hash = await writer.send();
      this.#ledger.acknowledge({ hash, by: writer.name, at: performance.now() - this.#began });
    } catch (error) {
      this.#ledger.refuse(`${writer.name}: ${isTesseraError(error) ? error.code : errorMessage(error)}`);
    }
  }
}
