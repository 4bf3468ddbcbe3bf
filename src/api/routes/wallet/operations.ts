/** The operations of nodes with a wallet: users, and miners, which are users coupled with mining. */

import { section } from '../../operation.js';
import {
  ChangePassphraseRequest,
  ImportKeypairsRequest,
  ImportKeypairsResponse,
  KeypairsResponse,
  NewAddressResponse,
  OutgoingQuery,
  OutgoingTxsResponse,
  PaymentAcceptedResponse,
  PaymentHistoryQuery,
  PaymentHistoryResponse,
  PaymentParams,
  PaymentRequest,
  RefreshRequest,
  WalletInfoQuery,
  WalletInfoResponse,
} from './schemas.js';

const wallet = section('Wallet');
const payments = section('Payments');

/** Links to what can be asked of a payment that was accepted. */
export const AFTER_PAYMENT = {
  getTransactionStatus: { description: 'Whether a block has it.', parameters: { hash: '$response.body#/tx_hash' } },
  getBlockchainEntry: { description: 'The stored transaction.', parameters: { key: '$response.body#/tx_hash' } },
  abandonPayment: {
    description: 'Gives it up, as long as no mempool node has admitted it.',
    parameters: { tx_hash: '$response.body#/tx_hash' },
  },
} as const;

export const getOutgoingTransactions = wallet.get('getOutgoingTransactions', '/v1/transactions/outgoing', {
  summary: 'Payments of the wallet',
  query: OutgoingQuery,
  long: true,
  success: { 200: { description: 'Pairs of hash and transaction.', schema: OutgoingTxsResponse } },
  errors: ['no_wallet', 'wallet_unreadable'],
});

export const getWalletHistory = wallet.get('getWalletHistory', '/v1/wallet/history', {
  permission: 'read',
  summary: 'Payments of the wallet with their states',
  description: 'An extension of the contract: the state of each payment of this node, with the reason of a rejection.',
  query: PaymentHistoryQuery,
  long: true,
  success: { 200: { description: 'Payments.', schema: PaymentHistoryResponse } },
  errors: ['no_wallet', 'wallet_unreadable'],
});

export const getWallet = wallet.get('getWallet', '/v1/wallet', {
  summary: 'The balance of the wallet',
  query: WalletInfoQuery,
  long: true,
  success: { 200: { description: 'Outputs and totals.', schema: WalletInfoResponse } },
  errors: ['no_wallet', 'wallet_unreadable'],
});

export const createWalletAddress = wallet.post('createWalletAddress', '/v1/wallet/addresses', {
  permission: 'pay',
  summary: 'Make a new payment address',
  success: {
    201: {
      description: 'The address.',
      schema: NewAddressResponse,
      links: {
        getWalletMovements: { description: 'What it was paid.', parameters: { address: '$response.body#/address' } },
        getBalances: { description: 'What it holds.', parameters: { address: '$response.body#/address' } },
      },
    },
  },
  errors: ['no_wallet', 'wallet_unreadable', 'wallet_write_failed'],
});

export const exportKeypairs = wallet.get('exportKeypairs', '/v1/wallet/keypairs', {
  permission: 'export',
  secret: true,
  summary: 'Export the key pairs, private keys included',
  description: 'Whoever sees the answer can spend everything in the wallet.',
  long: true,
  success: { 200: { description: 'The key pairs.', schema: KeypairsResponse } },
  errors: ['no_wallet', 'wallet_unreadable'],
});

export const importKeypairs = wallet.post('importKeypairs', '/v1/wallet/keypairs', {
  permission: 'admin',
  summary: 'Import key pairs',
  description: 'All are imported or none. Afterwards the balance of the imported addresses is refreshed.',
  body: { schema: ImportKeypairsRequest },
  success: { 201: { description: 'The imported addresses.', schema: ImportKeypairsResponse } },
  errors: ['malformed_key_pair', 'no_wallet', 'wallet_unreadable', 'wallet_write_failed', 'refresh_failed'],
});

export const changePassphrase = wallet.put('changePassphrase', '/v1/wallet/passphrase', {
  permission: 'admin',
  summary: 'Change the passphrase of the wallet',
  body: { schema: ChangePassphraseRequest },
  success: { 204: { description: 'Changed.' } },
  errors: ['blank_passphrase', 'wrong_passphrase', 'no_wallet', 'wallet_unreadable', 'wallet_write_failed'],
});

export const refreshRunningTotal = wallet.post('refreshRunningTotal', '/v1/wallet/running-total:refresh', {
  permission: 'read',
  summary: 'Refresh the balance of addresses from the mempool',
  body: { schema: RefreshRequest, optional: true },
  success: { 202: { description: 'Requested.' } },
  errors: ['no_addresses', 'no_wallet', 'wallet_unreadable', 'refresh_failed', 'mempool_unreachable'],
});

export const createPayment = payments.post('createPayment', '/v1/payments', {
  permission: 'pay',
  idempotencyKey: true,
  summary: 'Pay from the wallet of this node',
  description:
    'Kind address: the payment is built, signed and queued, and survives a restart. Kind ip: the peer is asked for an ' +
    'address and paid. The passphrase is checked first.',
  body: { schema: PaymentRequest },
  success: { 202: { description: 'Queued or sent.', schema: PaymentAcceptedResponse, links: AFTER_PAYMENT } },
  errors: [
    'invalid_socket_address',
    'wrong_passphrase',
    'insufficient_funds',
    'payment_refused',
    'no_wallet',
    'cannot_pay',
    'peer_unreachable',
    'mempool_unreachable',
    'wallet_unreadable',
    'wallet_write_failed',
  ],
});

export const abandonPayment = payments.post('abandonPayment', '/v1/payments/{tx_hash}/abandon', {
  permission: 'pay',
  summary: 'Give up a payment that was never admitted',
  description:
    'An extension of the contract. A queued payment that no mempool node has admitted becomes rejected, and so do those that ' +
    'spend its change; their inputs come back. A payment that may still come into a block is refused with 409.',
  params: PaymentParams,
  success: { 204: { description: 'Given up.' } },
  errors: [
    'payment_not_found',
    'payment_sent',
    'mempool_unreachable',
    'no_wallet',
    'cannot_pay',
    'wallet_unreadable',
    'wallet_write_failed',
  ],
});

export const walletOperations = [
  getOutgoingTransactions,
  getWalletHistory,
  getWallet,
  createWalletAddress,
  exportKeypairs,
  importKeypairs,
  changePassphrase,
  refreshRunningTotal,
  createPayment,
  abandonPayment,
] as const;
