/** Two wallets that trade, and a chain between them that knows the rules of the network: signatures, sums, DRUID sets. */

import { druidSetFault } from '../../src/chain/druid.js';
import { transactionHash } from '../../src/chain/hash.js';
import { createdOutPoints, isCreate, outPointKey, spentOutPoints } from '../../src/chain/transaction.js';
import type { Transaction, TxOut, Utxo } from '../../src/chain/types.js';
import { formFault, planCreateValidation, planValidation, runCheck } from '../../src/chain/validation.js';
import type { OwnTransaction } from '../../src/wallet/payments/outgoing.js';
import type { TradeDocument } from '../../src/wallet/trades/documents.js';
import type { Wallet } from '../../src/wallet/wallet.js';
import { block, newWallet, type OpenWallet, type OpenWalletOptions, openWallet } from './wallet-fixtures.js';

/** A pool that admits by the rules, and blocks made of all of it. */
export class TradingChain {
  readonly unspent = new Map<string, Utxo>();
  readonly #pool = new Map<string, Transaction>();
  readonly #claimed = new Set<string>();
  /** By DRUID. */
  readonly #waiting = new Map<string, Map<string, Transaction>>();
  readonly wallets: OpenWallet[] = [];
  #height = -1;
  #tip: string | null = null;

  /** Make all before the first block. */
  async wallet(options: OpenWalletOptions = {}): Promise<OpenWallet> {
    const opened = await newWallet({ networkName: 'test', ...options });
    this.wallets.push(opened);
    return opened;
  }

  async reopen(opened: OpenWallet, options: OpenWalletOptions = {}): Promise<OpenWallet> {
    await opened.close();
    const again = await openWallet(opened.folder, { networkName: 'test', ...options });
    this.wallets.splice(this.wallets.indexOf(opened), 1, again);
    return again;
  }

  /** Hashes of halves that wait for the other. */
  get halves(): readonly string[] {
    return [...this.#waiting.values()].flatMap((members) => [...members.keys()]);
  }

  /** What a mempool node answers: null, or why not. */
  submit(tx: Transaction): string | null {
    const hash = transactionHash(tx);
    if (this.#pool.has(hash) || this.#waiting.get(tx.druidInfo?.druid ?? '')?.has(hash)) return null;
    const wrong = this.#faultOf(tx);
    if (wrong !== null) return wrong;
    if (tx.druidInfo === null) return this.#admit([tx]);
    const { druid, participants } = tx.druidInfo;
    const members = this.#waiting.get(druid) ?? new Map<string, Transaction>();
    members.set(hash, tx);
    this.#waiting.set(druid, members);
    if (BigInt(members.size) < participants) return null;
    this.#waiting.delete(druid);
    const set = [...members.values()];
    const unfair = druidSetFault(druid, set)?.message ?? null;
    return unfair ?? set.map((one) => this.#faultOf(one)).find((fault) => fault !== null) ?? this.#admit(set);
  }

  /** Sends what a wallet has queued, as `user/sender.ts` does. */
  async send({ wallet }: OpenWallet): Promise<void> {
    const later: string[] = [];
    for (let next = wallet.outgoing.takeQueued(); next !== undefined; next = wallet.outgoing.takeQueued()) {
      await this.#sendOne(wallet, next, later);
    }
    for (const hash of later) wallet.outgoing.release(hash);
  }

  /** A block with the whole pool, seen by all wallets. */
  async mine(): Promise<readonly Transaction[]> {
    const transactions = [...this.#pool.values()];
    this.#height += 1;
    const told = block(this.#height, transactions, { previous: this.#tip });
    this.#tip = told.hash;
    for (const tx of transactions) {
      for (const outPoint of spentOutPoints(tx)) this.unspent.delete(outPointKey(outPoint));
      for (const { outPoint, txOut } of createdOutPoints(tx))
        this.unspent.set(outPointKey(outPoint), [outPoint, txOut]);
    }
    this.#pool.clear();
    this.#claimed.clear();
    for (const { wallet } of this.wallets) {
      await wallet.chain.apply(told);
      await wallet.trades.settled();
    }
    return transactions;
  }

  /** Outputs out of nothing, in the next block. */
  grant(outputs: readonly TxOut[]): void {
    const previousOut = { tHash: `outside ${this.#height} ${this.#pool.size}`, n: 0 };
    const tx = { inputs: [{ previousOut, script: [] }], outputs, version: 6n, fees: [], druidInfo: null };
    this.#pool.set(transactionHash(tx), tx);
  }

  /** Sends and mines until nothing is on its way. */
  async settle(): Promise<void> {
    for (let i = 0; i < 20; i++) {
      for (const opened of [...this.wallets, ...this.wallets]) await this.send(opened);
      await this.mine();
      if (this.wallets.every(({ wallet }) => wallet.outgoing.inFlight().length === 0)) return;
    }
  }

  async #sendOne(wallet: Wallet, { hash, transaction }: OwnTransaction, later: string[]): Promise<void> {
    const wrong = this.submit(transaction);
    if (wrong === null) return wallet.settlement.markSent(hash);
    if (wrong === 'double_spend' || wrong === 'unknown_input') later.push(hash);
    else await wallet.settlement.markRejected(hash, wrong);
    await wallet.trades.settled();
  }

  #faultOf(tx: Transaction): string | null {
    if (isCreate(tx)) return planCreateValidation(tx).fault?.message ?? null;
    const form = formFault(tx);
    if (form !== null) return form.message;
    const made = new Map(
      [...this.#pool.values()].flatMap((one) =>
        createdOutPoints(one).map(({ outPoint, txOut }) => [outPointKey(outPoint), txOut] as const),
      ),
    );
    const lookup = (key: string): TxOut | undefined => this.unspent.get(key)?.[1] ?? made.get(key);
    const { checks, fault } = planValidation(tx, BigInt(this.#height + 1), (outPoint) => lookup(outPointKey(outPoint)));
    if (fault !== null) return fault.code === 'unknown_input' ? fault.code : fault.message;
    return checks.every(runCheck) ? null : 'a signature is wrong';
  }

  #admit(transactions: readonly Transaction[]): string | null {
    const spent = transactions.flatMap(spentOutPoints).map(outPointKey);
    if (spent.some((key) => this.#claimed.has(key))) return 'double_spend';
    for (const key of spent) this.#claimed.add(key);
    for (const tx of transactions) this.#pool.set(transactionHash(tx), tx);
    return null;
  }
}

/** What a document becomes on its way, as a file. */
export function carried<D extends TradeDocument>(document: D | null): D {
  if (document === null) throw new Error('no document');
  return JSON.parse(JSON.stringify(document));
}
