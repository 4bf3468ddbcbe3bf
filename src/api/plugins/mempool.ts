/** The plugin of mempool nodes: transactions, balances, the supply, and the creation of items that clients sign. */

import type { ApiPlugin } from '../options.js';
import { itemRoutes } from '../routes/items/handlers.js';
import { mempoolRoutes } from '../routes/mempool/handlers.js';

export const mempool: ApiPlugin = (app, _parts, done) => {
  app.register(mempoolRoutes).register(itemRoutes);
  done();
};
