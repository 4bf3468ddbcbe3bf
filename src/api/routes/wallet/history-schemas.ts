/** Movements of a wallet, and labels. An extension of the contract. */

import { type Static, Type } from '@sinclair/typebox';
import { LABEL_KINDS, MOVEMENT_DIRECTIONS, MOVEMENT_KINDS, PAYMENT_STATES } from '../../../wallet/service.js';
import { MAX_IDEMPOTENCY_KEY } from '../../http/idempotency-key.js';
import {
  Address,
  Amount,
  Enum,
  EXAMPLE_ADDRESS,
  EXAMPLE_TX_HASH,
  INT64_MAX,
  Int64,
  Limit,
  MapOf,
  Nullable,
  named,
} from '../../schemas/scalars.js';

/** Maximum number of movements in one page. */
export const MAX_MOVEMENTS = 1_000;
export const DEFAULT_MOVEMENTS = 100;
const MAX_LABELS = 1_000;
const ORDERS = ['newest', 'oldest'] as const;

const State = Enum(PAYMENT_STATES, {
  description: 'queued: durable here. sent: admitted by the mempool. Then confirmed in a block, or rejected.',
});
const Kind = Enum(MOVEMENT_KINDS, {
  description:
    'merge joins own outputs. import: funds that came with a key. unexplained: a change whose block the wallet has not seen.',
});
const Direction = Enum(MOVEMENT_DIRECTIONS, { description: 'self: everything stays in the wallet, but the fee.' });
const Signed = (description: string) => Int64({ minimum: Number(-INT64_MAX), description, examples: [-1000] });

export const MovementsQuery = Type.Object({
  limit: Limit(MAX_MOVEMENTS, `Movements of the page; ${DEFAULT_MOVEMENTS} by default.`),
  cursor: Type.Optional(
    Int64({ description: 'Number of the first movement: `next` of the page before.', examples: [41] }),
  ),
  order: Type.Optional(Enum(ORDERS, { description: 'Newest first by default.' })),
  kind: Type.Optional(Kind),
  state: Type.Optional(State),
  direction: Type.Optional(Direction),
  address: Type.Optional(Address({ description: 'Only movements that name it.' })),
  from: Type.Optional(Int64({ description: 'Unix seconds, included.', examples: [1_700_000_000] })),
  to: Type.Optional(Int64({ description: 'Unix seconds, included.', examples: [1_800_000_000] })),
  from_block: Type.Optional(Int64({ description: 'Number of the first block.', examples: [0] })),
  to_block: Type.Optional(Int64({ description: 'Number of the last block.', examples: [1_000] })),
  idempotency_key: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: MAX_IDEMPOTENCY_KEY,
      description:
        'Only what was made for the request with this Idempotency-Key: one movement, or none if nothing was made or the key ' +
        'has expired.',
      examples: ['8e03978e-40d5-43dd-bc93-6894a57f9324'],
    }),
  ),
});

const Movement = Type.Object({
  number: Int64({
    description: 'Place in the history, in the order in which the wallet learned of them. It never changes.',
  }),
  tx_hash: Nullable(Type.String(), { description: 'Null when the wallet does not know which transaction it was.' }),
  chain_hash: Nullable(Type.String(), {
    description: 'Its hash in the chain, when a copy with another unsigned version was mined.',
  }),
  kind: Kind,
  direction: Direction,
  state: State,
  reason: Nullable(Type.String(), { description: 'Why it was rejected.' }),
  peer: Nullable(Type.String(), { description: 'The node that was paid, for payments of kind ip.' }),
  amount: Amount({ description: 'Raw units that came, went or were paid to itself, without change and fee.' }),
  items: MapOf(Int64(), { description: 'The same of items, by genesis hash.' }),
  net: Signed('What the balance has changed by, in raw units.'),
  fee: Nullable(Amount(), { description: 'Raw units, when this wallet has paid it.' }),
  block_num: Nullable(Int64(), { description: 'Number of its block, if the wallet has seen it.' }),
  block_time: Nullable(Signed('Unix seconds.'), { description: 'Time of its block, in Unix seconds.' }),
  seen_at: Nullable(Int64(), { description: 'Unix seconds; when the wallet learned of it.' }),
  from: Type.Array(Type.String(), { description: 'Addresses that have signed it, as far as known; at most 4.' }),
  outputs: Type.Array(
    Type.Object({
      address: Nullable(Type.String()),
      amount: Int64({ description: 'Raw units, or items.' }),
      item: Nullable(Type.String(), { description: 'Genesis hash of the items; null for tokens.' }),
      own: Type.Boolean({ description: 'It came to this wallet by this movement.' }),
    }),
    { description: 'At most 16 of each side.' },
  ),
  output_count: Int64({ description: 'Outputs in all.' }),
  label: Nullable(Type.String(), { description: 'What the owner calls it.' }),
});
export type Movement = Static<typeof Movement>;

export const MovementsResponse = named('MovementsResponse', 'A page of the history.').object(
  {
    movements: Type.Array(Movement),
    next: Nullable(Int64(), {
      description:
        'Cursor of the next page; null at the end. A page behind a filter may be short, or empty, before it.',
    }),
  },
  { movements: [], next: null },
);

const Label = Type.Object({
  kind: Enum(LABEL_KINDS, { description: 'What name is.' }),
  name: Type.String({ minLength: 1, maxLength: 128, description: 'The address, or the hash of the transaction.' }),
  label: Type.String({ maxLength: 256, description: 'At most 256 bytes of UTF-8; empty takes the label away.' }),
});

const EXAMPLE_LABELS = {
  labels: [
    { kind: 'address', name: EXAMPLE_ADDRESS, label: 'landlord' },
    { kind: 'transaction', name: EXAMPLE_TX_HASH, label: 'rent' },
  ],
};

export const LabelsResponse = named('LabelsResponse', 'The labels of the wallet.').object(
  { labels: Type.Array(Label) },
  EXAMPLE_LABELS,
);

export const LabelsRequest = named('LabelsRequest', 'Labels to set.').object(
  { labels: Type.Array(Label, { minItems: 1, maxItems: MAX_LABELS }) },
  EXAMPLE_LABELS,
);
