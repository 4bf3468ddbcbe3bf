/** The operations of storage nodes. */

import { Type } from '@sinclair/typebox';
import { section } from '../../operation.js';
import {
  BlockchainEntryResponse,
  BlockParams,
  BlocksQuery,
  EntriesQueryRequest,
  EntryParams,
  ItemInfoResponse,
  ItemParams,
  LatestBlockResponse,
} from './schemas.js';

const storage = section('Storage');

export const queryBlockchainEntries = storage.post('queryBlockchainEntries', '/v1/blockchain-entries/query', {
  reads: true,
  summary: 'Many stored blocks or transactions',
  description: 'In the order of the keys; keys without an entry are left out.',
  body: { schema: EntriesQueryRequest },
  success: {
    200: { description: 'The entries.', schema: Type.Array(BlockchainEntryResponse) },
  },
  errors: ['archive_incomplete', 'storage_unreachable'],
});

export const getBlocks = storage.get('getBlocks', '/v1/blocks', {
  summary: 'Blocks by number',
  description: 'In the order of the numbers; numbers without a stored block are left out.',
  query: BlocksQuery,
  success: {
    200: { description: 'The blocks.', schema: Type.Array(BlockchainEntryResponse) },
  },
  errors: ['archive_incomplete', 'storage_unreachable'],
});

export const getLatestBlock = storage.get('getLatestBlock', '/v1/blocks/latest', {
  summary: 'The latest stored block',
  success: {
    200: {
      description: 'The block.',
      schema: LatestBlockResponse,
      cacheable: true,
      links: {
        getBlock: {
          description: 'The same block with its hash.',
          parameters: { num: '$response.body#/block/block/header/b_num' },
        },
        getBlockchainEntry: {
          description: 'Its coinbase.',
          parameters: { key: '$response.body#/block/block/header/nonce_and_mining_tx_hash/1' },
        },
      },
    },
  },
  errors: ['no_blocks', 'archive_incomplete', 'storage_unreachable'],
});

export const getItem = storage.get('getItem', '/v1/items/{genesis_hash}', {
  summary: 'How an item was created',
  description: 'An extension of the contract that several clients call.',
  params: ItemParams,
  success: {
    200: {
      description: 'The item.',
      schema: ItemInfoResponse,
      links: {
        getBlockchainEntry: {
          description: 'The transaction that created it.',
          parameters: { key: '$response.body#/created/tx_hash' },
        },
        getBlock: { description: 'The block of that.', parameters: { num: '$response.body#/created/block_num' } },
      },
    },
  },
  errors: ['item_not_found', 'archive_incomplete', 'storage_unreachable'],
});

export const storageOperations = [
  storage.get('getBlockchainEntry', '/v1/blockchain-entries/{key}', {
    summary: 'A stored block or transaction',
    params: EntryParams,
    success: {
      200: {
        description: 'The entry.',
        schema: BlockchainEntryResponse,
        cacheable: true,
        links: {
          getBlock: {
            description: 'The block that it is, or that holds it.',
            parameters: { num: '$response.body#/item_meta/block_num' },
          },
        },
      },
    },
    errors: ['entry_not_found', 'archive_incomplete', 'storage_unreachable'],
  }),
  queryBlockchainEntries,
  getBlocks,
  getLatestBlock,
  storage.get('getBlock', '/v1/blocks/{num}', {
    summary: 'A block by number',
    params: BlockParams,
    success: {
      200: {
        description: 'The block.',
        schema: BlockchainEntryResponse,
        cacheable: true,
        links: {
          getBlockchainEntry: { description: 'The same by its hash.', parameters: { key: '$response.body#/key' } },
        },
      },
    },
    errors: ['block_not_found', 'archive_incomplete', 'storage_unreachable'],
  }),
  getItem,
] as const;
