/** Balances, supply, transaction status and item creation. */

import { type Static, Type } from '@sinclair/typebox';
import { MAX_BLOCKS_AHEAD, MAX_LISTED_AHEAD } from '../../../mempool/service.js';
import { ApiAsset, OutpointEntry } from '../../schemas/asset.js';
import {
  Address,
  Amount,
  Batch,
  Enum,
  EXAMPLE_ADDRESS,
  EXAMPLE_TX_HASH,
  Int64,
  MapOf,
  Nullable,
  named,
  QueryList,
  TransactionHash,
} from '../../schemas/scalars.js';
import { CreateTransaction, EXAMPLE_TRANSACTION } from '../../schemas/transaction.js';

export const BalancesResponse = named(
  'BalancesResponse',
  'What the given addresses hold, including outputs of the block being mined and locked ones.',
).object(
  {
    balance: Type.Object({
      address_list: MapOf(Type.Array(OutpointEntry), {
        description: 'Unspent outputs by address, in the order asked; addresses without any are absent.',
      }),
      total: Type.Object({
        tokens: Amount({ description: 'Sum of all tokens, in raw units.' }),
        items: MapOf(Int64(), { description: 'Number of items by genesis hash.' }),
      }),
    }),
  },
  {
    balance: {
      address_list: {
        [EXAMPLE_ADDRESS]: [{ out_point: { t_hash: EXAMPLE_TX_HASH, n: 0 }, value: { Token: 1000 } }],
      },
      total: { tokens: 1000, items: {} },
    },
  },
);
export type BalancesResponse = Static<typeof BalancesResponse>;

export const BalancesQuery = Type.Object({
  address: QueryList(Address(), { description: 'An address; repeat it for several.' }),
});

export const BalancesQueryRequest = named('BalancesQueryRequest', 'Addresses to look up.').object(
  { addresses: Batch(Address()) },
  { addresses: [EXAMPLE_ADDRESS] },
);

export const SupplyResponse = named('SupplyResponse', 'Token supply in raw units.').object(
  {
    total: Amount({ description: 'Fixed total supply, in raw units.' }),
    issued: Amount({ description: 'Issued supply, in raw units.', examples: [90_090_000_000_000_000n] }),
  },
  { total: 360_360_000_000_000_000n, issued: 90_090_000_000_000_000n },
);
export type SupplyResponse = Static<typeof SupplyResponse>;

const TxStatusTypeResponse = Enum(['Pending', 'Confirmed', 'Rejected'], {
  $id: 'TxStatusTypeResponse',
  description: 'Pending: admitted, its block not stored yet. Confirmed: in a stored block. Rejected: it breaks a rule.',
  examples: ['Confirmed'],
});

const TxStatusResponse = named('TxStatusResponse', 'The status of a transaction.').object(
  {
    status: TxStatusTypeResponse,
    timestamp: Int64({ description: 'When it was first seen, in Unix seconds.', examples: [1700000000] }),
    additional_info: Type.String({
      description: 'The block that holds it, what it waits for, or the rule that failed.',
    }),
  },
  { status: 'Confirmed', timestamp: 1700000000, additional_info: 'In block 12' },
);

export const TxStatusMap = MapOf(TxStatusResponse, {
  $id: 'TxStatusMap',
  description: 'Status by transaction hash; unknown hashes are absent.',
  examples: [{ [EXAMPLE_TX_HASH]: { status: 'Confirmed', timestamp: 1700000000, additional_info: 'In block 12' } }],
});
export type TxStatusMap = Static<typeof TxStatusMap>;

const StatusHashes = { description: 'A transaction hash; repeat it for several.' };
export const TxStatusQuery = Type.Object({
  hash: Type.Optional(QueryList(TransactionHash(), StatusHashes)),
  tx_hash: Type.Optional(
    QueryList(TransactionHash(), { description: 'Another name for hash; one of the two is required.' }),
  ),
});

export const TxStatusQueryRequest = named('TxStatusQueryRequest', 'Transactions to look up.').object(
  { hashes: Batch(TransactionHash()) },
  { hashes: [EXAMPLE_TX_HASH] },
);

const Waiting = {
  tx_hash: TransactionHash(),
  bytes: Int64({ description: 'Size of the transaction, encoded.', examples: [310] }),
  time: Int64({ description: 'When it was first seen, in Unix seconds.', examples: [1700000000] }),
};
const EXAMPLE_WAITING = { tx_hash: EXAMPLE_TX_HASH, bytes: 310, time: 1700000000 };
const Ahead = {
  block_num: Int64({ description: 'Number of the block.', examples: [13] }),
  being_made: Type.Boolean({ description: 'True: it is certain. False: it may change with what comes.' }),
};

export const MempoolResponse = named('MempoolResponse', 'What waits, as blocks to come.').object(
  {
    transactions: Int64({
      description: 'Transactions that wait for a block, or for others of their trade.',
      examples: [1],
    }),
    bytes: Int64({ description: 'Their size, encoded.', examples: [310] }),
    blocks: Type.Array(
      Type.Object({
        ...Ahead,
        transactions: Int64({ description: 'Number of its transactions.', examples: [1] }),
        bytes: Int64({ description: 'Their size, encoded.', examples: [310] }),
        first: Type.Array(Type.Object(Waiting), {
          description: `Its first transactions, in the order of service; at most ${MAX_LISTED_AHEAD}.`,
        }),
      }),
      { description: `Those being made, and at most ${MAX_BLOCKS_AHEAD} after them.` },
    ),
  },
  {
    transactions: 1,
    bytes: 310,
    blocks: [{ block_num: 13, being_made: false, transactions: 1, bytes: 310, first: [EXAMPLE_WAITING] }],
  },
);

export const WaitingParams = Type.Object({ tx_hash: TransactionHash() });
export const WaitingResponse = named('WaitingResponse', 'A transaction that waits, and its place.').object(
  {
    ...Waiting,
    info: Type.String({ description: 'What it waits for, in words.' }),
    place: Nullable(
      Type.Object({
        ...Ahead,
        ahead: Int64({ description: 'Transactions that are served before it.', examples: [0] }),
      }),
      {
        description:
          'The block that it is likely to be in; null if that is far away, or others of its trade are missing.',
      },
    ),
    behind: Type.Array(TransactionHash(), {
      description: 'Waiting transactions that it spends from, and others of its trade.',
    }),
    outputs: Type.Array(Type.Object({ address: Nullable(Type.String()), asset: ApiAsset }), {
      description: `Its outputs; at most ${MAX_LISTED_AHEAD}.`,
    }),
    output_count: Int64({ description: 'Number of its outputs.', examples: [1] }),
  },
  {
    ...EXAMPLE_WAITING,
    info: 'Waits for a block',
    place: { block_num: 13, being_made: false, ahead: 0 },
    behind: [],
    outputs: [{ address: EXAMPLE_ADDRESS, asset: { kind: 'token', amount: 1000 } }],
    output_count: 1,
  },
);

export const CreateTransactionsRequest = named('CreateTransactionsRequest', 'Transactions to submit.').object(
  { transactions: Batch(CreateTransaction, { description: 'Admitted together or not at all.' }) },
  { transactions: [EXAMPLE_TRANSACTION] },
);

/** Create or Default, in upper or lower case (decision V16). */
export const GENESIS_HASH_SPEC = '^([Cc][Rr][Ee][Aa][Tt][Ee]|[Dd][Ee][Ff][Aa][Uu][Ll][Tt])$';
const HEX_32 = '^[0-9a-fA-F]{64}$';
const HEX_64 = '^[0-9a-fA-F]{128}$';

export const CreateItemRequest = Type.Object(
  {
    genesis_hash_spec: Type.String({
      pattern: GENESIS_HASH_SPEC,
      'x-fault': 'must be Create or Default',
      description: 'Create makes a class of its own, Default adds to the shared class. Upper or lower case.',
      examples: ['Create'],
    }),
    item_amount: Int64({ minimum: 1, description: 'Number of items to create.', examples: [1] }),
    metadata: Type.Optional(Nullable(Type.String(), { description: 'Free text, at most 800 bytes of UTF-8.' })),
    public_key: Type.Optional(
      Nullable(Type.String(), {
        description: 'Hex ed25519 key of the creator. Required by a mempool node, else ignored.',
      }),
    ),
    script_public_key: Type.Optional(
      Nullable(Type.String(), {
        description: 'Address that gets the items. Required by a mempool node, else ignored.',
      }),
    ),
    signature: Type.Optional(
      Nullable(Type.String(), {
        description:
          'Hex ed25519 signature over the hex text of SHA3-256("Item:<item_amount>"). Required by a mempool node, else ignored.',
      }),
    ),
  },
  {
    $id: 'CreateItemRequest',
    description: 'Items to create. For a mempool node, the client signs them; other nodes sign them with their wallet.',
    // The handler asks for them, for the same schema is that of nodes that sign themselves.
    'x-document-of': {
      mempool: {
        required: ['genesis_hash_spec', 'item_amount', 'public_key', 'script_public_key', 'signature'],
        properties: {
          public_key: { type: 'string', pattern: HEX_32 },
          script_public_key: { type: 'string', minLength: 1 },
          signature: { type: 'string', pattern: HEX_64 },
        },
      },
    },
    examples: [
      {
        genesis_hash_spec: 'Create',
        item_amount: 1,
        metadata: null,
        public_key: 'ae7c8238b1a79ae72dfe27ef608c31b713b01a4b8144d6be3d9bd32d83b8fc3b',
        script_public_key: '881244ab6ccccf37efc13a051fc7f9a47d3fc623d26c4b07d373e1b8b40720b7',
        signature:
          '3d920151b954a014e761dea0d5dc0c68ab332a50a2e2907707890fec2d0fa1b1994b4b86a8cd851b4ff8b2bcb38466fa8618bcb13344e9509a013121706aaf09',
      },
    ],
  },
);
export type CreateItemRequest = Static<typeof CreateItemRequest>;

export const ItemCreatedResponse = named('ItemCreatedResponse', 'The created items.').object(
  {
    asset: ApiAsset,
    to_address: Type.String({ description: 'Address the items were created for.' }),
    tx_hash: TransactionHash({ description: 'Hash of the creating transaction.' }),
  },
  {
    asset: { kind: 'item', amount: 1, genesis_hash: EXAMPLE_TX_HASH, metadata: null },
    to_address: EXAMPLE_ADDRESS,
    tx_hash: EXAMPLE_TX_HASH,
  },
);

export const ItemAcceptedResponse = named('ItemAcceptedResponse', 'The node will create the items.').object(
  { item_amount: Int64({ description: 'Number of items requested.' }) },
  { item_amount: 1 },
);
