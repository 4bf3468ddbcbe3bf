/** Routes of the items of a wallet. */

import type { FastifyPluginCallback } from 'fastify';
import { passphraseCaller } from '../../http/access.js';
import { idempotencyKeyOf } from '../../http/idempotency-key.js';
import { LazyList } from '../../http/lazy-list.js';
import { addRoutes } from '../../http/route.js';
import { walletItemOperations } from './item-operations.js';

export const walletItemRoutes: FastifyPluginCallback = (app, _options, done) => {
  const { services } = app;

  addRoutes(app, walletItemOperations, {
    async getWalletItems() {
      const items = await services.wallet.items();
      return { items: LazyList.of(items, ({ genesisHash, ...shown }) => ({ ...shown, genesis_hash: genesisHash })) };
    },

    async createItemPayment(request) {
      const { kind, address, genesis_hash: genesisHash, amount, locktime, passphrase } = request.body;
      const order = {
        address,
        genesisHash,
        amount: BigInt(amount),
        locktime: BigInt(locktime ?? 0),
        passphrase,
        caller: passphraseCaller(request),
        idempotencyKey: idempotencyKeyOf(request),
      };
      const paid = {
        to_address: address,
        amount: { kind: 'item' as const, amount, genesis_hash: genesisHash, metadata: null },
      };
      if (kind === 'address') return { ...paid, tx_hash: (await services.user.payAddress(order)).txHash };
      await services.user.payPeer(order);
      return { ...paid, tx_hash: null };
    },
  });
  done();
};
