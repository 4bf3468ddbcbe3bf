/** The older routes at the root of a node. Their answers satisfy both the contract and the existing clients. */

import { type TSchema, Type } from '@sinclair/typebox';
import { section } from '../../operation.js';
import { OutpointEntry } from '../../schemas/asset.js';
import {
  Address,
  Enum,
  EXAMPLE_ADDRESS,
  EXAMPLE_BLOCK_HASH,
  Int64,
  MapOf,
  Nullable,
  named,
  TransactionHash,
} from '../../schemas/scalars.js';
import { CreateTransaction, EXAMPLE_TRANSACTION } from '../../schemas/transaction.js';
import { CreateItemRequest, createTransactions, GENESIS_HASH_SPEC, submitting } from '../mempool/operations.js';
import { BlockHeader } from '../storage/operations.js';

const older = section('Envelope', 'envelope');

/** Any value: its form depends on the request. */
export const Any = Type.Unsafe<unknown>({});

/** Schema of a member that is always null: generators have no type for null alone. */
export const Nothing = Nullable(Type.String(), { description: 'Always null.' });

export function envelope(content: TSchema) {
  return Type.Object({
    id: Nullable(Type.String(), { description: 'The x-cache-id of the request; empty without one.' }),
    status: Enum(['Success', 'InProgress', 'Error']),
    reason: Type.String({ description: 'For people.' }),
    route: Nullable(Type.String(), { description: 'Name of the route.' }),
    content,
  });
}

export const ErrorEnvelope = named('ErrorEnvelope', 'An error of an envelope route.').object(
  {
    id: Nothing,
    status: Type.Literal('Error'),
    reason: Type.String({ description: 'What is wrong.' }),
    route: Nothing,
    content: Nothing,
  },
  { id: null, status: 'Error', reason: 'Bad Request: no such entry.', route: null, content: null },
);

const CreatedTransaction = Type.Object({ tx_hash: TransactionHash(), hex: Type.String() });

export const postCreateTransactions = older.post('envelopeCreateTransactions', '/create_transactions', {
  summary: 'Submit signed transactions',
  description: 'One transaction or a list; all are admitted or none. The last members of the content are the hashes.',
  body: {
    schema: Type.Union([CreateTransaction, Type.Array(CreateTransaction, { minItems: 1 })], {
      examples: [EXAMPLE_TRANSACTION],
    }),
  },
  success: {
    200: {
      description: 'Admitted.',
      schema: envelope(Type.Object({ transaction: CreatedTransaction }, { additionalProperties: true })),
    },
  },
  errors: [...createTransactions.errors, 'idempotency_conflict'],
});

export const postBlockchainEntry = older.post('envelopeBlockchainEntry', '/blockchain_entry', {
  reads: true,
  summary: 'A stored block or transaction, or several',
  description:
    'A JSON string gives one entry. A list gives [key, data, meta] for each key, or ["", "", ""] where there is no entry.',
  body: {
    schema: Type.Union([Type.String({ minLength: 1 }), Type.Array(Type.String(), { minItems: 1 })], {
      examples: [EXAMPLE_BLOCK_HASH],
    }),
  },
  long: true,
  success: { 200: { description: 'Found.', schema: envelope(Any) } },
  errors: ['entry_not_found', 'archive_incomplete', 'storage_unreachable', 'idempotency_conflict'],
});

export const postFetchBalance = older.post('envelopeFetchBalance', '/fetch_balance', {
  reads: true,
  summary: 'The balances of addresses',
  body: {
    schema: Type.Union(
      [Type.Array(Address(), { minItems: 1 }), Type.Object({ address_list: Type.Array(Address(), { minItems: 1 }) })],
      { examples: [[EXAMPLE_ADDRESS]] },
    ),
  },
  long: true,
  success: {
    200: {
      description: 'Outputs and totals.',
      schema: envelope(
        Type.Object({
          total: Type.Object({ tokens: Int64(), items: MapOf(Int64()) }),
          address_list: MapOf(Type.Array(OutpointEntry)),
          balances: Type.Array(
            Type.Object({
              address: Type.String(),
              assets: Type.Array(
                Type.Object({ name: Type.String(), value: Int64(), id: Type.Optional(Type.String()) }),
              ),
            }),
          ),
        }),
      ),
    },
  },
  errors: ['too_many_outputs', 'mempool_unreachable', 'idempotency_conflict'],
});

const Specification = (description: string) =>
  Type.Unsafe<unknown>({
    anyOf: [
      { type: 'string', pattern: GENESIS_HASH_SPEC },
      { type: 'object', minProperties: 1, maxProperties: 1, propertyNames: { pattern: GENESIS_HASH_SPEC } },
      { type: 'null' },
    ],
    description,
  });

export const postCreateItemAsset = older.post('envelopeCreateItemAsset', '/create_item_asset', {
  summary: 'Create items',
  description:
    'The client signs. On a node with a wallet, where `envelope.wallet_routes` is set, the wallet does: it asks for the key of ' +
    'POST /v1/items, and answers the number of items.',
  body: {
    schema: Type.Object(
      {
        ...CreateItemRequest.properties,
        genesis_hash_spec: Type.Optional(
          Specification('Create or Default in any case; also an object with that only key. Without it: Default.'),
        ),
        drs_tx_hash_spec: Type.Optional(Specification('Older name of genesis_hash_spec; they must not differ.')),
        metadata: Type.Optional(
          Type.Unsafe<unknown>({
            anyOf: [{ type: 'string' }, { type: 'object' }, { type: 'null' }],
            description: 'At most 800 bytes; an object is stored as its compact JSON.',
          }),
        ),
      },
      {
        examples: [
          {
            item_amount: 1,
            script_public_key: '881244ab6ccccf37efc13a051fc7f9a47d3fc623d26c4b07d373e1b8b40720b7',
            public_key: 'ae7c8238b1a79ae72dfe27ef608c31b713b01a4b8144d6be3d9bd32d83b8fc3b',
            signature:
              '3d920151b954a014e761dea0d5dc0c68ab332a50a2e2907707890fec2d0fa1b1994b4b86a8cd851b4ff8b2bcb38466fa8618bcb13344e9509a013121706aaf09',
            genesis_hash_spec: 'Create',
          },
        ],
      },
    ),
  },
  success: {
    200: {
      description: 'Created. When the wallet of the node signs it, the content is the amount alone.',
      schema: envelope(
        Type.Object({
          asset: Type.Object({ asset: Type.Object({ Item: Any }), extra_info: Nothing }),
          to_address: Type.String(),
          tx_hash: TransactionHash(),
          item_amount: Int64(),
          metadata: Nullable(Type.String()),
        }),
      ),
    },
  },
  errors: [
    ...submitting,
    'idempotency_conflict',
    ...(['missing_api_key', 'invalid_api_key', 'payment_refused', 'no_wallet', 'cannot_pay'] as const),
    ...(['wallet_unreadable', 'wallet_write_failed'] as const),
  ],
});

const BlockContent = Type.Object({
  height: Int64(),
  block_hash: Type.String(),
  prev_block: Nullable(Type.String()),
  merkle: Type.String(),
  tx_ids: Type.Array(TransactionHash()),
  header: BlockHeader,
  block: Type.Object({ header: BlockHeader, transactions: Type.Array(TransactionHash()) }),
});

const BlocksContent = named('BlocksContent', 'Blocks, as nodes give them by default.').object(
  { blocks: Type.Array(BlockContent) },
  { blocks: [] },
);
const BlockPairs = Type.Array(Any, {
  $id: 'BlockPairs',
  description: 'Pairs of hash and block, where `envelope.block_by_num` is `pairs` (decision E9).',
  examples: [[]],
});

export const postLatestBlock = older.post('envelopeLatestBlock', '/latest_block', {
  reads: true,
  aliases: ['GET'],
  summary: 'The latest stored block',
  long: true,
  success: { 200: { description: 'The block.', schema: envelope(BlockContent) } },
  errors: ['no_blocks', 'archive_incomplete', 'storage_unreachable', 'idempotency_conflict'],
});

export const postBlockByNum = older.post('envelopeBlockByNum', '/block_by_num', {
  reads: true,
  summary: 'Blocks by number',
  description: 'Numbers without a block are left out.',
  body: { schema: Type.Array(Int64(), { minItems: 1, examples: [[0, 1]] }) },
  long: true,
  success: {
    200: {
      description: 'The blocks.',
      schema: envelope(Type.Union([BlocksContent, BlockPairs])),
    },
  },
  errors: ['archive_incomplete', 'storage_unreachable', 'idempotency_conflict'],
});

export const postIssuedSupply = older.post('envelopeIssuedSupply', '/issued_supply', {
  reads: true,
  aliases: ['GET'],
  summary: 'Issued supply in raw token units',
  success: { 200: { description: 'An integer.', schema: envelope(Int64()) } },
  errors: ['mempool_unreachable', 'idempotency_conflict'],
});

export const postTotalSupply = older.post('envelopeTotalSupply', '/total_supply', {
  reads: true,
  aliases: ['GET'],
  summary: 'Total supply in raw token units',
  success: { 200: { description: 'An integer.', schema: envelope(Int64()) } },
  errors: ['mempool_unreachable', 'idempotency_conflict'],
});

export const getDebugData = older.get('envelopeDebugData', '/debug_data', {
  aliases: ['POST'],
  summary: 'What this node is and serves, in the older form',
  description: 'Wallets ask for it when they start (decision E8).',
  success: {
    200: {
      description: 'Facts about the node.',
      schema: envelope(
        Type.Object({
          node_type: Type.String(),
          node_api: Type.Array(Type.String()),
          node_peers: Type.Array(Type.Array(Type.String())),
          routes_pow: MapOf(Int64()),
        }),
      ),
    },
  },
  errors: ['idempotency_conflict'],
});

export const mempoolEnvelopes = [
  postCreateTransactions,
  postCreateItemAsset,
  postFetchBalance,
  postIssuedSupply,
  postTotalSupply,
] as const;
export const storageEnvelopes = [postLatestBlock, postBlockByNum, postBlockchainEntry] as const;
export const commonEnvelopes = [getDebugData] as const;

export const envelopeOperations = [
  postCreateTransactions,
  postBlockchainEntry,
  postFetchBalance,
  postCreateItemAsset,
  postLatestBlock,
  postBlockByNum,
  postIssuedSupply,
  postTotalSupply,
  getDebugData,
] as const;

export type EnvelopeOperation = (typeof envelopeOperations)[number];
