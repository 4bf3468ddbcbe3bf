/** The plugin of user nodes: a wallet, requests for donations, and the tools for transactions. */

import { requireSocketAddress } from '../../lib/ip-address.js';
import { idempotencyKeyOf } from '../http/idempotency-key.js';
import { routesOf } from '../http/route.js';
import type { ApiPlugin } from '../options.js';
import { itemRoutes } from '../routes/items/handlers.js';
import { toolRoutes } from '../routes/tools/handlers.js';
import { DEFAULT_DONATION_REQUESTS, userOperations } from '../routes/user/operations.js';
import { wallet } from './wallet.js';

export const user: ApiPlugin = (app, parts, done) => {
  app.register(itemRoutes).register(wallet, parts).register(userRoutes).register(toolRoutes);
  done();
};

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
