/** The operations on trades of a wallet. */

import { section } from '../../operation.js';
import {
  TradeAcceptRequest,
  TradeCompleteRequest,
  TradeOfferRequest,
  TradeParams,
  TradeResponse,
  TradesResponse,
} from './trade-schemas.js';

const trades = section('Trades');

const reading = ['no_wallet', 'cannot_pay', 'wallet_unreadable'] as const;
const paying = [
  'wrong_passphrase',
  'insufficient_funds',
  'payment_refused',
  'trade_refused',
  'trade_closed',
  ...reading,
  'wallet_write_failed',
] as const;
const going = ['trade_not_found', 'trade_refused', 'trade_closed', ...reading, 'wallet_write_failed'] as const;

const OF_TRADE = {
  getTrade: { description: 'Its state.', parameters: { trade_id: '$response.body#/trade_id' } },
  cancelTrade: { description: 'Gives it up.', parameters: { trade_id: '$response.body#/trade_id' } },
} as const;

export const offerTrade = trades.post('offerTrade', '/v1/trades', {
  permission: 'pay',
  idempotencyKey: true,
  summary: 'Offer a trade',
  description:
    'An extension of the contract. The wallet sets aside what it gives until the trade ends. Pass the offer in the answer on ' +
    'to the node that may accept it; with `peer` it was sent there.',
  body: { schema: TradeOfferRequest },
  success: { 201: { description: 'The offer stands.', schema: TradeResponse, links: OF_TRADE } },
  errors: ['invalid_socket_address', 'peer_unreachable', ...paying],
});

export const acceptTrade = trades.post('acceptTrade', '/v1/trades/accept', {
  permission: 'pay',
  summary: 'Accept the offer of a trade',
  description:
    'An extension of the contract. What the offer wants is kept aside. When the offer names a node, the acceptance is brought to it over a ' +
    'link until the offer expires; else the acceptance in the answer is for its maker. The same offer again gives the same answer.',
  body: { schema: TradeAcceptRequest },
  success: { 202: { description: 'Accepted.', schema: TradeResponse, links: OF_TRADE } },
  errors: paying,
});

export const completeTrade = trades.post('completeTrade', '/v1/trades/complete', {
  permission: 'pay',
  summary: 'Go on with a trade by the document of the other party',
  description:
    'An extension of the contract. For the maker this is the acceptance, and the confirmation in the answer is for the taker; for the taker ' +
    'it is the confirmation. The own half is sent. A document that does not fit to the trade is refused with 422.',
  body: { schema: TradeCompleteRequest },
  success: { 202: { description: 'The own half is on its way.', schema: TradeResponse, links: OF_TRADE } },
  errors: going,
});

export const getTrades = trades.get('getTrades', '/v1/trades', {
  permission: 'read',
  summary: 'Trades of the wallet',
  description: 'An extension of the contract.',
  long: true,
  success: {
    200: {
      description: 'Trades.',
      schema: TradesResponse,
    },
  },
  errors: reading,
});

export const getTrade = trades.get('getTrade', '/v1/trades/{trade_id}', {
  permission: 'read',
  summary: 'A trade of the wallet',
  description: 'An extension of the contract.',
  params: TradeParams,
  success: { 200: { description: 'The trade.', schema: TradeResponse, links: OF_TRADE } },
  errors: ['trade_not_found', ...reading],
});

export const cancelTrade = trades.post('cancelTrade', '/v1/trades/{trade_id}/cancel', {
  permission: 'pay',
  summary: 'Cancel a trade',
  description:
    'An extension of the contract. Nothing is kept for it any more. When the own half is out, its inputs are paid back to the wallet, and the trade ' +
    'is cancelled when a block has that; it may take place before.',
  params: TradeParams,
  success: { 202: { description: 'The trade, which is or will be cancelled.', schema: TradeResponse } },
  errors: ['trade_not_found', 'trade_closed', ...reading, 'wallet_write_failed'],
});

export const walletTradeOperations = [
  offerTrade,
  acceptTrade,
  completeTrade,
  getTrades,
  getTrade,
  cancelTrade,
] as const;
