/** The plugin of a node's wallet, for every role that has one. */

import type { ApiPlugin } from '../options.js';
import { walletBackupRoutes, walletHistoryRoutes, walletRoutes, walletTradeRoutes } from '../routes/wallet/handlers.js';

export const wallet: ApiPlugin = (app, _parts, done) => {
  app.register(walletRoutes).register(walletHistoryRoutes).register(walletTradeRoutes).register(walletBackupRoutes);
  done();
};
