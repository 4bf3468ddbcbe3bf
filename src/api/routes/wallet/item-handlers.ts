/** Routes of the items of a wallet. */

import type { FastifyPluginCallback } from 'fastify';
import { LazyList } from '../../http/lazy-list.js';
import { addRoutes } from '../../http/route.js';
import { walletItemOperations } from './item-operations.js';
import { pay } from './payment.js';

export const walletItemRoutes: FastifyPluginCallback = (app, _options, done) => {
  const { services } = app;

  addRoutes(app, walletItemOperations, {
    async getWalletItems() {
      const items = await services.wallet.items();
      return { items: LazyList.of(items, ({ genesisHash, ...shown }) => ({ ...shown, genesis_hash: genesisHash })) };
    },

    createItemPayment: async (request) => pay(services, request, request.body.genesis_hash),
  });
  done();
};
