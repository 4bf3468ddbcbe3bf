/** The plugin of the older routes, for the roles of the node. */

import type { ApiPlugin } from '../options.js';
import { apiOf } from '../roles.js';
import { envelopeRoutes } from '../routes/envelope/handlers.js';

export const envelope: ApiPlugin = (app, { options: { roles, api, envelope: options }, modules }, done) => {
  const operations = roles.flatMap((role) => {
    const { envelopes = [], walletEnvelopes = [] } = apiOf(role);
    return [...envelopes, ...(options.walletRoutes ? walletEnvelopes : [])];
  });
  app.register(envelopeRoutes, { options: { ...options, batch: api.limits.batch }, operations, modules });
  done();
};
