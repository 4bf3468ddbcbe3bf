/** The operations on trades of a wallet, with their schemas and the documents of trades. */

import { type Static, Type } from '@sinclair/typebox';
import { TRADE_STATES } from '../../../wallet/service.js';
import { section } from '../../operation.js';
import { ApiAsset } from '../../schemas/asset.js';
import { Enum, EXAMPLE_ADDRESS, EXAMPLE_TX_HASH, Int64, Nullable, named } from '../../schemas/scalars.js';
import { Passphrase } from './schemas.js';

const EXAMPLE_ID = '5f'.repeat(32);
export const DEFAULT_VALID_FOR = 3_600;
const MAX_VALID_FOR = 30 * 86_400;

/** Document of a trade. Its members are checked where trades are made: a changed document is refused with 422. */
const Document = (description: string) =>
  Type.Unsafe<Record<string, string | number | object | null>>({
    type: 'object',
    description,
    additionalProperties: true,
  });

const TradeResponse = named('TradeResponse', 'A trade as this wallet sees it.').object(
  {
    trade_id: Type.String({ description: 'The name of the trade, the same for both parties.', examples: [EXAMPLE_ID] }),
    side: Enum(['maker', 'taker'], { description: 'The maker has made the offer, the taker accepts it.' }),
    state: Enum(TRADE_STATES, {
      description:
        'received: an offer of somebody else. open: an own offer. accepted: the maker has to confirm. agreed: both halves can come into a block. ' +
        'done: they have. cancelling: the own half is out, and a block must have its inputs first. The others are ends.',
    }),
    reason: Nullable(Type.String(), { description: 'Why it ended without success.' }),
    give: ApiAsset,
    get: ApiAsset,
    metadata: Nullable(Type.String(), {
      description:
        'Metadata of the items that the maker gives, proven by their name, if the offer shows their creation.',
    }),
    created_at: Int64({ description: 'Unix seconds.' }),
    expires_at: Int64({ description: 'Unix seconds until which the offer can be accepted and confirmed.' }),
    peer: Nullable(Type.String(), { description: 'host:port of the other node, when it can be reached over a link.' }),
    address: Nullable(Type.String(), { description: 'Where this wallet is paid.' }),
    counterparty: Nullable(Type.String(), { description: 'Where the other party is paid.' }),
    tx_hash: Nullable(Type.String(), { description: 'Hash of the own half, once there is one.' }),
    offer: Document('The offer, to be passed on to the node that may accept it.'),
    acceptance: Nullable(Document('The acceptance, for the maker.')),
    confirmation: Nullable(Document('The confirmation, for the taker.')),
  },
  {
    trade_id: EXAMPLE_ID,
    side: 'maker',
    state: 'open',
    reason: null,
    give: { kind: 'token', amount: 1000 },
    get: { kind: 'item', amount: 1, genesis_hash: EXAMPLE_TX_HASH, metadata: null },
    metadata: null,
    created_at: 1767225600,
    expires_at: 1767229200,
    peer: null,
    address: EXAMPLE_ADDRESS,
    counterparty: null,
    tx_hash: null,
    offer: { kind: 'tessera-trade-offer' },
    acceptance: null,
    confirmation: null,
  },
);

const TradesResponse = named('TradesResponse', 'Trades of the wallet.').object(
  {
    trades: Type.Array(TradeResponse, {
      description: 'Newest first: all that have not ended, and the last 1,000 others.',
    }),
  },
  { trades: [] },
);

const TradeOfferRequest = named('TradeOfferRequest', 'What the wallet gives, and what it wants for that.').object(
  {
    give: ApiAsset,
    want: ApiAsset,
    valid_for: Type.Optional(
      Nullable(Int64({ minimum: 1, maximum: MAX_VALID_FOR }), {
        description: `Seconds in which it can be accepted; ${DEFAULT_VALID_FOR} by default.`,
        examples: [DEFAULT_VALID_FOR],
      }),
    ),
    peer: Type.Optional(
      Nullable(Type.String({ maxLength: 256 }), {
        description: 'ip:port of a node to send the offer to. Without it the offer is a document to pass on.',
      }),
    ),
    reachable: Type.Optional(
      Type.Boolean({
        description: 'The offer names this node, which then takes acceptances over links. Always so with peer.',
      }),
    ),
    passphrase: Passphrase('The passphrase of the wallet.'),
  },
  {
    give: { kind: 'token', amount: 1000 },
    want: { kind: 'item', amount: 1, genesis_hash: EXAMPLE_TX_HASH },
    passphrase: '',
  },
);
export type TradeOfferRequest = Static<typeof TradeOfferRequest>;

const TradeAcceptRequest = named('TradeAcceptRequest', 'An offer to accept.').object(
  { offer: Document('The offer.'), passphrase: Passphrase('The passphrase of the wallet.') },
  { offer: { kind: 'tessera-trade-offer' }, passphrase: '' },
);

const TradeCompleteRequest = named('TradeCompleteRequest', 'What the other party has answered.').object(
  { document: Document('The acceptance of an own offer, or the confirmation of an own acceptance.') },
  { document: { kind: 'tessera-trade-acceptance' } },
);

const TradeParams = Type.Object({
  trade_id: Type.String({ minLength: 1, maxLength: 64, description: 'The name of the trade.', examples: [EXAMPLE_ID] }),
});

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
  success: { 200: { description: 'Trades.', schema: TradesResponse } },
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
