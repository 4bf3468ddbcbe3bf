/** Routes of user nodes alone: donation requests. */

import type { FastifyPluginCallback } from 'fastify';
import { requireSocketAddress } from '../../../lib/socket-address.js';
import type { Router } from '../../http/route.js';
import type { ApiModules } from '../../options.js';
import { requireUser } from '../require.js';
import { requestDonation } from './operations.js';

export interface UserRoutes {
  readonly router: Router;
  readonly modules: Pick<ApiModules, 'wallet' | 'user'>;
}

export const userPlugin: FastifyPluginCallback<UserRoutes> = (app, { router, modules }, done) => {
  router.add(app, requestDonation, async ({ body }) => {
    const user = requireUser(modules.wallet, modules.user);
    requireSocketAddress(body.address);
    await user.requestDonation(body.address);
    return undefined;
  });
  done();
};
