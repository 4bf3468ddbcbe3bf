/**
 * What each sender has in the pool or on its way there, of what it sent since this node started: a budget that is given back
 * when the transactions leave the pool. The first to come are the first to go, so that only these are looked at.
 */

import { type Amount, Budget, type BudgetLimits } from '../../lib/budget.js';
import type { CandidateTx } from '../state/acceptance.js';

interface Sent {
  readonly forget: () => void;
  isOnItsWay: boolean;
}

export interface SentTransactionsModules {
  /** Whether a transaction is in the pool, or is waited for there. */
  readonly state: { isReady(hash: string): boolean; waits(hash: string): boolean };
}

/** So many of those that wait for the others of their DRUID are passed over at once. */
const MAX_PASSED_OVER = 1_024;

export class SentTransactions {
  readonly #budget: Budget;
  readonly #state: SentTransactionsModules['state'];
  /** By hash, in the order in which they came, which is that in which they leave; those whose set is not whole move to the end. */
  readonly #sent = new Map<string, Sent>();

  constructor(limits: BudgetLimits, { state }: SentTransactionsModules) {
    this.#budget = new Budget(limits);
    this.#state = state;
  }

  /** Throws the error of the budget, of which `taken` is not free, when there is no room for transactions of a sender. */
  check(transactions: readonly SizedTx[], sender: string | undefined, taken: Amount): void {
    this.#forgetTheFirst();
    this.#budget.check(sender, amountOf(transactions), taken);
  }

  /** Counts transactions; the result is to be called when they have arrived in the pool, or were refused. */
  add(transactions: readonly SizedTx[], sender: string | undefined): () => void {
    for (const one of transactions) {
      this.#forget(one.hash);
      this.#sent.set(one.hash, { forget: this.#budget.add(sender, amountOf([one])), isOnItsWay: true });
    }
    return () => {
      for (const { hash } of transactions) this.#arrived(hash);
    };
  }

  #arrived(hash: string): void {
    const sent = this.#sent.get(hash);
    if (sent === undefined) return;
    sent.isOnItsWay = false;
    if (!this.#state.isReady(hash) && !this.#state.waits(hash)) this.#forget(hash);
  }

  /** Forgets those that went into a block. */
  #forgetTheFirst(): void {
    const passedOver = new Set<string>();
    for (const [hash, sent] of this.#sent) {
      if (sent.isOnItsWay || this.#state.isReady(hash) || passedOver.has(hash)) return;
      if (!this.#state.waits(hash)) {
        this.#forget(hash);
        continue;
      }
      // It may wait for long, and holds up nobody behind it.
      if (passedOver.size === MAX_PASSED_OVER) return;
      passedOver.add(hash);
      this.#sent.delete(hash);
      this.#sent.set(hash, sent);
    }
  }

  #forget(hash: string): void {
    this.#sent.get(hash)?.forget();
    this.#sent.delete(hash);
  }
}

export type SizedTx = Pick<CandidateTx, 'hash' | 'bytes'>;

/** Transactions, and their bytes. */
export function amountOf(transactions: readonly SizedTx[]): Amount {
  return [transactions.length, transactions.reduce((sum, { bytes }) => sum + bytes.length, 0)];
}
