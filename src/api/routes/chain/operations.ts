/** The operations on blocks and transactions in the index of the chain, for explorers. Extensions of the contract. */

import { section } from '../../operation.js';
import { PageQuery } from './parts.js';
import {
  BlockTransactionsResponse,
  ChainBlock,
  ChainBlockParams,
  ChainBlocksQuery,
  ChainBlocksResponse,
  ChainIndexResponse,
  ChainOutput,
  ChainTransaction,
  ChainTransactionParams,
  ChainTransactionQuery,
  OutputParams,
  SearchQuery,
  SearchResponse,
} from './schemas.js';

export const explorer = section('Explorer');

export const OFF = ['index_off', 'index_incomplete'] as const;
export const AS_OF =
  'An extension of the contract, answered from the index of the node (`storage.index`). Its ETag changes with each block.';

const getChainIndex = explorer.get('getChainIndex', '/v1/chain/index', {
  summary: 'How far the index of the chain is',
  description: 'An extension of the contract. Answers whether there is an index or not.',
  success: { 200: { description: 'How far it is.', schema: ChainIndexResponse } },
  errors: [],
});

const getChainBlocks = explorer.get('getChainBlocks', '/v1/chain/blocks', {
  summary: 'Blocks, newest first',
  description: AS_OF,
  query: ChainBlocksQuery,
  success: { 200: { description: 'A page of blocks.', schema: ChainBlocksResponse, cacheable: true } },
  errors: OFF,
});

const getChainBlock = explorer.get('getChainBlock', '/v1/chain/blocks/{block}', {
  summary: 'What a list of blocks says of one',
  description: 'An extension of the contract. By number or hash; it never changes.',
  params: ChainBlockParams,
  success: { 200: { description: 'The block.', schema: ChainBlock, cacheable: true } },
  errors: [...OFF, 'block_not_found'],
});

const getBlockTransactions = explorer.get('getBlockTransactions', '/v1/chain/blocks/{block}/transactions', {
  summary: 'The transactions of a block, in order',
  description: 'An extension of the contract. A page never changes.',
  params: ChainBlockParams,
  query: PageQuery,
  success: { 200: { description: 'A page of transactions.', schema: BlockTransactionsResponse, cacheable: true } },
  errors: [...OFF, 'block_not_found'],
});

const getChainTransaction = explorer.get('getChainTransaction', '/v1/chain/transactions/{tx_hash}', {
  summary: 'A transaction, the outputs it spends, and what spends its own',
  description: AS_OF,
  params: ChainTransactionParams,
  query: ChainTransactionQuery,
  success: { 200: { description: 'The transaction.', schema: ChainTransaction, cacheable: true } },
  errors: [...OFF, 'entry_not_found'],
});

const getChainOutput = explorer.get('getChainOutput', '/v1/chain/outputs/{tx_hash}/{n}', {
  summary: 'An output, and the transaction that spends it',
  description: AS_OF,
  params: OutputParams,
  success: { 200: { description: 'The output.', schema: ChainOutput, cacheable: true } },
  errors: [...OFF, 'entry_not_found'],
});

const searchChain = explorer.get('searchChain', '/v1/chain/search', {
  summary: 'What a number, hash or address names',
  description: 'An extension of the contract. Nothing found is an empty list.',
  query: SearchQuery,
  success: { 200: { description: 'What was found.', schema: SearchResponse } },
  errors: OFF,
});

export const chainOperations = [
  getChainIndex,
  getChainBlocks,
  getChainBlock,
  getBlockTransactions,
  getChainTransaction,
  getChainOutput,
  searchChain,
] as const;
