/** Trades of the wallet, and the documents of them. */

import { type Static, Type } from '@sinclair/typebox';
import { TRADE_STATES } from '../../../wallet/service.js';
import { ApiAsset } from '../../schemas/asset.js';
import { Enum, EXAMPLE_ADDRESS, EXAMPLE_TX_HASH, Int64, Nullable, named } from '../../schemas/scalars.js';
import { Passphrase } from './schemas.js';

const EXAMPLE_ID = '5f'.repeat(32);
const DEFAULT_VALID_FOR = 3_600;
const MAX_VALID_FOR = 30 * 86_400;

/** Document of a trade. Its members are checked where trades are made: a changed document is refused with 422. */
const Document = (description: string) =>
  Type.Unsafe<Record<string, string | number | object | null>>({
    type: 'object',
    description,
    additionalProperties: true,
  });

export const TradeResponse = named('TradeResponse', 'A trade as this wallet sees it.').object(
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

export const TradesResponse = named('TradesResponse', 'Trades of the wallet.').object(
  {
    trades: Type.Array(TradeResponse, {
      description: 'Newest first: all that have not ended, and the last 1,000 others.',
    }),
  },
  { trades: [] },
);

export const TradeOfferRequest = named(
  'TradeOfferRequest',
  'What the wallet gives, and what it wants for that.',
).object(
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

export const TradeAcceptRequest = named('TradeAcceptRequest', 'An offer to accept.').object(
  { offer: Document('The offer.'), passphrase: Passphrase('The passphrase of the wallet.') },
  { offer: { kind: 'tessera-trade-offer' }, passphrase: '' },
);

export const TradeCompleteRequest = named('TradeCompleteRequest', 'What the other party has answered.').object(
  { document: Document('The acceptance of an own offer, or the confirmation of an own acceptance.') },
  { document: { kind: 'tessera-trade-acceptance' } },
);

export const TradeParams = Type.Object({
  trade_id: Type.String({ minLength: 1, maxLength: 64, description: 'The name of the trade.', examples: [EXAMPLE_ID] }),
});

export { DEFAULT_VALID_FOR };
