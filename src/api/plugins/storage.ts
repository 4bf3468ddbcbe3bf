/** The plugin of storage nodes: blocks and entries as they are stored, and the index of the chain. */

import type { ApiPlugin } from '../options.js';
import { chainRoutes, holdingRoutes } from '../routes/chain/handlers.js';
import { storageRoutes } from '../routes/storage/handlers.js';

export const storage: ApiPlugin = (app, { modules: { isRevertible } }, done) => {
  app.register(storageRoutes, { isRevertible }).register(chainRoutes, { isRevertible }).register(holdingRoutes);
  done();
};
