/** The operations on items that a wallet holds: listing them, and paying with them. */

import { Type } from '@sinclair/typebox';
import { section } from '../../operation.js';
import { Enum, EXAMPLE_ADDRESS, EXAMPLE_TX_HASH, Int64, Nullable, named } from '../../schemas/scalars.js';
import { AFTER_PAYMENT, createPayment } from './operations.js';
import { Passphrase, PaymentAcceptedResponse } from './schemas.js';

const wallet = section('Wallet');
const payments = section('Payments');

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
    kind: Enum(['address', 'ip'], { description: 'What address names.' }),
    address: Type.String({
      maxLength: 256,
      description: 'A payment address (kind address) or the ip:port of a node (kind ip).',
      examples: [EXAMPLE_ADDRESS],
    }),
    genesis_hash: GenesisHash,
    amount: Int64({
      'x-range': 'uint64',
      description: 'How many; 0 and more than 2^63 - 1 cannot be paid (422).',
      examples: [1],
    }),
    locktime: Type.Optional(
      Nullable(Int64(), { description: 'Number of the first block in which the payee can spend it; null means 0.' }),
    ),
    passphrase: Passphrase('The passphrase of the wallet.'),
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

/** A route of its own: a node that does not know it answers 404, and never pays tokens instead. */
export const createItemPayment = payments.post('createItemPayment', '/v1/item-payments', {
  permission: 'pay',
  idempotencyKey: true,
  summary: 'Pay with items from the wallet of this node',
  description: 'An extension of the contract. It works as a payment of tokens does; only the asset differs.',
  body: { schema: ItemPaymentRequest },
  success: { 202: { description: 'Queued or sent.', schema: PaymentAcceptedResponse, links: AFTER_PAYMENT } },
  errors: createPayment.errors,
});

export const walletItemOperations = [getWalletItems, createItemPayment] as const;
