/** The operations of mempool nodes, with their schemas. Item creation is also served by nodes with a wallet. */

import { type Static, Type } from '@sinclair/typebox';
import { isSubmittable } from '../../../chain/create-transaction.js';
import { decodeTransactionsInPieces } from '../../../chain/decode-in-pieces.js';
import type { Transaction } from '../../../chain/types.js';
import { TesseraError } from '../../../lib/errors.js';
import { MAX_BLOCKS_AHEAD, MAX_LISTED_AHEAD } from '../../../mempool/service.js';
import { section } from '../../operation.js';
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
import { CreateTransaction, CreateTransactionsResponse, EXAMPLE_TRANSACTION } from '../../schemas/transaction.js';

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

const BalancesQuery = Type.Object({
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
const TxStatusQuery = Type.Object({
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

const WaitingParams = Type.Object({ tx_hash: TransactionHash() });
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
    // The handler requires these members. The schema does not, as it is also that of nodes that sign themselves.
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

const mempool = section('Mempool');

/** A body that came in the chain's own encoding: its transactions are read already. It can say no more than JSON can. */
export class EncodedBody {
  readonly transactions: readonly Transaction[];

  /** Throws `malformed_transaction` for a transaction that JSON cannot express. */
  constructor(transactions: readonly Transaction[]) {
    const at = transactions.findIndex((one) => !isSubmittable(one));
    if (at >= 0)
      throw new TesseraError('malformed_transaction', `transactions[${at}] has a form that JSON cannot express`);
    this.transactions = transactions;
  }
}

export const queryBalances = mempool.post('queryBalances', '/v1/balances/query', {
  reads: true,
  summary: 'The balances of many addresses',
  body: { schema: BalancesQueryRequest },
  long: true,
  success: { 200: { description: 'Unspent outputs and totals.', schema: BalancesResponse } },
  errors: ['too_many_outputs', 'mempool_unreachable'],
});

/** Codes of whatever puts a transaction into the pool. */
export const submitting = [
  'malformed_transaction',
  'transaction_rejected',
  'double_spend',
  'invalid_signature',
  'mempool_full',
  'write_failed',
  'outcome_unknown',
  'mempool_unreachable',
] as const;

export const createTransactions = mempool.post('createTransactions', '/v1/transactions', {
  summary: 'Submit signed transactions',
  description:
    'All are admitted or none. 201 means that they survive a restart of the node. The answer is the same for transactions ' +
    'that were admitted before. Malformed transactions give 400; those that break a rule give 500 with the hash and the ' +
    'rule in the detail: do not send them again unchanged.',
  body: {
    schema: CreateTransactionsRequest,
    encoded: {
      description:
        'An extension of the contract: the same list in the encoding of the chain (bincode), a u64 count and the transactions behind it.',
      decode: async (bytes, turn) => new EncodedBody(await decodeTransactionsInPieces(bytes, turn)),
    },
  },
  success: { 201: { description: 'Admitted.', schema: CreateTransactionsResponse } },
  errors: [...submitting, 'unknown_input', 'too_many_ancestors'],
});

export const queryTransactionStatus = mempool.post('queryTransactionStatus', '/v1/transactions/status:query', {
  reads: true,
  summary: 'The status of many transactions',
  body: { schema: TxStatusQueryRequest },
  long: true,
  success: { 200: { description: 'Status by hash; unknown hashes are absent.', schema: TxStatusMap } },
  errors: ['mempool_unreachable'],
});

export const createItem = mempool.post('createItem', '/v1/items', {
  permission: 'pay',
  idempotencyKey: true,
  summary: 'Create items',
  description:
    'On a mempool node the client signs: public_key, script_public_key and signature are required and the answer is 201. ' +
    'On a node with a wallet the node signs and the answer is 202; only there can it take an Idempotency-Key. Where both are at ' +
    'one address, an item with one of these three members is for the mempool node, and any other for the wallet.',
  body: { schema: CreateItemRequest },
  success: {
    201: {
      description: 'Created (mempool node).',
      schema: ItemCreatedResponse,
      links: {
        getTransactionStatus: {
          description: 'Whether a block has it.',
          parameters: { hash: '$response.body#/tx_hash' },
        },
        getBalances: { description: 'What its owner holds.', parameters: { address: '$response.body#/to_address' } },
        getItem: {
          description: 'The item, once it is stored.',
          parameters: { genesis_hash: '$response.body#/tx_hash' },
        },
      },
    },
    202: { description: 'Will be created (node with a wallet).', schema: ItemAcceptedResponse },
  },
  errors: [...submitting, 'payment_refused', 'no_wallet', 'wallet_unreadable', 'wallet_write_failed'],
});

export const poolOperations = [
  mempool.get('getBalances', '/v1/balances', {
    summary: 'The balances of addresses',
    description:
      'Addresses that hold nothing are absent from the list; that is not an error. Outputs are in the order of their hashes. ' +
      'If the addresses together have more than 100,000 unspent outputs, the answer is 400.',
    query: BalancesQuery,
    long: true,
    success: { 200: { description: 'Unspent outputs and totals.', schema: BalancesResponse } },
    errors: ['too_many_outputs', 'mempool_unreachable'],
  }),
  queryBalances,
  mempool.get('getSupply', '/v1/supply', {
    summary: 'Total and issued token supply',
    success: { 200: { description: 'Raw units.', schema: SupplyResponse } },
    errors: ['mempool_unreachable'],
  }),
  mempool.get('getMempool', '/v1/mempool', {
    summary: 'What waits, as blocks to come',
    description: 'An extension of the contract. The blocks after those being made are a guess.',
    success: { 200: { description: 'What waits.', schema: MempoolResponse } },
    errors: ['mempool_unreachable'],
  }),
  mempool.get('getWaitingTransaction', '/v1/mempool/{tx_hash}', {
    summary: 'The place of a transaction that waits',
    description: 'An extension of the contract.',
    params: WaitingParams,
    success: { 200: { description: 'Its place.', schema: WaitingResponse } },
    errors: ['entry_not_found', 'mempool_unreachable'],
  }),
  createTransactions,
  mempool.get('getTransactionStatus', '/v1/transactions/status', {
    summary: 'The status of transactions',
    query: TxStatusQuery,
    long: true,
    success: { 200: { description: 'Status by hash; unknown hashes are absent.', schema: TxStatusMap } },
    errors: ['mempool_unreachable'],
  }),
  queryTransactionStatus,
] as const;

export const mempoolOperations = [...poolOperations, createItem] as const;
