/** The stream of events: an extension of the contract. */

import { type Static, Type } from '@sinclair/typebox';
import { perRole, TOPICS, type Topic } from '../../../lib/roles.js';
import { PAYMENT_KINDS } from '../../../wallet/service.js';
import { section } from '../../operation.js';
import { Amount, Enum, Int64, Nullable, TransactionHash } from '../../schemas/scalars.js';

const events = section('Events');

const BlockEvent = Type.Object(
  {
    block_num: Int64({ description: 'Number of the block.' }),
    hash: Type.String({ description: 'Hash of the block.' }),
    transactions: Int64({ description: 'Number of its transactions without the coinbase.' }),
  },
  { description: 'Topic blocks, event `block`: the block is stored, as far as this node knows.' },
);
export type BlockEvent = Static<typeof BlockEvent>;

const TransactionEvent = Type.Object(
  {
    hash: TransactionHash(),
    status: Enum(['admitted', 'confirmed', 'rejected']),
    block_num: Nullable(Int64(), { description: 'Of a confirmed transaction: number of its block.' }),
    reason: Nullable(Type.String(), { description: 'Of a rejected transaction: the rule that it breaks.' }),
  },
  { description: 'Topic transactions, event `transaction`: the state of a transaction has changed.' },
);
export type TransactionEvent = Static<typeof TransactionEvent>;

const PaymentEvent = Type.Object(
  {
    hash: TransactionHash(),
    kind: Enum(PAYMENT_KINDS),
    status: Enum(['confirmed', 'rejected']),
    reason: Nullable(Type.String(), { description: 'Of a rejected payment: why.' }),
  },
  { description: 'Topic wallet, event `payment`: a transaction of the wallet is confirmed or rejected.' },
);
export type PaymentEvent = Static<typeof PaymentEvent>;

const BalanceEvent = Type.Object(
  {
    running: Amount({ description: 'Everything the wallet holds, in raw units.' }),
    available: Amount({ description: 'What can be spent now, in raw units.' }),
    locked: Amount({ description: 'What cannot be spent yet, in raw units.' }),
  },
  { description: 'Topic wallet, event `balance`: the token totals have changed.' },
);
export type BalanceEvent = Static<typeof BalanceEvent>;

const PlaceEvent = Type.Object(
  { last_event_id: Type.String({ description: 'The id to resume after.' }) },
  {
    description:
      'Event `reset`: events after the given Last-Event-ID are no longer kept, so read the state anew. Event `lagged`: the ' +
      'reader is too slow; the stream ends.',
  },
);

/** Pattern of a list of topics. The route refuses topics that its node does not have. */
const topicList = (topics: readonly Topic[]) => ({ pattern: `^(${topics.join('|')})(,(${topics.join('|')}))*$` });

const TOPIC_LISTS = {
  'x-document': topicList(TOPICS),
  'x-document-of': perRole(({ topics }) => topicList(topics)),
};

export const streamEvents = events.get('streamEvents', '/v1/events', {
  apiKey: 'optional',
  permission: 'read',
  summary: 'Events of this node as they happen',
  description:
    'Server-sent events: each has an id, a name and one line of JSON with exact integers. Ids increase from the start of the ' +
    'node. A client that reconnects with `Last-Event-ID` gets the events that it has missed, or an event `reset` when they ' +
    'are no longer kept. A comment is sent every 15 seconds. The topics of a node depend on its role: blocks on all nodes, ' +
    'transactions on mempool nodes, wallet on miner and user nodes. Topic wallet needs an API key.',
  query: Type.Object({
    topics: Type.Optional(
      Type.String({
        maxLength: 128,
        description: 'Topics, separated by commas; by default all topics of the node.',
        examples: ['blocks'],
        ...TOPIC_LISTS,
      }),
    ),
  }),
  headers: Type.Object({
    'last-event-id': Type.Optional(Type.String({ description: 'Id of the last event that the client has.' })),
  }),
  success: {
    200: {
      description: 'The stream; it ends when the node stops or the client disconnects.',
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
