/** The operations on the history of a wallet, and on labels. */

import { section } from '../../operation.js';
import { LabelsRequest, LabelsResponse, MovementsQuery, MovementsResponse } from './history-schemas.js';

const wallet = section('Wallet');

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

export const walletHistoryOperations = [getWalletMovements, getWalletLabels, setWalletLabels] as const;
