/** The requests on one link that wait for their answer. */

import type { Clock } from '../../lib/clock.js';
import { createDeferred, type Deferred } from '../../lib/deferred.js';
import { type ErrorCode, TesseraError } from '../../lib/errors.js';
import type { MessageBody, MessageType } from '../messages.js';
import type { Message } from '../network.js';
import { violation } from './frames.js';

/** Codes of a peer's answer that are passed on to the caller. Any other code is about the peer itself. */
const PEER_CODES: ReadonlySet<string> = new Set<ErrorCode>([
  'invalid_request',
  'malformed_transaction',
  'transaction_rejected',
  'double_spend',
  'unknown_input',
  'invalid_signature',
  'too_many_ancestors',
  'mempool_full',
  'mempool_unreachable',
  'storage_unreachable',
  'block_not_found',
  'payment_refused',
  'trade_not_found',
  'trade_refused',
  'trade_closed',
  'rate_limited',
  'overloaded',
]);

/** Most remembered requests that were given up and may still be answered. */
const MAX_GIVEN_UP = 1_024;

export interface PendingRequestsOptions {
  /** Address of the peer, for messages. */
  readonly address: string;
  readonly max: number;
}

export class PendingRequests {
  readonly #options: PendingRequestsOptions;
  readonly #clock: Clock;
  readonly #waiting = new Map<number, Deferred<Message>>();
  readonly #givenUp = new Set<number>();
  #lastId = 0;

  constructor(options: PendingRequestsOptions, clock: Clock) {
    this.#options = options;
    this.#clock = clock;
  }

  /** The number of a new request. Throws `overloaded` when too many wait already. */
  nextId(): number {
    const { address, max } = this.#options;
    if (this.#waiting.size >= max) {
      throw new TesseraError('overloaded', `${max} requests to ${address} wait for an answer already`);
    }
    this.#lastId += 1;
    return this.#lastId;
  }

  /** The answer to a request just sent. Throws as `Link.request` does. */
  async answerTo(id: number, type: MessageType, timeoutMs: number, signal: AbortSignal | undefined): Promise<Message> {
    const { address } = this.#options;
    const waiting = createDeferred<Message>();
    this.#waiting.set(id, waiting);
    const timer = this.#clock.after(timeoutMs, () =>
      waiting.reject(new TesseraError('peer_unreachable', `${address} did not answer ${type} within ${timeoutMs} ms`)),
    );
    const abort = (): void => waiting.reject(new TesseraError('aborted', `the request ${type} was given up`));
    signal?.addEventListener('abort', abort, { once: true });
    try {
      const message = await waiting.promise;
      if (message.type === 'error') throw remoteError(message.body as MessageBody<'error'>, type, address);
      return message;
    } finally {
      if (this.#waiting.delete(id)) this.#giveUp(id);
      timer.cancel();
      signal?.removeEventListener('abort', abort);
    }
  }

  /** Takes an answer; drops that to a request that was given up. Throws `protocol_violation` for an answer to no request. */
  settle(id: number, answer: Message): void {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined && !this.#givenUp.delete(id)) throw violation(`${answer.type} answers no request`);
    this.#waiting.delete(id);
    waiting?.resolve(answer);
  }

  failAll(reason: string): void {
    const { address } = this.#options;
    const error = new TesseraError('peer_unreachable', `the link to ${address} closed before the answer: ${reason}`);
    for (const waiting of this.#waiting.values()) waiting.reject(error);
    this.#waiting.clear();
  }

  #giveUp(id: number): void {
    this.#givenUp.add(id);
    const [oldest] = this.#givenUp;
    if (oldest !== undefined && this.#givenUp.size > MAX_GIVEN_UP) this.#givenUp.delete(oldest);
  }
}

function remoteError({ code, detail }: MessageBody<'error'>, type: MessageType, address: string): TesseraError {
  const details = { peer: address, peerCode: code };
  if (PEER_CODES.has(code)) return new TesseraError(code as ErrorCode, detail, { details });
  return new TesseraError('peer_unreachable', `${address} answered ${type} with ${code}: ${detail}`, { details });
}
