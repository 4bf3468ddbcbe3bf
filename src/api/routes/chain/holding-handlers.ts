/** Routes of addresses and items in the index of the chain. */

import { TesseraError } from '../../../lib/errors.js';
import type { ChainView } from '../../../storage/chain-index/service.js';
import { routesOf } from '../../http/route.js';
import { answerNow, pageOf } from './answer.js';
import { holdingOperations } from './holding-operations.js';
import * as views from './views.js';

export const holdingRoutes = routesOf(holdingOperations, ({ services }) => ({
  async getChainAddress({ params }, reply) {
    return answerNow(reply, services.chainIndex, async (chain) =>
      views.addressView(await chain.address(params.address)),
    );
  },

  async getAddressItems({ params, query }, reply) {
    return answerNow(reply, services.chainIndex, async (chain) => {
      const { entries, next } = await chain.addressItems(params.address, pageOf(query));
      return { items: entries.map(views.heldItemView), next };
    });
  },

  async getAddressOutputs({ params, query }, reply) {
    return answerNow(reply, services.chainIndex, async (chain) => {
      const { entries, next } = await chain.addressOutputs(params.address, pageOf(query));
      return { outputs: entries.map(views.addressOutputView), next };
    });
  },

  async getAddressTransactions({ params, query }, reply) {
    return answerNow(reply, services.chainIndex, async (chain) => {
      const { entries, next } = await chain.addressTransactions(params.address, pageOf(query));
      return { transactions: entries.map(views.movementView), next };
    });
  },

  async getChainItem({ params }, reply) {
    return answerNow(reply, services.chainIndex, async (chain) =>
      views.itemView(await itemNamed(chain, params.genesis_hash)),
    );
  },

  async getItemHolders({ params, query }, reply) {
    return answerNow(reply, services.chainIndex, async (chain) => {
      await itemNamed(chain, params.genesis_hash);
      const { entries, next } = await chain.itemHolders(params.genesis_hash, pageOf(query));
      return { holders: entries.map(views.holderView), next };
    });
  },

  async getItemTransfers({ params, query }, reply) {
    return answerNow(reply, services.chainIndex, async (chain) => {
      await itemNamed(chain, params.genesis_hash);
      const { entries, next } = await chain.itemTransfers(params.genesis_hash, pageOf(query));
      return { transfers: entries.map(views.transferView), next };
    });
  },
}));

async function itemNamed(chain: ChainView, genesisHash: string) {
  const item = await chain.item(genesisHash);
  if (item === undefined) throw new TesseraError('item_not_found', 'No item was created under this genesis hash.');
  return item;
}
