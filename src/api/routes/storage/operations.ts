/** The operations of storage nodes, with their schemas. The members of `data` are the JSON of the chain, as storage keeps it. */

import { type SchemaOptions, type Static, Type } from '@sinclair/typebox';
import { section } from '../../operation.js';
import {
  Batch,
  EXAMPLE_BLOCK_HASH,
  EXAMPLE_TX_HASH,
  Int32,
  Int64,
  Nullable,
  named,
  QueryList,
  TransactionHash,
  Uint64,
} from '../../schemas/scalars.js';

export const EXAMPLE_HEADER = {
  version: 6,
  bits: 0,
  nonce_and_mining_tx_hash: [[54, 94, 67, 154], EXAMPLE_TX_HASH],
  b_num: 12,
  timestamp: 1700000000,
  difficulty: [],
  seed_value: [57, 52, 45, 49],
  previous_hash: EXAMPLE_BLOCK_HASH,
  txs_merkle_root_and_hash: [
    'dda7c5b0e4fb7d3f4fc4bd9dd6a0e6a1f8f8a0ecaf8a0d5f6ad1ac9cd5b2b5c0',
    'a7ffc6f8bf1ed76651c14756a061d662f580ff4de43b49fa82d80a4b80f8434a',
  ],
};
const EXAMPLE_BLOCK = { block: { header: EXAMPLE_HEADER, transactions: [EXAMPLE_TX_HASH] } };

const ByteArray = (description: string, options: SchemaOptions = {}) =>
  Type.Array(Type.Integer({ minimum: 0, maximum: 255 }), { description, ...options });

/** A list of two members, which may have an `$id`: generators that make code of each member want names for them. */
const pair = (first: object, second: object, description: string) =>
  Type.Unsafe<readonly [unknown, unknown]>({
    type: 'array',
    prefixItems: [first, second],
    minItems: 2,
    maxItems: 2,
    description,
  });

export const BlockHeader = named('BlockHeader', 'Header of a block.').object(
  {
    version: Int64({ description: 'Version of the format.' }),
    bits: Uint64({ description: 'Unused by mining; kept for the hash.' }),
    nonce_and_mining_tx_hash: pair(
      ByteArray('The nonce.', { $id: 'Nonce', examples: [[54, 94, 67, 154]] }),
      TransactionHash({ $id: 'CoinbaseHash', description: 'Hash of the coinbase.' }),
      'The nonce that meets the target, and the hash of the coinbase.',
    ),
    b_num: Int64({ description: 'Number of the block.' }),
    timestamp: Type.Optional(
      Type.Unsafe<number | bigint>({
        type: 'integer',
        format: 'int64',
        description: 'When it was made, in Unix seconds; absent from the `oldest` layout of the original node.',
      }),
    ),
    difficulty: Type.Optional(
      ByteArray(
        'Compact target, four bytes; empty for the fixed difficulty, absent from the `prime` and `oldest` layouts of the original node.',
      ),
    ),
    seed_value: ByteArray('ASCII of the unicorn seed and witness.'),
    previous_hash: Nullable(Type.String(), { description: 'Hash of the block before it; null for block 0.' }),
    txs_merkle_root_and_hash: pair(
      Type.String(),
      Type.String(),
      'Merkle root and hash over the list of transaction hashes.',
    ),
  },
  EXAMPLE_HEADER,
);

const StoredBlockData = named('StoredBlockData', 'A stored block.').object(
  {
    block: Type.Object({
      header: BlockHeader,
      transactions: Type.Array(TransactionHash(), {
        description: 'Hashes of its transactions in order, without the coinbase.',
      }),
    }),
  },
  EXAMPLE_BLOCK,
);

export const StoredTransactionData = named(
  'StoredTransactionData',
  'A stored transaction in the form of the chain: scripts as stacks, keys and signatures as byte lists.',
).object(
  {
    inputs: Type.Array(Type.Object({}, { additionalProperties: true })),
    outputs: Type.Array(Type.Object({}, { additionalProperties: true })),
    version: Uint64(),
    fees: Type.Array(Type.Object({}, { additionalProperties: true })),
    druid_info: Type.Unsafe<object | null>({ type: ['object', 'null'] }),
  },
  {
    inputs: [{ previous_out: null, script_signature: { stack: [{ Num: 12 }] } }],
    outputs: [{ value: { Token: 1000 }, locktime: 112, script_public_key: 'ab'.repeat(32) }],
    version: 6,
    fees: [],
    druid_info: null,
  },
);

const BlockMeta = named('BlockMeta', 'A block, and its place in the chain.').object(
  {
    type: Type.Literal('block'),
    block_num: Int64({ description: 'Number of the block.' }),
    tx_len: Int32({ minimum: 0, description: 'Number of its transactions with the coinbase.' }),
  },
  { type: 'block', block_num: 12, tx_len: 2 },
);
const TxMeta = named('TransactionMeta', 'A transaction, and its place in the chain.').object(
  {
    type: Type.Literal('tx'),
    block_num: Int64({ description: 'Number of the block that holds it.' }),
    tx_num: Int32({ minimum: 0, description: 'Its place in the block.' }),
  },
  { type: 'tx', block_num: 12, tx_num: 1 },
);

const BlockchainItemMetaResponse = Type.Union([BlockMeta, TxMeta], {
  $id: 'BlockchainItemMetaResponse',
  description: 'What a stored entry is, and its place in the chain.',
  examples: [{ type: 'block', block_num: 12, tx_len: 2 }],
});

export const BlockchainEntryResponse = named('BlockchainEntryResponse', 'A stored block or transaction.').object(
  {
    key: Type.String({ description: 'Block hash or transaction hash of the entry.' }),
    data: Type.Unsafe<Record<string, unknown>>({
      anyOf: [StoredBlockData, StoredTransactionData],
      description: 'The block or transaction.',
    }),
    item_meta: BlockchainItemMetaResponse,
  },
  { key: EXAMPLE_BLOCK_HASH, data: EXAMPLE_BLOCK, item_meta: { type: 'block', block_num: 12, tx_len: 2 } },
);
export type BlockchainEntryResponse = Static<typeof BlockchainEntryResponse>;

export const LatestBlockResponse = named('LatestBlockResponse', 'The latest stored block.').object(
  { block: StoredBlockData },
  { block: EXAMPLE_BLOCK },
);

const Key = Type.String({
  minLength: 1,
  maxLength: 256,
  description:
    'A block hash, a transaction hash, or nLastBlockHashKey, nIndexedBlockHashKey_<16 hex digits>, ' +
    'nIndexedTxHashKey_<16 hex digits>_<8 hex digits>.',
  examples: [EXAMPLE_BLOCK_HASH],
});

const EntryParams = Type.Object({ key: Key });
export const EntriesQueryRequest = named('EntriesQueryRequest', 'Keys to look up.').object(
  { keys: Batch(Key) },
  { keys: [EXAMPLE_BLOCK_HASH] },
);

const BlockNumber = Int64({ description: 'Number of a block.', examples: [0] });
const BlockParams = Type.Object({ num: BlockNumber });
const BlocksQuery = Type.Object({
  num: QueryList(BlockNumber, { description: 'Number of a block; repeat it for several.' }),
});

const ItemParams = Type.Object({
  genesis_hash: Type.String({
    minLength: 1,
    maxLength: 256,
    description: 'Hash of the transaction that created the item.',
    examples: [EXAMPLE_TX_HASH],
  }),
});
export const ItemInfoResponse = named('ItemInfoResponse', 'How an item was created.').object(
  {
    genesis_hash: Type.String(),
    metadata: Nullable(Type.String(), { description: 'Free text from the creator.' }),
    total_amount: Int64({ description: 'Number of items created.' }),
    created: Type.Object({ block_num: Int64(), tx_hash: TransactionHash() }),
    creator_address: Nullable(Type.String(), { description: 'Address the items were created for.' }),
  },
  {
    genesis_hash: EXAMPLE_TX_HASH,
    metadata: null,
    total_amount: 1,
    created: { block_num: 12, tx_hash: EXAMPLE_TX_HASH },
    creator_address: null,
  },
);

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
