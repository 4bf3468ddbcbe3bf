/** The plugin of miners: the block being mined, and a wallet. */

import { headerView } from '../../chain/json.js';
import { routesOf } from '../http/route.js';
import type { ApiPlugin } from '../options.js';
import { itemRoutes } from '../routes/items/handlers.js';
import { miningOperations } from '../routes/mining/operations.js';
import { wallet } from './wallet.js';

export const miner: ApiPlugin = (app, parts, done) => {
  app.register(itemRoutes).register(miningRoutes).register(wallet, parts);
  done();
};

export const miningRoutes = routesOf(miningOperations, ({ services }) => ({
  getCurrentBlock() {
    const current = services.miner.currentBlock();
    // The answer has the form that clients decode (decision V19).
    return { block: current === null ? null : { block: headerView(current.header), reward: current.reward } };
  },
}));
