/** The stateless tools for transactions: of user nodes, and of every node with `api.tooling_everywhere` (decision V23). */

import { defineOperation } from '../../operation.js';
import {
  DeserializeTransactionsRequest,
  DeserializeTransactionsResponse,
  SerializeTransactionsRequest,
  SerializeTransactionsResponse,
} from './schemas.js';

export const serializeTransactions = defineOperation({
  id: 'serializeTransactions',
  family: 'v1',
  method: 'POST',
  reads: true,
  path: '/v1/transactions:serialize',
  tag: 'Tools',
  tooling: true,
  summary: 'Encode transactions',
  description: 'Touches no mempool and no wallet.',
  body: { schema: SerializeTransactionsRequest },
  long: true,
  success: { 200: { description: 'Bytes and hashes.', schema: SerializeTransactionsResponse } },
  errors: ['malformed_transaction'],
});

export const deserializeTransactions = defineOperation({
  id: 'deserializeTransactions',
  family: 'v1',
  method: 'POST',
  reads: true,
  path: '/v1/transactions:deserialize',
  tag: 'Tools',
  tooling: true,
  summary: 'Decode transactions',
  description: 'Scripts of the pay-to-public-key-hash shape come back as Pay2PkH.',
  body: { schema: DeserializeTransactionsRequest },
  long: true,
  success: { 200: { description: 'The transactions.', schema: DeserializeTransactionsResponse } },
  errors: ['malformed_transaction'],
});

export const toolOperations = [serializeTransactions, deserializeTransactions] as const;
