/** Transactions to encode and decode. */

import { Type } from '@sinclair/typebox';
import { Batch } from '../../schemas/scalars.js';
import { CreateTransaction, EXAMPLE_TRANSACTION, JsonSerializedTransaction } from '../../schemas/transaction.js';

export const SerializeTransactionsRequest = Type.Object(
  { transactions: Batch(CreateTransaction) },
  {
    $id: 'SerializeTransactionsRequest',
    description: 'Transactions to encode.',
    examples: [{ transactions: [EXAMPLE_TRANSACTION] }],
  },
);
export const SerializeTransactionsResponse = Type.Object(
  { transactions: Type.Array(JsonSerializedTransaction) },
  { $id: 'SerializeTransactionsResponse', description: 'Encoded transactions.', examples: [{ transactions: [] }] },
);

/** What is not hex is refused with a code of its own. */
const HEX = '^([0-9a-fA-F]{2})+$';
const EXAMPLE_TX_HEX = `${'00'.repeat(16)}06${'00'.repeat(16)}`;
export const DeserializeTransactionsRequest = Type.Object(
  {
    transactions: Batch(
      Type.String({
        description: 'Bytes of a transaction in hex.',
        examples: [EXAMPLE_TX_HEX],
        'x-document': { pattern: HEX },
      }),
    ),
  },
  {
    $id: 'DeserializeTransactionsRequest',
    description: 'Transactions to decode.',
    examples: [{ transactions: [EXAMPLE_TX_HEX] }],
  },
);
export const DeserializeTransactionsResponse = Type.Object(
  { transactions: Type.Array(CreateTransaction) },
  {
    $id: 'DeserializeTransactionsResponse',
    description: 'Decoded transactions.',
    examples: [{ transactions: [EXAMPLE_TRANSACTION] }],
  },
);
