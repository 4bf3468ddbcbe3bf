/** Reads the transactions of a body, a few in each iteration of the event loop. */

import { parseCreateTransaction } from '../../../chain/create-transaction.js';
import type { Transaction } from '../../../chain/types.js';

/** A body that came in the chain's own encoding: its transactions are read already. */
export class EncodedBody {
  readonly transactions: readonly Transaction[];

  constructor(transactions: readonly Transaction[]) {
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
