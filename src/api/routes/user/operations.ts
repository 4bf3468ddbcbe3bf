/** The operations of user nodes alone: donation requests. */

import { defineOperation } from '../../operation.js';
import { DonationRequest, DonationRequestsQuery, DonationRequestsResponse } from './schemas.js';

export const requestDonation = defineOperation({
  id: 'requestDonation',
  family: 'v1',
  method: 'POST',
  path: '/v1/donation-requests',
  tag: 'Payments',
  apiKey: true,
  permission: 'pay',
  idempotencyKey: true,
  summary: 'Ask a peer for a donation',
  description: 'Whether the peer gives one is in GET /v1/donation-requests.',
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

export const getDonationRequests = defineOperation({
  id: 'getDonationRequests',
  family: 'v1',
  method: 'GET',
  path: '/v1/donation-requests',
  tag: 'Payments',
  apiKey: true,
  permission: 'read',
  summary: 'What peers said that were asked for a donation',
  description: 'An extension of the contract: the last 1,000 requests, newest first, with those that were declined.',
  query: DonationRequestsQuery,
  success: { 200: { description: 'The last requests.', schema: DonationRequestsResponse } },
  errors: ['no_wallet', 'cannot_pay'],
});

export const userOperations = [requestDonation, getDonationRequests] as const;
