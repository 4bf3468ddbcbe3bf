/** Routes of nodes that mine. */

import type { FastifyPluginCallback } from 'fastify';
import { headerView } from '../../../chain/json.js';
import type { Router } from '../../http/route.js';
import type { ApiModules } from '../../options.js';
import { requireMiner } from '../require.js';
import { getCurrentBlock } from './operations.js';

export interface MiningRoutes {
  readonly router: Router;
  readonly modules: Pick<ApiModules, 'miner'>;
}

export const miningPlugin: FastifyPluginCallback<MiningRoutes> = (app, { router, modules }, done) => {
  router.add(app, getCurrentBlock, () => {
    const current = requireMiner(modules.miner).currentBlock();
    // Decision V19
    return { block: current === null ? null : { block: headerView(current.header), reward: current.reward } };
  });
  done();
};
