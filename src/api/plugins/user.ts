/** Users: a wallet, requests for donations, and the tools for transactions. */

import type { ApiPlugin } from '../options.js';
import { itemRoutes } from '../routes/items/handlers.js';
import { toolRoutes } from '../routes/tools/handlers.js';
import { userRoutes } from '../routes/user/handlers.js';
import { wallet } from './wallet.js';

export const user: ApiPlugin = (app, parts, done) => {
  app.register(itemRoutes).register(wallet, parts).register(userRoutes).register(toolRoutes);
  done();
};
