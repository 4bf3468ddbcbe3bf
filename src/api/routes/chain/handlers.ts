/** Routes of blocks and transactions in the index of the chain, and its search. */

import type { FastifyPluginCallback, FastifyReply } from 'fastify';
import { TesseraError } from '../../../lib/errors.js';
import { addressGroup } from '../../../lib/ip-address.js';
import { stringifyExact } from '../../../lib/json.js';
import type { ChainIndexService, ChainView, PageQuery } from '../../../storage/chain-index/service.js';
import type { StoredOptions } from '../../http/answers.js';
import { clientAddress } from '../../http/client-address.js';
import { addRoutes, routesOf } from '../../http/route.js';
import type { ApiModules } from '../../options.js';
import type { ExactInteger } from '../../schemas/scalars.js';
import { chainOperations, holdingOperations } from './operations.js';
import { DEFAULT_ENTRIES } from './parts.js';
import { DEFAULT_BLOCKS } from './schemas.js';
import * as views from './views.js';

/** Numbers of blocks that a path can name; no chain has more. */
const BLOCK_NUMBER = /^\d{1,15}$/;

export const chainRoutes: FastifyPluginCallback<Pick<ApiModules, 'isRevertible'>> = (app, options, done) => {
  const { services } = app;
  /** A block that is named by its hash is the same for ever, where it cannot be taken back. */
  const isForEver = (name: string, hash: string): boolean => options.isRevertible !== true && name === hash;

  addRoutes(app, chainOperations, {
    async getChainIndex() {
      const { state, height, blocks, problem } = services.indexStatus();
      return { state, block_num: height, blocks, problem };
    },

    async getChainBlocks({ query }, reply) {
      return answerNow(reply, services.chainIndex, async (chain) => {
        const blocks = await chain.blocks(Number(query.limit ?? DEFAULT_BLOCKS), safe(query.before), safe(query.step));
        const last = blocks.at(-1)?.height ?? 0;
        return { blocks: blocks.map(views.blockView), next: last === 0 ? null : last };
      });
    },

    async getChainBlock({ params }, reply) {
      const block = await readChain(reply, services.chainIndex, (chain) => blockNamed(chain, params.block));
      return sendAnswer(reply, views.blockView(block), {
        etag: block.hash,
        immutable: isForEver(params.block, block.hash),
      });
    },

    async getBlockTransactions({ params, query }, reply) {
      const { block, page } = await readChain(reply, services.chainIndex, async (chain) => {
        const found = await blockNamed(chain, params.block);
        return { block: found, page: await chain.blockTransactions(found, pageOf(query)) };
      });
      const answer = { transactions: page.entries.map(views.summaryView), next: page.next };
      return sendAnswer(reply, answer, { etag: block.hash, immutable: isForEver(params.block, block.hash) });
    },

    async getChainTransaction({ params, query }, reply) {
      const part = { firstInput: safe(query.first_input) ?? 0, firstOutput: safe(query.first_output) ?? 0 };
      return answerNow(reply, services.chainIndex, async (chain) => {
        const found = await chain.transaction(params.tx_hash, part);
        if (found === undefined) throw new TesseraError('entry_not_found', 'No transaction is stored under this hash.');
        return views.transactionView(found);
      });
    },

    async getChainOutput({ params }, reply) {
      return answerNow(reply, services.chainIndex, async (chain) => {
        const found = await chain.output({ tHash: params.tx_hash, n: Number(params.n) });
        if (found === undefined) throw new TesseraError('entry_not_found', 'No stored transaction has this output.');
        return views.spendableView(found);
      });
    },

    async searchChain({ query }, reply) {
      const found = await readChain(reply, services.chainIndex, (chain) => chain.search(query.q));
      return { found: found.map(views.foundView) };
    },
  });
  done();
};

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

  async getTokenHolders({ query }, reply) {
    return answerNow(reply, services.chainIndex, async (chain) => {
      const { entries, next } = await chain.tokenHolders(pageOf(query));
      return { holders: entries.map(views.holderView), next };
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

async function blockNamed(chain: ChainView, name: string) {
  const block = await chain.block(BLOCK_NUMBER.test(name) ? Number(name) : name);
  if (block === undefined) throw new TesseraError('block_not_found', 'No block is stored with this number or hash.');
  return block;
}

const NO_BLOCK = 'none';

/** Reads the chain; who asks for much shares the turns of its address. */
function readChain<T>(
  { request }: FastifyReply,
  index: ChainIndexService,
  read: (chain: ChainView) => Promise<T>,
): Promise<T> {
  return index.at(read, addressGroup(clientAddress(request)));
}

/** Sends what the chain says now, with the number of the block after which it says so. */
async function answerNow(
  reply: FastifyReply,
  index: ChainIndexService,
  read: (chain: ChainView) => Promise<object>,
): Promise<FastifyReply> {
  const { answer, etag } = await readChain(reply, index, async (chain) => {
    const { tip } = chain;
    return { answer: { ...(await read(chain)), as_of_block: tip?.height ?? null }, etag: tip?.hash ?? NO_BLOCK };
  });
  return sendAnswer(reply, answer, { etag });
}

function sendAnswer(reply: FastifyReply, answer: object, options: StoredOptions): FastifyReply {
  return reply.stored(Buffer.from(stringifyExact(answer)), options);
}

function pageOf({ limit, cursor }: { limit?: ExactInteger; cursor?: string }): PageQuery {
  return { limit: Number(limit ?? DEFAULT_ENTRIES), cursor };
}

/** Numbers beyond the safe ones are beyond every chain. */
function safe(value: ExactInteger | undefined): number | undefined {
  return typeof value === 'bigint' ? Number.MAX_SAFE_INTEGER : value;
}

async function itemNamed(chain: ChainView, genesisHash: string) {
  const item = await chain.item(genesisHash);
  if (item === undefined) throw new TesseraError('item_not_found', 'No item was created under this genesis hash.');
  return item;
}
