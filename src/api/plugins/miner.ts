/** Miners: the block being mined, and a wallet. */

import type { ApiPlugin } from '../options.js';
import { itemRoutes } from '../routes/items/handlers.js';
import { miningRoutes } from '../routes/mining/handlers.js';
import { wallet } from './wallet.js';

export const miner: ApiPlugin = (app, parts, done) => {
  app.register(itemRoutes).register(miningRoutes).register(wallet, parts);
  done();
};
