/**
 * An open link: sending and receiving checked messages, requests and their answers, heartbeat, and the bounds on what a
 * peer may ask of this node. Any breach of the protocol closes the link with a reason that both ends get to know.
 */

import type { Clock, Timer } from '../../lib/clock.js';
import { createDeferred, type Deferred } from '../../lib/deferred.js';
import { type ErrorCode, isTesseraError, TesseraError } from '../../lib/errors.js';
import type { Logger } from '../../lib/logger.js';
import type { NodeRole } from '../../lib/roles.js';
import type { MessageBody, MessageType } from '../messages.js';
import type { Link, Message, MessageHandler, Reply } from '../network.js';
import type { Connection, Frame } from '../transport/transport.js';
import {
  decodeControl,
  decodeMessage,
  type Envelope,
  encodeControl,
  encodeMessage,
  type Sender,
  violation,
} from './frames.js';
import type { PeerIdentity } from './handshake.js';
import type { PeerLimits } from './limits.js';
import { createTokenBucket } from './rate-limit.js';

/** Handlers by the type they were registered for; the network keeps the pairs matched. */
export type HandlerTable = ReadonlyMap<MessageType, MessageHandler<MessageType>>;

export interface LinkOptions {
  readonly id: string;
  readonly ownRole: NodeRole;
  readonly peer: PeerIdentity;
  readonly connection: Connection;
  readonly handlers: HandlerTable;
  readonly limits: PeerLimits;
  /** Called once when the link is down, before `close` returns. */
  onDown(reason: string): void;
}

/** Told of the traffic of all links, for whoever measures it. `control` stands for handshakes, pings and farewells. */
export interface PeerObserver {
  message(direction: 'in' | 'out', type: MessageType | 'control', bytes: number): void;
  /** A link is closed because the peer broke the protocol. */
  violation(): void;
  /** A link could not be opened. */
  dialFailed(): void;
}

const NOTHING = new Uint8Array(0);
/** Bytes of a frame that cost one more token. */
const BYTES_PER_TOKEN = 64 * 1024;
/** Seconds of the rate that may come at once. */
const BURST_SECONDS = 2;
/** Characters of the detail in an `error` answer (`messages.ts`, Reason). */
const MAX_DETAIL_LENGTH = 1_000;

/** Codes that a peer's answer may carry to the caller. Any other speaks of the peer itself: it only means that it cannot help. */
const PEER_CODES: ReadonlySet<string> = new Set<ErrorCode>([
  'invalid_request',
  'malformed_transaction',
  'transaction_rejected',
  'double_spend',
  'unknown_input',
  'invalid_signature',
  'mempool_full',
  'mempool_unreachable',
  'storage_unreachable',
  'block_not_found',
  'payment_refused',
  'rate_limited',
  'overloaded',
]);

/** A link, and the call that lets messages in: frames may be waiting, and their handlers are given the link. */
export interface OpenableLink {
  readonly link: Link;
  open(): void;
}

export function createLink(
  options: LinkOptions,
  modules: { readonly clock: Clock; readonly logger: Logger; readonly observer?: PeerObserver | undefined },
): OpenableLink {
  const { connection, peer, limits, handlers } = options;
  const { clock, logger, observer } = modules;
  const ownSide: Sender = { role: options.ownRole, trusted: peer.trusted };
  const facts = { link: options.id, peer: peer.address, peerRole: peer.role, nodeKey: peer.nodeKey };
  const bucket = createTokenBucket(limits.framesPerSecond, limits.framesPerSecond * BURST_SECONDS, clock);
  const pending = new Map<number, Deferred<Message>>();
  let nextId = 1;
  let down = false;
  let runningHandlers = 0;
  let runningBytes = 0;
  let heartbeat: Timer | undefined;
  let missed = 0;
  let sentBytes = 0;
  let lastReceived = 0;
  let lastFlushed = 0;

  const goDown = (reason: string): void => {
    if (down) return;
    down = true;
    heartbeat?.cancel();
    const error = unreachable(`the link to ${peer.address} closed before the answer: ${reason}`);
    for (const answer of pending.values()) answer.reject(error);
    pending.clear();
    options.onDown(reason);
  };

  const close = (reason: string): void => {
    if (down) return;
    connection.send(encodeControl({ k: 'bye', reason }));
    connection.close();
    goDown(reason);
  };

  const closeForViolation = (reason: string): void => {
    observer?.violation();
    close(reason);
  };

  const transmit = (frame: Frame, type: MessageType | 'control' = 'control'): boolean => {
    if (down || connection.bufferedAmount + frame.length > limits.maxQueuedBytes) return false;
    observer?.message('out', type, frame.length);
    sentBytes += frame.length;
    connection.send(frame);
    return true;
  };

  /** Bytes that arrived, or that left a queue which had some: a long transfer either way is a sign of life. */
  const sawLife = (): boolean => {
    const received = connection.bytesReceived;
    const queued = connection.bufferedAmount;
    const flushed = sentBytes - queued;
    const alive = received !== lastReceived || (queued > 0 && flushed > lastFlushed);
    lastReceived = received;
    lastFlushed = flushed;
    return alive;
  };

  const beat = (): void => {
    missed = sawLife() ? 0 : missed + 1;
    if (missed >= limits.missedHeartbeats) {
      close(`no answer to ${limits.missedHeartbeats} pings in a row`);
      return;
    }
    transmit(encodeControl({ k: 'ping' }));
    heartbeat = clock.after(limits.heartbeatMs, beat);
  };

  const answerError = (re: number, code: ErrorCode, detail: string): void => {
    const body = { code, detail: detail.slice(0, MAX_DETAIL_LENGTH) };
    transmit(encodeMessage('error', body, NOTHING, { re }, ownSide), 'error');
  };

  const handlerFailed = (error: unknown, { message, id }: Envelope): void => {
    if (isTesseraError(error, 'protocol_violation')) {
      closeForViolation(error.message);
      return;
    }
    const known = isTesseraError(error) && error.code !== 'internal_error';
    if (known)
      logger.warn({ ...facts, type: message.type, code: error.code }, `a peer's message failed: ${error.message}`);
    else logger.error({ ...facts, type: message.type, err: error }, 'the handler of a message broke');
    if (id === undefined || down) return;
    if (known) answerError(id, error.code, error.message);
    else answerError(id, 'internal_error', 'something broke inside the node');
  };

  const answer = (id: number, type: MessageType, reply: Reply | undefined): void => {
    if (reply === undefined) {
      answerError(id, 'invalid_request', `${type} is a notice, not a request`);
      return;
    }
    const frame = encodeMessage(reply.type, reply.body, reply.attachment ?? NOTHING, { re: id }, ownSide);
    if (!transmit(frame, reply.type))
      logger.warn({ ...facts, type }, 'an answer was dropped: the link is closed or its queue is full');
  };

  const run = async (handler: MessageHandler<MessageType>, envelope: Envelope): Promise<void> => {
    const { message, id } = envelope;
    const bytes = message.attachment.length;
    runningHandlers++;
    runningBytes += bytes;
    try {
      // Called before the first await: messages reach their handlers in the order of their arrival.
      const result = handler(link, message);
      const reply = result instanceof Promise ? await result : result;
      if (id !== undefined && !down) answer(id, message.type, reply);
    } catch (error) {
      handlerFailed(error, envelope);
    } finally {
      runningHandlers--;
      runningBytes -= bytes;
    }
  };

  const isBusy = (bytes: number): boolean =>
    runningHandlers >= limits.maxRunningHandlers || (runningBytes > 0 && runningBytes + bytes > limits.maxRunningBytes);

  const receiveMessage = (envelope: Envelope): void => {
    const { message, id, re } = envelope;
    if (re !== undefined) {
      // An answer that nobody waits for any more came too late; that is no breach.
      pending.get(re)?.resolve(message);
      return;
    }
    const handler = handlers.get(message.type);
    if (handler === undefined) throw violation(`a ${options.ownRole} node takes no ${message.type}`);
    if (!isBusy(message.attachment.length)) {
      void run(handler, envelope);
    } else if (id !== undefined) {
      answerError(id, 'overloaded', 'this node works on as many of your requests as it can: wait for their answers');
    } else throw violation('notices come faster than this node can work on them');
  };

  const receiveControl = (text: string): void => {
    const control = decodeControl(text);
    if (control.k === 'ping') transmit(encodeControl({ k: 'pong' }));
    else if (control.k === 'bye') {
      connection.close();
      goDown(`the peer closed the link: ${control.reason}`);
    } else if (control.k !== 'pong') throw violation(`${control.k} came after the handshake was done`);
  };

  const receive = (frame: Frame): void => {
    if (down) return;
    try {
      if (!bucket.take(1 + Math.floor(frame.length / BYTES_PER_TOKEN))) {
        throw violation(`more than ${limits.framesPerSecond} messages a second`);
      }
      if (typeof frame === 'string') {
        observer?.message('in', 'control', frame.length);
        receiveControl(frame);
        return;
      }
      const envelope = decodeMessage(frame, peer);
      observer?.message('in', envelope.message.type, frame.length);
      receiveMessage(envelope);
    } catch (error) {
      if (!isTesseraError(error, 'protocol_violation'))
        logger.error({ ...facts, err: error }, 'receiving a message broke');
      if (isTesseraError(error, 'protocol_violation')) closeForViolation(error.message);
      else close('something broke inside the node');
    }
  };

  const waitFor = async (
    id: number,
    type: MessageType,
    timeoutMs: number,
    signal: AbortSignal | undefined,
  ): Promise<Message> => {
    const waiting = createDeferred<Message>();
    pending.set(id, waiting);
    const timer = clock.after(timeoutMs, () =>
      waiting.reject(unreachable(`${peer.address} did not answer ${type} within ${timeoutMs} ms`)),
    );
    const abort = (): void => waiting.reject(new TesseraError('aborted', `the request ${type} was given up`));
    signal?.addEventListener('abort', abort, { once: true });
    try {
      const message = await waiting.promise;
      if (message.type === 'error') throw remoteError(message.body as MessageBody<'error'>, type, peer.address);
      return message;
    } finally {
      pending.delete(id);
      timer.cancel();
      signal?.removeEventListener('abort', abort);
    }
  };

  const link: Link = {
    id: options.id,
    role: peer.role,
    address: peer.address,
    nodeKey: peer.nodeKey,
    trusted: peer.trusted,
    send(type, body, attachment = NOTHING) {
      if (down) return false;
      return transmit(encodeMessage(type, body, attachment, {}, ownSide), type);
    },
    async request(type, body, request = {}) {
      if (request.signal?.aborted) throw new TesseraError('aborted', `the request ${type} was given up`);
      if (down) throw unreachable(`the link to ${peer.address} is closed`);
      if (pending.size >= limits.maxPendingRequests) {
        throw new TesseraError('overloaded', `${pending.size} requests to ${peer.address} wait for an answer already`);
      }
      const id = nextId++;
      if (!transmit(encodeMessage(type, body, request.attachment ?? NOTHING, { id }, ownSide), type)) {
        throw new TesseraError('overloaded', `the send queue to ${peer.address} is full`);
      }
      return await waitFor(id, type, request.timeoutMs ?? limits.requestTimeoutMs, request.signal);
    },
    close,
  };

  connection.onClose(goDown);
  heartbeat = clock.after(limits.heartbeatMs, beat);
  return { link, open: () => connection.onMessage(receive) };
}

function unreachable(message: string): TesseraError {
  return new TesseraError('peer_unreachable', message);
}

function remoteError({ code, detail }: MessageBody<'error'>, type: MessageType, address: string): TesseraError {
  const details = { peer: address, peerCode: code };
  if (PEER_CODES.has(code)) return new TesseraError(code as ErrorCode, detail, { details });
  return new TesseraError('peer_unreachable', `${address} answered ${type} with ${code}: ${detail}`, { details });
}
