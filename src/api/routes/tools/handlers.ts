/** The stateless tools for transactions. */

import { decodeTransaction, encodeTransaction } from '../../../chain/codec.js';
import { parseCreateTransaction, transactionToCreateJson } from '../../../chain/create-transaction.js';
import { transactionHashOfBytes } from '../../../chain/hash.js';
import { fromHex, isHex, toHex } from '../../../lib/bytes.js';
import { errorMessage, TesseraError } from '../../../lib/errors.js';
import { LazyList } from '../../http/long-answers.js';
import { routesOf } from '../../http/route.js';
import { toolOperations } from './operations.js';

/** Routes of the tools: on user nodes, and everywhere when `api.tooling_everywhere` is set (decision V23). */
export const toolRoutes = routesOf(toolOperations, () => ({
  serializeTransactions: ({ body }) => ({
    transactions: LazyList.of(body.transactions, (value, index) => {
      const bytes = encodeTransaction(parseCreateTransaction(value, `transactions[${index}]`));
      return { txn_hash_hex: transactionHashOfBytes(bytes), txn_hex: toHex(bytes) };
    }),
  }),
  deserializeTransactions: ({ body }) => ({
    transactions: LazyList.of(body.transactions, (hex, index) => transactionToCreateJson(decodeHex(hex, index))),
  }),
}));

function decodeHex(hex: string, index: number) {
  if (!isHex(hex)) {
    throw new TesseraError(
      'malformed_transaction',
      `transactions[${index}] is not an even number of hexadecimal digits.`,
    );
  }
  try {
    return decodeTransaction(fromHex(hex));
  } catch (cause) {
    throw new TesseraError('malformed_transaction', `transactions[${index}]: ${errorMessage(cause)}`, { cause });
  }
}
