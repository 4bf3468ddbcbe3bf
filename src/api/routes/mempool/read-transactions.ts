/** Reads the transactions of a body, a few in each iteration of the event loop. */

import { isSubmittable, parseCreateTransaction } from '../../../chain/create-transaction.js';
import type { Transaction } from '../../../chain/types.js';
import { TesseraError } from '../../../lib/errors.js';

/** A body that came in the chain's own encoding: its transactions are read already. It can say no more than JSON can. */
export class EncodedBody {
  readonly transactions: readonly Transaction[];

  /** Throws `malformed_transaction` for what clients do not submit. */
  constructor(transactions: readonly Transaction[]) {
    const at = transactions.findIndex((one) => !isSubmittable(one));
    if (at >= 0)
      throw new TesseraError('malformed_transaction', `transactions[${at}] has a form that JSON cannot express`);
    this.transactions = transactions;
  }
}

/** Transactions read in one turn. */
const READ_AT_ONCE = 32;

/** All transactions, at once when they are few. Throws `malformed_transaction` with the place of the fault. */
export function readTransactions(
  bodies: readonly unknown[],
  placeOf: (index: number) => string,
  turn: () => Promise<void>,
): Transaction[] | Promise<Transaction[]> {
  if (bodies.length > READ_AT_ONCE) return readInTurns(bodies, placeOf, turn);
  return bodies.map((body, index) => parseCreateTransaction(body, placeOf(index)));
}

async function readInTurns(
  bodies: readonly unknown[],
  placeOf: (index: number) => string,
  turn: () => Promise<void>,
): Promise<Transaction[]> {
  const transactions: Transaction[] = [];
  for (const [index, body] of bodies.entries()) {
    if (index > 0 && index % READ_AT_ONCE === 0) await turn();
    transactions.push(parseCreateTransaction(body, placeOf(index)));
  }
  return transactions;
}
