/** The operations of mempool nodes. Item creation is also served by nodes with a wallet. */

import { isSubmittable } from '../../../chain/create-transaction.js';
import { decodeTransactionsInPieces } from '../../../chain/decode-in-pieces.js';
import type { Transaction } from '../../../chain/types.js';
import { TesseraError } from '../../../lib/errors.js';
import { section } from '../../operation.js';
import { CreateTransactionsResponse } from '../../schemas/transaction.js';
import {
  BalancesQuery,
  BalancesQueryRequest,
  BalancesResponse,
  CreateItemRequest,
  CreateTransactionsRequest,
  ItemAcceptedResponse,
  ItemCreatedResponse,
  MempoolResponse,
  SupplyResponse,
  TxStatusMap,
  TxStatusQuery,
  TxStatusQueryRequest,
  WaitingParams,
  WaitingResponse,
} from './schemas.js';

const mempool = section('Mempool');

/** A body that came in the chain's own encoding: its transactions are read already. It can say no more than JSON can. */
export class EncodedBody {
  readonly transactions: readonly Transaction[];

  /** Throws `malformed_transaction` for what clients do not submit. */
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
  errors: [
    'malformed_transaction',
    'transaction_rejected',
    'double_spend',
    'unknown_input',
    'invalid_signature',
    'too_many_ancestors',
    'mempool_full',
    'write_failed',
    'outcome_unknown',
    'mempool_unreachable',
  ],
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
  errors: [
    'malformed_transaction',
    'payment_refused',
    'transaction_rejected',
    'double_spend',
    'invalid_signature',
    'mempool_full',
    'write_failed',
    'outcome_unknown',
    'mempool_unreachable',
    'no_wallet',
    'wallet_unreadable',
    'wallet_write_failed',
  ],
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
