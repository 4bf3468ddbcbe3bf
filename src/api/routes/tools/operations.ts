/** The stateless tools for transactions: of user nodes, and of every node with `api.tooling_everywhere` (decision V23). */

import { Type } from '@sinclair/typebox';
import { section } from '../../operation.js';
import { Batch, named } from '../../schemas/scalars.js';
import { CreateTransaction, EXAMPLE_TRANSACTION, JsonSerializedTransaction } from '../../schemas/transaction.js';

const tools = section('Tools');

const SerializeTransactionsRequest = named('SerializeTransactionsRequest', 'Transactions to encode.').object(
  { transactions: Batch(CreateTransaction) },
  { transactions: [EXAMPLE_TRANSACTION] },
);
const SerializeTransactionsResponse = named('SerializeTransactionsResponse', 'Encoded transactions.').object(
  { transactions: Type.Array(JsonSerializedTransaction) },
  { transactions: [] },
);

/** Pattern of hex. Other texts are refused with a code of their own. */
const HEX = '^([0-9a-fA-F]{2})+$';
const EXAMPLE_TX_HEX = `${'00'.repeat(16)}06${'00'.repeat(16)}`;
const DeserializeTransactionsRequest = named('DeserializeTransactionsRequest', 'Transactions to decode.').object(
  {
    transactions: Batch(
      Type.String({
        description: 'Bytes of a transaction in hex.',
        examples: [EXAMPLE_TX_HEX],
        'x-document': { pattern: HEX },
      }),
    ),
  },
  { transactions: [EXAMPLE_TX_HEX] },
);
const DeserializeTransactionsResponse = named('DeserializeTransactionsResponse', 'Decoded transactions.').object(
  { transactions: Type.Array(CreateTransaction) },
  { transactions: [EXAMPLE_TRANSACTION] },
);

export const serializeTransactions = tools.post('serializeTransactions', '/v1/transactions:serialize', {
  reads: true,
  tooling: true,
  summary: 'Encode transactions',
  description: 'Touches no mempool and no wallet.',
  body: { schema: SerializeTransactionsRequest },
  long: true,
  success: { 200: { description: 'Bytes and hashes.', schema: SerializeTransactionsResponse } },
  errors: ['malformed_transaction'],
});

export const deserializeTransactions = tools.post('deserializeTransactions', '/v1/transactions:deserialize', {
  reads: true,
  tooling: true,
  summary: 'Decode transactions',
  description: 'Scripts of the pay-to-public-key-hash shape come back as Pay2PkH.',
  body: { schema: DeserializeTransactionsRequest },
  long: true,
  success: { 200: { description: 'The transactions.', schema: DeserializeTransactionsResponse } },
  errors: ['malformed_transaction'],
});

export const toolOperations = [serializeTransactions, deserializeTransactions] as const;
