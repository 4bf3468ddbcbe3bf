/** Routes of user nodes alone: donation requests. */

import type { FastifyPluginCallback } from 'fastify';
import { requireSocketAddress } from '../../../lib/socket-address.js';
import { idempotencyKeyOf } from '../../http/idempotency-key.js';
import { addRoutes } from '../../http/route.js';
import { userOperations } from './operations.js';

export const userRoutes: FastifyPluginCallback = (app, _options, done) => {
  const { services } = app;
  addRoutes(app, userOperations, {
    async requestDonation(request) {
      const { user } = services;
      const { body } = request;
      requireSocketAddress(body.address);
      await user.requestDonation(body.address, { idempotencyKey: idempotencyKeyOf(request) });
      return undefined;
    },
  });
  done();
};
