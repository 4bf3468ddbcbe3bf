/** The operations of nodes with a wallet: users, and miners, which are users coupled with mining. */

import { Type } from '@sinclair/typebox';
import { section } from '../../operation.js';
import { Amount, EXAMPLE_ADDRESS, EXAMPLE_TX_HASH, Int64, Nullable, named } from '../../schemas/scalars.js';
import { LabelsRequest, LabelsResponse, MovementsQuery, MovementsResponse } from './history-schemas.js';
import {
  ChangePassphraseRequest,
  ImportKeypairsRequest,
  ImportKeypairsResponse,
  KeypairsResponse,
  NewAddressResponse,
  OutgoingQuery,
  OutgoingTxsResponse,
  PAYEE,
  PaymentAcceptedResponse,
  PaymentHistoryQuery,
  PaymentHistoryResponse,
  PaymentParams,
  PaymentRequest,
  RefreshRequest,
  TERMS,
  WalletInfoQuery,
  WalletInfoResponse,
} from './schemas.js';

const wallet = section('Wallet');
const payments = section('Payments');

const AFTER_PAYMENT = {
  getTransactionStatus: { description: 'Whether a block has it.', parameters: { hash: '$response.body#/tx_hash' } },
  getBlockchainEntry: { description: 'The stored transaction.', parameters: { key: '$response.body#/tx_hash' } },
  abandonPayment: {
    description: 'Gives it up, as long as no mempool node has admitted it.',
    parameters: { tx_hash: '$response.body#/tx_hash' },
  },
} as const;

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

export const getWalletMovements = wallet.get('getWalletMovements', '/v1/wallet/movements', {
  permission: 'read',
  summary: 'The history of the wallet, in and out',
  description:
    'An extension of the contract: every movement of the wallet, by pages. The movements that are not rejected add up to the ' +
    'balance. A page that was read once has the same movements for ever.',
  query: MovementsQuery,
  success: {
    200: {
      description: 'A page of movements.',
      schema: MovementsResponse,
      links: {
        getWalletMovements: { description: 'The next page.', parameters: { cursor: '$response.body#/next' } },
      },
    },
  },
  errors: ['no_wallet', 'wallet_unreadable'],
});

export const getWalletLabels = wallet.get('getWalletLabels', '/v1/wallet/labels', {
  permission: 'read',
  summary: 'The labels of addresses and transactions',
  description: 'An extension of the contract.',
  long: true,
  success: { 200: { description: 'All labels.', schema: LabelsResponse } },
  errors: ['no_wallet', 'wallet_unreadable'],
});

export const setWalletLabels = wallet.put('setWalletLabels', '/v1/wallet/labels', {
  permission: 'pay',
  summary: 'Label addresses and transactions',
  description: 'An extension of the contract. All are set or none; others stay. A wallet has at most 10,000.',
  body: { schema: LabelsRequest },
  success: { 204: { description: 'Set.' } },
  errors: ['no_wallet', 'wallet_unreadable', 'wallet_write_failed'],
});

const GenesisHash = Type.String({
  minLength: 1,
  maxLength: 256,
  description: 'The class of the items: the hash of the transaction that created them, or default_genesis_hash.',
  examples: [EXAMPLE_TX_HASH],
});

const WalletItemsResponse = named('WalletItemsResponse', 'Items that the wallet holds, by genesis hash.').object(
  {
    items: Type.Array(
      Type.Object({
        genesis_hash: Type.String({ description: 'The class of the items.' }),
        amount: Int64({ description: 'How many the wallet holds.' }),
        available: Int64({ description: 'How many of them can be spent now.' }),
        metadata: Nullable(Type.String(), {
          description:
            'Free text from the creator. Null when there is none, and when the wallet has not seen the creation: a storage node ' +
            'tells it then (GET /v1/items/{genesis_hash}).',
        }),
      }),
    ),
  },
  { items: [{ genesis_hash: EXAMPLE_TX_HASH, amount: 3, available: 3, metadata: 'ticket' }] },
);

const ItemPaymentRequest = named('ItemPaymentRequest', 'A payment with items from the wallet of this node.').object(
  {
    ...PAYEE,
    genesis_hash: GenesisHash,
    amount: Int64({
      'x-range': 'uint64',
      description: 'How many; 0 and more than 2^63 - 1 cannot be paid (422).',
      examples: [1],
    }),
    ...TERMS,
  },
  { kind: 'address', address: EXAMPLE_ADDRESS, genesis_hash: EXAMPLE_TX_HASH, amount: 1, passphrase: '' },
);

export const getWalletItems = wallet.get('getWalletItems', '/v1/wallet/items', {
  permission: 'read',
  summary: 'Items of the wallet, with their metadata',
  description: 'An extension of the contract.',
  long: true,
  success: { 200: { description: 'Items.', schema: WalletItemsResponse } },
  errors: ['no_wallet', 'wallet_unreadable'],
});

/** Payment of items, with a route of its own: a node that does not know it answers 404, and never pays tokens instead. */
export const createItemPayment = payments.post('createItemPayment', '/v1/item-payments', {
  permission: 'pay',
  idempotencyKey: true,
  summary: 'Pay with items from the wallet of this node',
  description: 'An extension of the contract. It works as a payment of tokens does; only the asset differs.',
  body: { schema: ItemPaymentRequest },
  success: { 202: { description: 'Queued or sent.', schema: PaymentAcceptedResponse, links: AFTER_PAYMENT } },
  errors: createPayment.errors,
});

export const walletOperations = [
  wallet.get('getOutgoingTransactions', '/v1/transactions/outgoing', {
    summary: 'Payments of the wallet',
    query: OutgoingQuery,
    long: true,
    success: { 200: { description: 'Pairs of hash and transaction.', schema: OutgoingTxsResponse } },
    errors: ['no_wallet', 'wallet_unreadable'],
  }),
  wallet.get('getWalletHistory', '/v1/wallet/history', {
    permission: 'read',
    summary: 'Payments of the wallet with their states',
    description:
      'An extension of the contract: the state of each payment of this node, with the reason of a rejection.',
    query: PaymentHistoryQuery,
    long: true,
    success: { 200: { description: 'Payments.', schema: PaymentHistoryResponse } },
    errors: ['no_wallet', 'wallet_unreadable'],
  }),
  getWallet,
  createWalletAddress,
  exportKeypairs,
  importKeypairs,
  changePassphrase,
  wallet.post('refreshRunningTotal', '/v1/wallet/running-total:refresh', {
    permission: 'read',
    summary: 'Refresh the balance of addresses from the mempool',
    body: { schema: RefreshRequest, optional: true },
    success: { 202: { description: 'Requested.' } },
    errors: ['no_addresses', 'no_wallet', 'wallet_unreadable', 'refresh_failed', 'mempool_unreachable'],
  }),
  createPayment,
  abandonPayment,
] as const;

export const walletHistoryOperations = [
  getWalletMovements,
  getWalletLabels,
  setWalletLabels,
  getWalletItems,
  createItemPayment,
] as const;

const PassphraseRequest = named('PassphraseRequest', 'The passphrase of the wallet.').object(
  {
    passphrase: Type.String({ maxLength: 1_024, format: 'password', description: 'The passphrase of the wallet.' }),
  },
  { passphrase: 'correct horse' },
);

const BackupResponse = named('BackupResponse', 'A backup file.').object(
  { backup: Type.String({ description: 'The text of the file, as `tessera wallet restore` takes it.' }) },
  { backup: '{"kind":"tessera-wallet-backup"}' },
);

const SweepResponse = named('SweepResponse', 'What was moved.').object(
  {
    transactions: Type.Array(Type.String(), { description: 'Hashes of the transactions, which are queued.' }),
    tokens: Amount({ description: 'Raw units that they move.' }),
    tokens_left: Amount({ description: 'Raw units that stay, because they are locked or wait for a block.' }),
  },
  { transactions: [EXAMPLE_TX_HASH], tokens: 1000, tokens_left: 0 },
);

export const backupWallet = wallet.post('backupWallet', '/v1/wallet/backup', {
  reads: true,
  permission: 'export',
  secret: true,
  summary: 'The backup file of the wallet',
  description:
    'An extension of the contract: words, keys that they do not cover, and labels, sealed under the passphrase of the wallet.',
  body: { schema: PassphraseRequest },
  success: { 200: { description: 'The file.', schema: BackupResponse } },
  errors: ['wrong_passphrase', 'no_wallet', 'wallet_unreadable'],
});

export const sweepWallet = wallet.post('sweepWallet', '/v1/wallet/sweep', {
  permission: 'pay',
  summary: 'Move funds to addresses that the words cover',
  description:
    'An extension of the contract: moves all tokens and items from addresses that the words do not cover to new ones that they cover.',
  success: { 202: { description: 'Queued.', schema: SweepResponse } },
  errors: ['no_wallet', 'wallet_unreadable', 'wallet_write_failed'],
});

export const walletBackupOperations = [backupWallet, sweepWallet] as const;
