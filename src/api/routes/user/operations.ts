/** The operations of user nodes alone: donation requests. */

import { Type } from '@sinclair/typebox';
import { DONATION_OUTCOMES } from '../../../wallet/service.js';
import { section } from '../../operation.js';
import { Enum, Int64, Limit, Nullable, named } from '../../schemas/scalars.js';

const payments = section('Payments');

const MAX_DONATION_REQUESTS = 1_000;
export const DEFAULT_DONATION_REQUESTS = 100;

export const DonationRequest = named('DonationRequest', 'Whom to ask for a donation.').object(
  {
    address: Type.String({
      maxLength: 256,
      description: 'ip:port of the node to ask.',
      examples: ['127.0.0.1:12360'],
    }),
  },
  { address: '127.0.0.1:12360' },
);

export const DonationRequestsQuery = Type.Object({
  limit: Limit(MAX_DONATION_REQUESTS, `How many at most; ${DEFAULT_DONATION_REQUESTS} by default.`),
});

const EXAMPLE = {
  requests: [
    {
      number: 7,
      peer: '127.0.0.1:12360',
      asked_at: 1_700_000_000,
      outcome: 'declined',
      reason: 'this node gives no donations',
    },
  ],
};

export const DonationRequestsResponse = named(
  'DonationRequestsResponse',
  'The last donations that were asked for, newest first.',
).object(
  {
    requests: Type.Array(
      Type.Object({
        number: Int64({ description: 'Place in the list of all, which never changes.' }),
        peer: Type.String({ description: 'The node that was asked.' }),
        asked_at: Int64({ description: 'Unix seconds.' }),
        outcome: Enum(DONATION_OUTCOMES, {
          description:
            'accepted: the peer says that it pays; the funds come with a block. declined: it does not pay. unanswered: it ' +
            'said nothing in time, and may still pay.',
        }),
        reason: Nullable(Type.String(), {
          description: 'Any text that the peer sent; or why there is no answer.',
        }),
      }),
    ),
  },
  EXAMPLE,
);

export const requestDonation = payments.post('requestDonation', '/v1/donation-requests', {
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

export const getDonationRequests = payments.get('getDonationRequests', '/v1/donation-requests', {
  permission: 'read',
  summary: 'What peers said that were asked for a donation',
  description: 'An extension of the contract: the last 1,000 requests, newest first, with those that were declined.',
  query: DonationRequestsQuery,
  success: { 200: { description: 'The last requests.', schema: DonationRequestsResponse } },
  errors: ['no_wallet', 'cannot_pay'],
});

export const userOperations = [requestDonation, getDonationRequests] as const;
