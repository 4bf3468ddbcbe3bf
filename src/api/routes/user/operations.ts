/** The operations of user nodes alone: donation requests, and the stateless tools for transactions. */

import { defineOperation } from '../../operation.js';
import {
  DeserializeTransactionsRequest,
  DeserializeTransactionsResponse,
  DonationRequest,
  SerializeTransactionsRequest,
  SerializeTransactionsResponse,
} from '../wallet/schemas.js';

const user = ['user'] as const;

export const requestDonation = defineOperation({
  id: 'requestDonation',
  family: 'v1',
  method: 'POST',
  path: '/v1/donation-requests',
  roles: user,
  tag: 'Payments',
  apiKey: true,
  summary: 'Ask a peer for a donation',
  body: { schema: DonationRequest },
  success: { 202: { description: 'Asked.' } },
  errors: [
    'invalid_socket_address',
    'no_wallet',
    'cannot_pay',
    'peer_unreachable',
    'wallet_unreadable',
    'wallet_write_failed',
  ],
});

export const serializeTransactions = defineOperation({
  id: 'serializeTransactions',
  family: 'v1',
  method: 'POST',
  path: '/v1/transactions:serialize',
  roles: user,
  tag: 'Tools',
  tooling: true,
  summary: 'Encode transactions',
  description: 'Touches no mempool and no wallet.',
  body: { schema: SerializeTransactionsRequest },
  success: { 200: { description: 'Bytes and hashes.', schema: SerializeTransactionsResponse } },
  errors: ['malformed_transaction'],
});

export const deserializeTransactions = defineOperation({
  id: 'deserializeTransactions',
  family: 'v1',
  method: 'POST',
  path: '/v1/transactions:deserialize',
  roles: user,
  tag: 'Tools',
  tooling: true,
  summary: 'Decode transactions',
  description: 'Scripts of the pay-to-public-key-hash shape come back as Pay2PkH.',
  body: { schema: DeserializeTransactionsRequest },
  success: { 200: { description: 'The transactions.', schema: DeserializeTransactionsResponse } },
  errors: ['malformed_transaction'],
});

export const userOperations = [requestDonation] as const;
export const toolingOperations = [serializeTransactions, deserializeTransactions] as const;
