/**
 * `tessera-node/client`: a client of nodes for programs and pages. A method for each operation of the API, integers exact both ways,
 * the node's errors with their codes, what is lost on the way repeated safely, and events as they come (docs/client-library.md).
 */

import { followEvents } from '../client/events.js';
import { TesseraError } from '../lib/errors.js';
import { parseExactJson } from '../lib/json.js';
import { pause } from '../lib/pause.js';
import { type NodeRole, rolesWithTopics } from '../lib/roles.js';
import {
  addressOf,
  type CallArguments,
  type CallOptions,
  type ClientOptions,
  NodeCalls,
  withBigints,
} from './calls.js';
import { EVENT_SHAPES, type NodeEvent, type Operations, TABLE } from './generated/operations.js';

export { UnknownOutcome } from '../client/repeat.js';
export { type Fetch, NoAnswer, RefusedCall } from '../client/transport.js';
export { ERROR_CODES, type ErrorCode, isTesseraError, TesseraError } from '../lib/errors.js';
export type { NodeRole } from '../lib/roles.js';
export { formatAmount, parseAmount, RAW_UNITS } from './amounts.js';
export type { CallOptions, ClientOptions, NodeAddresses } from './calls.js';
export type * from './generated/operations.js';

/** Milliseconds between looks at the status of a transaction: the first pause, and the longest. */
const FIRST_LOOK = 100;
const LONGEST_LOOK = 2_000;
/** Milliseconds in which a block should have a transaction. */
const BLOCK_WITHIN = 120_000;

export interface EventOptions {
  /** Topics of the node; all by default. `wallet` needs an API key. */
  readonly topics?: readonly ('blocks' | 'transactions' | 'wallet')[] | undefined;
  /** Id of the event to begin after; if the node no longer has the events after it, an event `reset` comes first. */
  readonly lastEventId?: string | undefined;
  /** Signal that ends the iteration, without an error. */
  readonly signal?: AbortSignal | undefined;
  /** The node to listen to, where `url` names several. */
  readonly role?: NodeRole | undefined;
  /** Called whenever a connection is open. */
  readonly onOpen?: (() => void) | undefined;
  /** Called with the error that ended a connection, before the next one is opened. */
  readonly onLost?: ((error: unknown) => void) | undefined;
}

export interface WaitOptions extends Pick<CallOptions, 'signal'> {
  /** Milliseconds in which a block should have the transaction. Default: two minutes. */
  readonly timeoutMs?: number | undefined;
}

/** Methods of a client besides the operations. */
interface Conveniences {
  /**
   * The events of a node as they come, for ever: a lost connection is opened again, and goes on after the last event.
   * `for await (const event of client.events({ topics: ['blocks'] })) …`; leaving the loop closes the connection.
   * @throws {TesseraError} what the node refuses: a topic that it does not have, no API key
   */
  events(options?: EventOptions): AsyncGenerator<NodeEvent, void, undefined>;
  /** Resolves when a block has the transaction. @throws {TesseraError} transaction_rejected; aborted after the time limit */
  waitForTransaction(hash: string, options?: WaitOptions): Promise<void>;
}

/** Calls nodes. Make one with `createClient`. */
export type TesseraClient = Operations & Conveniences;

/**
 * A client of one node, of a whole network at one address, or of nodes by role. Nothing is opened before the first call.
 *
 * @example
 * const client = createClient({ url: 'http://127.0.0.1:8080' });
 * const { issued } = await client.getSupply();
 */
export function createClient(options: ClientOptions): TesseraClient {
  const calls = new NodeCalls(options);
  const methods = Object.entries(TABLE).map(([id, row]) => [
    id,
    (args?: CallArguments, callOptions?: CallOptions) => calls.call(row, args, callOptions),
  ]);
  const operations = Object.fromEntries(methods) as Operations;
  return {
    ...operations,
    events: (eventOptions = {}) => eventsOf(calls, eventOptions),
    waitForTransaction: (hash, waitOptions = {}) => waitForTransaction(operations, hash, waitOptions),
  };
}

async function* eventsOf(
  calls: NodeCalls,
  { topics, lastEventId, signal, role, onOpen, onLost = () => undefined }: EventOptions,
): AsyncGenerator<NodeEvent, void, undefined> {
  const { url, apiKey } = calls.places(rolesWithTopics(topics), role)[0];
  const target = addressOf(url, '/v1/events', topics === undefined ? {} : { topics: topics.join(',') });
  // Only the topic of the wallet is protected.
  const key = topics === undefined || topics.includes('wallet') ? apiKey : undefined;
  const end = signal ?? new AbortController().signal;
  const request = { url: target.href, apiKey: key, fetch: calls.fetch, lastEventId, signal: end, onOpen };
  for await (const { id, name, data } of followEvents(request, onLost)) {
    const value = withBigints(parseExactJson(data, { anyName: true }), placesOf(name));
    // The names of events are those of the node's own schemas.
    yield { id, name, data: value } as NodeEvent;
  }
}

function placesOf(name: string) {
  return typeof EVENT_SHAPES === 'object' && Object.hasOwn(EVENT_SHAPES, name) ? EVENT_SHAPES[name] : undefined;
}

async function waitForTransaction(
  { queryTransactionStatus }: Operations,
  hash: string,
  { signal, timeoutMs = BLOCK_WITHIN }: WaitOptions,
): Promise<void> {
  const until = performance.now() + timeoutMs;
  for (let wait = FIRST_LOOK; ; wait = Math.min(2 * wait, LONGEST_LOOK)) {
    const found = (await queryTransactionStatus({ hashes: [hash] }, { signal }))[hash];
    if (found?.status === 'Confirmed') return;
    if (found?.status === 'Rejected') {
      throw new TesseraError('transaction_rejected', `${hash} was rejected: ${found.additional_info}`);
    }
    if (performance.now() + wait > until) {
      const seconds = Math.round(timeoutMs / 1_000);
      throw new TesseraError('aborted', `no block has ${hash} after ${seconds} s; one may have it later`);
    }
    await pause(wait, signal);
  }
}
