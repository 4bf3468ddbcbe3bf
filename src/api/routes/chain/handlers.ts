/** Routes of blocks and transactions in the index of the chain, and its search. */

import type { FastifyPluginCallback } from 'fastify';
import { TesseraError } from '../../../lib/errors.js';
import type { ChainView } from '../../../storage/chain-index/service.js';
import { addRoutes } from '../../http/route.js';
import type { ApiModules } from '../../options.js';
import { answerNow, pageOf, readChain, safe, sendAnswer } from './answer.js';
import { chainOperations } from './operations.js';
import { DEFAULT_BLOCKS } from './schemas.js';
import * as views from './views.js';

/** Numbers of blocks that a path can name; no chain has more. */
const BLOCK_NUMBER = /^\d{1,15}$/;

export const chainRoutes: FastifyPluginCallback<Pick<ApiModules, 'isRevertible'>> = (app, options, done) => {
  const { services } = app;
  /** A block that is named by its hash is the same for ever, where it cannot be taken back. */
  const isForEver = (name: string, hash: string): boolean => options.isRevertible !== true && isHash(name, hash);

  addRoutes(app, chainOperations, {
    async getChainIndex() {
      const { state, height, blocks, problem } = services.indexStatus();
      return { state, block_num: height, blocks, problem };
    },

    async getChainBlocks({ query }, reply) {
      return answerNow(reply, services.chainIndex, async (chain) => {
        const blocks = await chain.blocks(Number(query.limit ?? DEFAULT_BLOCKS), safe(query.before));
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
        if (found === undefined) throw noTransaction();
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

/** True for a name that is a hash. A number of a block never changes its meaning either, unless another chain is stored one day. */
function isHash(name: string, hash: string): boolean {
  return name === hash;
}

async function blockNamed(chain: ChainView, name: string) {
  const block = await chain.block(BLOCK_NUMBER.test(name) ? Number(name) : name);
  if (block === undefined) throw new TesseraError('block_not_found', 'No block is stored with this number or hash.');
  return block;
}

function noTransaction(): TesseraError {
  return new TesseraError('entry_not_found', 'No transaction is stored under this hash.');
}
