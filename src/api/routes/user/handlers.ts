/** Routes of user nodes alone: donation requests. */

import { requireSocketAddress } from '../../../lib/ip-address.js';
import { idempotencyKeyOf } from '../../http/idempotency-key.js';
import { routesOf } from '../../http/route.js';
import { DEFAULT_DONATION_REQUESTS, userOperations } from './operations.js';

const MS_PER_SECOND = 1_000;

export const userRoutes = routesOf(userOperations, ({ services }) => ({
  async requestDonation(request) {
    const { user } = services;
    const { body } = request;
    requireSocketAddress(body.address);
    await user.requestDonation(body.address, { idempotencyKey: idempotencyKeyOf(request) });
    return undefined;
  },

  async getDonationRequests({ query: { limit } }) {
    const requests = services.user.donationRequests(Number(limit ?? DEFAULT_DONATION_REQUESTS));
    return {
      requests: requests.map(({ number, peer, askedAt, outcome, reason }) => ({
        number,
        peer,
        asked_at: Math.floor(askedAt / MS_PER_SECOND),
        outcome,
        reason: reason === '' ? null : reason,
      })),
    };
  },
}));
