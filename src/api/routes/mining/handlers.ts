/** Routes of nodes that mine. */

import { headerView } from '../../../chain/json.js';
import { routesOf } from '../../http/route.js';
import { miningOperations } from './operations.js';

export const miningRoutes = routesOf(miningOperations, ({ services }) => ({
  getCurrentBlock() {
    const current = services.miner.currentBlock();
    // Decision V19
    return { block: current === null ? null : { block: headerView(current.header), reward: current.reward } };
  },
}));
