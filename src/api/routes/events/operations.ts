/** The stream of events: an extension of the contract. */

import { type Static, Type } from '@sinclair/typebox';
import { NODE_ROLES, type NodeRole } from '../../../lib/roles.js';
import { defineOperation } from '../../operation.js';
import { Amount, Enum, Int64, Nullable, TransactionHash } from '../../schemas/scalars.js';
import type { EventTopic } from './event-hub.js';

/** What nodes of a role tell. */
export const TOPICS_OF_ROLE: Readonly<Record<NodeRole, readonly EventTopic[]>> = {
  mempool: ['blocks', 'transactions'],
  storage: ['blocks'],
  miner: ['blocks', 'wallet'],
  user: ['blocks', 'wallet'],
};

const BlockEvent = Type.Object(
  {
    block_num: Int64({ description: 'Number of the block.' }),
    hash: Type.String({ description: 'Hash of the block.' }),
    transactions: Int64({ description: 'Number of its transactions, the coinbase left out.' }),
  },
  { description: 'Topic blocks, event `block`: this node knows the block to be stored.' },
);
export type BlockEvent = Static<typeof BlockEvent>;

const TransactionEvent = Type.Object(
  {
    hash: TransactionHash(),
    status: Enum(['admitted', 'confirmed', 'rejected']),
    block_num: Nullable(Int64(), { description: 'Of a confirmed transaction: number of its block.' }),
    reason: Nullable(Type.String(), { description: 'Of a rejected transaction: the rule that refuses it.' }),
  },
  { description: 'Topic transactions, event `transaction`: what became of a transaction.' },
);
export type TransactionEvent = Static<typeof TransactionEvent>;

const PaymentEvent = Type.Object(
  {
    hash: TransactionHash(),
    kind: Enum(['payment', 'donation', 'item', 'merge']),
    status: Enum(['confirmed', 'rejected']),
    reason: Nullable(Type.String(), { description: 'Of a rejected payment: why.' }),
  },
  { description: 'Topic wallet, event `payment`: an own transaction is settled.' },
);
export type PaymentEvent = Static<typeof PaymentEvent>;

const BalanceEvent = Type.Object(
  {
    running: Amount({ description: 'Everything the wallet holds, in raw units.' }),
    available: Amount({ description: 'What can be spent now, in raw units.' }),
    locked: Amount({ description: 'What cannot be spent yet, in raw units.' }),
  },
  { description: 'Topic wallet, event `balance`: the totals of tokens have changed.' },
);
export type BalanceEvent = Static<typeof BalanceEvent>;

const PlaceEvent = Type.Object(
  { last_event_id: Type.String({ description: 'The id to read on from.' }) },
  {
    description:
      'Event `reset`: events behind the given Last-Event-ID are gone, read the state anew. Event `lagged`: the reader is too ' +
      'slow; the stream ends.',
  },
);

export const streamEvents = defineOperation({
  id: 'streamEvents',
  family: 'v1',
  method: 'GET',
  path: '/v1/events',
  roles: NODE_ROLES,
  tag: 'Events',
  apiKey: 'optional',
  summary: 'What happens on this node, as it happens',
  description:
    'Server-sent events: each has an id, a name and one line of JSON with exact integers. Ids rise from the start of the ' +
    'node; a client that comes back with `Last-Event-ID` gets what it has missed, or an event `reset` when that is not kept ' +
    'any more. A comment comes every 15 seconds. The topics of a node are those of its role: blocks everywhere, ' +
    'transactions on mempool nodes, wallet on miner and user nodes. Topic wallet needs an API key.',
  query: Type.Object({
    topics: Type.Optional(
      Type.String({
        maxLength: 128,
        description: 'Topics, separated by commas; all of the node without it.',
        examples: ['blocks,transactions'],
      }),
    ),
  }),
  headers: Type.Object({
    'last-event-id': Type.Optional(Type.String({ description: 'Id of the last event that the client has.' })),
  }),
  success: {
    200: {
      description: 'The stream; it ends when the node stops or the client goes.',
      schema: Type.String(),
      media: 'text/event-stream',
    },
  },
  events: {
    block: BlockEvent,
    transaction: TransactionEvent,
    payment: PaymentEvent,
    balance: BalanceEvent,
    reset: PlaceEvent,
    lagged: PlaceEvent,
  },
  errors: ['overloaded'],
});

export const eventOperations = [streamEvents] as const;
