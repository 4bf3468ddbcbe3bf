/** Routes of nodes that mine. */

import type { FastifyPluginCallback } from 'fastify';
import { headerView } from '../../../chain/json.js';
import { addRoutes } from '../../http/route.js';
import { miningOperations } from './operations.js';

export const miningRoutes: FastifyPluginCallback = (app, _options, done) => {
  const { services } = app;
  addRoutes(app, miningOperations, {
    getCurrentBlock() {
      const current = services.miner.currentBlock();
      // Decision V19
      return { block: current === null ? null : { block: headerView(current.header), reward: current.reward } };
    },
  });
  done();
};
