/** The operations on blocks and transactions in the index of the chain, for explorers. Extensions of the contract. */

import { section } from '../../operation.js';
import {
  AddressItemsResponse,
  AddressOutputsResponse,
  AddressParams,
  AddressTransactionsResponse,
  ChainAddress,
  ChainItem,
  ChainItemParams,
  ItemHoldersResponse,
  ItemTransfersResponse,
  TokenHoldersResponse,
} from './holding-schemas.js';
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

const explorer = section('Explorer');

const OFF = ['index_off', 'index_incomplete'] as const;
/** Of operations that read what may be in an object store. */
const READS = [...OFF, 'archive_incomplete'] as const;
const AS_OF =
  'An extension of the contract, answered from the index of the node (`storage.index`). Its ETag changes with each block.';

export const chainOperations = [
  explorer.get('getChainIndex', '/v1/chain/index', {
    summary: 'How far the index of the chain is',
    description: 'An extension of the contract. Answers whether there is an index or not.',
    success: { 200: { description: 'How far it is.', schema: ChainIndexResponse } },
    errors: [],
  }),
  explorer.get('getChainBlocks', '/v1/chain/blocks', {
    summary: 'Blocks, newest first',
    description: AS_OF,
    query: ChainBlocksQuery,
    success: { 200: { description: 'A page of blocks.', schema: ChainBlocksResponse, cacheable: true } },
    errors: OFF,
  }),
  explorer.get('getChainBlock', '/v1/chain/blocks/{block}', {
    summary: 'What a list of blocks says of one',
    description: 'An extension of the contract. By number or hash; it never changes.',
    params: ChainBlockParams,
    success: { 200: { description: 'The block.', schema: ChainBlock, cacheable: true } },
    errors: [...READS, 'block_not_found'],
  }),
  explorer.get('getBlockTransactions', '/v1/chain/blocks/{block}/transactions', {
    summary: 'The transactions of a block, in order',
    description: 'An extension of the contract. A page never changes.',
    params: ChainBlockParams,
    query: PageQuery,
    success: { 200: { description: 'A page of transactions.', schema: BlockTransactionsResponse, cacheable: true } },
    errors: [...READS, 'block_not_found'],
  }),
  explorer.get('getChainTransaction', '/v1/chain/transactions/{tx_hash}', {
    summary: 'A transaction, the outputs it spends, and what spends its own',
    description: AS_OF,
    params: ChainTransactionParams,
    query: ChainTransactionQuery,
    success: { 200: { description: 'The transaction.', schema: ChainTransaction, cacheable: true } },
    errors: [...READS, 'entry_not_found'],
  }),
  explorer.get('getChainOutput', '/v1/chain/outputs/{tx_hash}/{n}', {
    summary: 'An output, and the transaction that spends it',
    description: AS_OF,
    params: OutputParams,
    success: { 200: { description: 'The output.', schema: ChainOutput, cacheable: true } },
    errors: [...READS, 'entry_not_found'],
  }),
  explorer.get('searchChain', '/v1/chain/search', {
    summary: 'What a number, hash or address names',
    description: 'An extension of the contract. Nothing found is an empty list.',
    query: SearchQuery,
    success: { 200: { description: 'What was found.', schema: SearchResponse } },
    errors: READS,
  }),
] as const;

/** Of addresses and items. */
export const holdingOperations = [
  explorer.get('getChainAddress', '/v1/chain/addresses/{address}', {
    summary: 'What an address has',
    description: `${AS_OF} An address that the chain has not seen has nothing.`,
    params: AddressParams,
    success: { 200: { description: 'The address.', schema: ChainAddress, cacheable: true } },
    errors: READS,
  }),
  explorer.get('getAddressItems', '/v1/chain/addresses/{address}/items', {
    summary: 'The items of an address',
    description: AS_OF,
    params: AddressParams,
    query: PageQuery,
    success: { 200: { description: 'A page of items.', schema: AddressItemsResponse, cacheable: true } },
    errors: OFF,
  }),
  explorer.get('getAddressOutputs', '/v1/chain/addresses/{address}/outputs', {
    summary: 'The unspent outputs of an address, newest first',
    description: AS_OF,
    params: AddressParams,
    query: PageQuery,
    success: { 200: { description: 'A page of outputs.', schema: AddressOutputsResponse, cacheable: true } },
    errors: READS,
  }),
  explorer.get('getAddressTransactions', '/v1/chain/addresses/{address}/transactions', {
    summary: 'The history of an address, newest first',
    description: AS_OF,
    params: AddressParams,
    query: PageQuery,
    success: { 200: { description: 'A page of transactions.', schema: AddressTransactionsResponse, cacheable: true } },
    errors: READS,
  }),
  explorer.get('getTokenHolders', '/v1/chain/holders', {
    summary: 'Addresses by their tokens, the largest amount first',
    description: `${AS_OF} Who gets more or less between two pages may be on both or on neither.`,
    query: PageQuery,
    success: { 200: { description: 'A page of addresses.', schema: TokenHoldersResponse, cacheable: true } },
    errors: OFF,
  }),
  explorer.get('getChainItem', '/v1/chain/items/{genesis_hash}', {
    summary: 'An item, and how many have it',
    description: AS_OF,
    params: ChainItemParams,
    success: { 200: { description: 'The item.', schema: ChainItem, cacheable: true } },
    errors: [...READS, 'item_not_found'],
  }),
  explorer.get('getItemHolders', '/v1/chain/items/{genesis_hash}/holders', {
    summary: 'The holders of an item, the largest amount first',
    description: `${AS_OF} Who gets more or less between two pages may be on both or on neither.`,
    params: ChainItemParams,
    query: PageQuery,
    success: { 200: { description: 'A page of holders.', schema: ItemHoldersResponse, cacheable: true } },
    errors: [...READS, 'item_not_found'],
  }),
  explorer.get('getItemTransfers', '/v1/chain/items/{genesis_hash}/transfers', {
    summary: 'The transfers of an item, newest first',
    description: AS_OF,
    params: ChainItemParams,
    query: PageQuery,
    success: { 200: { description: 'A page of transfers.', schema: ItemTransfersResponse, cacheable: true } },
    errors: [...READS, 'item_not_found'],
  }),
] as const;
