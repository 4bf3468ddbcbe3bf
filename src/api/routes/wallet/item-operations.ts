/** The operations on items that a wallet holds: listing them, and paying with them. */

import { defineOperation } from '../../operation.js';
import { ItemPaymentRequest, WalletItemsResponse } from './item-schemas.js';
import { AFTER_PAYMENT, createPayment } from './operations.js';
import { PaymentAcceptedResponse } from './schemas.js';

export const getWalletItems = defineOperation({
  id: 'getWalletItems',
  family: 'v1',
  method: 'GET',
  path: '/v1/wallet/items',
  tag: 'Wallet',
  apiKey: true,
  permission: 'read',
  summary: 'Items of the wallet, with their metadata',
  description: 'An extension of the contract.',
  long: true,
  success: { 200: { description: 'Items.', schema: WalletItemsResponse } },
  errors: ['no_wallet', 'wallet_unreadable'],
});

/** A route of its own: a node that does not know it answers 404, and never pays tokens instead. */
export const createItemPayment = defineOperation({
  id: 'createItemPayment',
  family: 'v1',
  method: 'POST',
  path: '/v1/item-payments',
  tag: 'Payments',
  apiKey: true,
  permission: 'pay',
  idempotencyKey: true,
  summary: 'Pay with items from the wallet of this node',
  description: 'An extension of the contract. As a payment with tokens, in everything but what is paid.',
  body: { schema: ItemPaymentRequest },
  success: { 202: { description: 'Queued or sent.', schema: PaymentAcceptedResponse, links: AFTER_PAYMENT } },
  errors: createPayment.errors,
});

export const walletItemOperations = [getWalletItems, createItemPayment] as const;
