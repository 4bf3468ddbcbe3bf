/** The wallet of a node, for every role that has one. */

import type { ApiPlugin } from '../options.js';
import { walletBackupRoutes, walletItemRoutes, walletRoutes } from '../routes/wallet/handlers.js';
import { walletHistoryRoutes } from '../routes/wallet/history-handlers.js';
import { walletTradeRoutes } from '../routes/wallet/trade-handlers.js';

export const wallet: ApiPlugin = (app, _parts, done) => {
  app
    .register(walletRoutes)
    .register(walletHistoryRoutes)
    .register(walletItemRoutes)
    .register(walletTradeRoutes)
    .register(walletBackupRoutes);
  done();
};
