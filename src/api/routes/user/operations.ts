/** The operations of user nodes alone: donation requests. */

import { defineOperation } from '../../operation.js';
import { DonationRequest } from './schemas.js';

export const requestDonation = defineOperation({
  id: 'requestDonation',
  family: 'v1',
  method: 'POST',
  path: '/v1/donation-requests',
  roles: ['user'],
  tag: 'Payments',
  apiKey: true,
  permission: 'pay',
  idempotencyKey: true,
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

export const userOperations = [requestDonation] as const;
