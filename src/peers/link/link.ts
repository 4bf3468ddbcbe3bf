/** An open link: checked messages, and bounds on what a peer may ask. A breach closes it with a reason for both ends. */

import { type ErrorCode, isTesseraError, TesseraError } from '../../lib/errors.js';
import { failpoint } from '../../lib/failpoints.js';
import { fault, type Verdict } from '../../lib/fault.js';
import type { NodeRole } from '../../lib/roles.js';
import type { HasClock, HasLogger } from '../../observability/modules.js';
import type { MessageBody, MessageType } from '../messages.js';
import type { Link, MessageHandler, Reply, RequestOptions } from '../network.js';
import type { Standing } from '../permissions.js';
import type { Connection, Frame } from '../transport/transport.js';
import {
  decodeControl,
  decodeMessage,
  type Envelope,
  encodeControl,
  encodeMessage,
  maxFrameBytes,
  permissionFault,
  type Route,
  readingCost,
  violation,
  workCost,
} from './frames.js';
import type { PeerIdentity } from './handshake.js';
import { Heartbeat, SendQueue } from './heartbeat.js';
import type { PeerLimits } from './limits.js';
import type { LinkMetrics } from './link-metrics.js';
import { PendingRequests } from './pending-requests.js';
import { type BudgetedLink, ReadThrottle, type StrangerBudget } from './stranger-budget.js';

/** Handlers by message type; the network keeps each handler with its type. */
export type HandlerTable = ReadonlyMap<MessageType, MessageHandler<MessageType>>;

export interface LinkOptions {
  readonly id: string;
  readonly ownRole: NodeRole;
  readonly peer: PeerIdentity;
  readonly sender: string;
  /** Standing of the peer at this node; `ownStanding`: of this node at the peer, as far as this node can know. */
  readonly standing: Standing;
  readonly ownStanding: Standing;
  readonly connection: Connection;
  readonly handlers: HandlerTable;
  /** True while handlers are missing because the node starts. */
  readonly isStarting?: () => boolean;
  readonly limits: PeerLimits;
  /** Budget of all strangers; set for the link of a stranger. */
  readonly strangers: StrangerBudget | undefined;
  /** Called when the peer got something that it asked for. */
  onUseful(): void;
  /** Called once when the link is down, before `close` returns. */
  onDown(reason: string): void;
}

export interface LinkModules extends HasClock, HasLogger {
  readonly metrics: LinkMetrics;
}

const NOTHING = new Uint8Array(0);
const ANSWER_BYTES_PER_UNIT = 4 * 1024;
/** Most bytes that may wait for a stranger while it asks for more. */
const MAX_UNREAD_BYTES = 1024 * 1024;
/** Most characters of the detail in an `error` answer (`messages.ts`, Reason). */
const MAX_DETAIL_LENGTH = 1_000;

export class PeerLink implements Link, BudgetedLink {
  readonly id: string;
  readonly role: NodeRole;
  readonly address: string;
  readonly nodeKey: string;
  readonly trusted: boolean;
  readonly version: string | undefined;
  readonly sender: string;
  readonly #options: LinkOptions;
  readonly #modules: LinkModules;
  readonly #connection: Connection;
  readonly #incoming: Route;
  readonly #outgoing: Route;
  readonly #pending: PendingRequests;
  readonly #queue: SendQueue;
  readonly #heartbeat: Heartbeat;
  /** Throttle of the peer; undefined for one of the same operator. */
  readonly #throttle: ReadThrottle | undefined;
  readonly #maxFrameBytes: number;
  #down = false;
  #runningHandlers = 0;
  #runningBytes = 0;
  #heldBytes = 0;

  constructor(options: LinkOptions, modules: LinkModules) {
    const { peer, connection, limits } = options;
    this.id = options.id;
    this.role = peer.role;
    this.address = peer.address;
    this.nodeKey = peer.nodeKey;
    this.trusted = peer.trusted;
    this.version = peer.version;
    this.sender = options.sender;
    this.#options = options;
    this.#modules = modules;
    this.#connection = connection;
    this.#incoming = { from: peer.role, to: options.ownRole, standing: options.standing };
    this.#outgoing = { from: options.ownRole, to: peer.role, standing: options.ownStanding };
    this.#pending = new PendingRequests({ address: peer.address, max: limits.maxPendingRequests }, modules.clock);
    this.#queue = new SendQueue(connection);
    const { clock } = modules;
    const { strangers } = options;
    this.#throttle = peer.trusted ? undefined : new ReadThrottle(limits, { clock, connection, strangers });
    this.#heartbeat = new Heartbeat(limits, {
      clock,
      connection,
      queue: this.#queue,
      isPaused: () => this.#throttle?.isPaused ?? false,
      ping: () => this.#transmit(encodeControl({ k: 'ping' }), 'control'),
      onSilent: (reason) => this.close(reason),
      onSlow: (reason) => this.cutOff(reason),
    });
    this.#maxFrameBytes = maxFrameBytes(this.#incoming);
  }

  get queuedBytes(): number {
    return this.#queue.ownBytes;
  }

  get isSilent(): boolean {
    return this.#heartbeat.isSilent;
  }

  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** Begins the heartbeat and lets messages in: waiting frames get to handlers, which are given the link. */
  open(): void {
    // A listener that was told of the link may have closed it already.
    if (this.#down) return;
    this.#options.strangers?.add(this);
    this.#connection.onClose((reason) => this.#goDown(reason));
    this.#connection.guard((heldBytes) => this.#checkHeld(heldBytes));
    if (this.trusted) this.#connection.sendPlain();
    this.#heartbeat.start();
    this.#connection.onMessage((frame) => this.#receive(frame));
  }

  send<T extends MessageType>(type: T, body: MessageBody<T>, attachment: Uint8Array = NOTHING): boolean {
    if (this.#down) return false;
    return this.#transmit(this.#encode(type, body, attachment), type);
  }

  sendShared(frame: Uint8Array, type: MessageType): boolean {
    this.#assertMaySend(type);
    return this.#transmit(frame, type, true);
  }

  async request<T extends MessageType>(type: T, body: MessageBody<T>, options: RequestOptions = {}) {
    if (options.signal?.aborted) throw new TesseraError('aborted', `the request ${type} was given up`);
    if (this.#down) throw new TesseraError('peer_unreachable', `the link to ${this.address} is closed`);
    const id = this.#pending.nextId();
    if (!this.#transmit(this.#encode(type, body, options.attachment ?? NOTHING, { id }), type)) {
      throw new TesseraError('overloaded', `the send queue to ${this.address} is full`);
    }
    const timeoutMs = options.timeoutMs ?? this.#options.limits.requestTimeoutMs;
    return await this.#pending.answerTo(id, type, timeoutMs, options.signal);
  }

  close(reason: string): void {
    if (this.#down) return;
    this.#connection.send(encodeControl({ k: 'bye', reason }));
    this.#connection.close();
    this.#goDown(reason);
  }

  cutOff(reason: string): void {
    if (this.#down) return;
    this.#connection.cut(reason);
    this.#goDown(reason);
  }

  #encode(type: MessageType, body: unknown, attachment: Uint8Array, marks: { id?: number; re?: number } = {}) {
    this.#assertMaySend(type);
    return encodeMessage(type, body, attachment, marks);
  }

  /** Throws for a message that this node must not send: its own mistake, found before the peer closes the link over it. */
  #assertMaySend(type: MessageType): void {
    const wrong = permissionFault(type, this.#outgoing);
    if (wrong !== null) throw new TesseraError('internal_error', `this node must not send this: ${wrong.message}`);
  }

  #goDown(reason: string): void {
    if (this.#down) return;
    this.#down = true;
    this.#heldBytes = 0;
    this.#options.strangers?.delete(this);
    this.#heartbeat.stop();
    this.#throttle?.stop();
    this.#pending.failAll(reason);
    this.#options.onDown(reason);
  }

  #closeForViolation(reason: string): void {
    this.#modules.metrics.violation();
    this.close(reason);
  }

  /** Sends a frame; false when the link is down or has no room for it. */
  #transmit(frame: Frame, type: MessageType | 'control', isShared = false): boolean {
    if (this.#down || !this.#hasRoom(frame.length, isShared)) return false;
    this.#modules.metrics.message('out', type, frame.length);
    failpoint('send.before', type);
    this.#queue.push(frame, isShared);
    failpoint('send.after', type);
    return true;
  }

  #hasRoom(bytes: number, isShared: boolean): boolean {
    const { limits, strangers } = this.#options;
    const waiting = this.#queue.bytes;
    if (waiting + bytes > limits.maxQueuedBytes) return false;
    if (strangers === undefined) return true;
    if (waiting > 0 && waiting + bytes > limits.maxStrangerQueuedBytes) return false;
    return isShared || strangers.makeRoomToSend(this, bytes);
  }

  #checkHeld(heldBytes: number): string | undefined {
    this.#heldBytes = heldBytes;
    if (heldBytes > this.#maxFrameBytes) return `a frame of more than ${this.#maxFrameBytes} bytes`;
    const { strangers } = this.#options;
    if (strangers === undefined || strangers.makeRoomToReceive(this)) return undefined;
    return 'more bytes of incomplete frames than this node holds for strangers';
  }

  #receive(frame: Frame): void {
    if (this.#down) return;
    this.#heldBytes = 0;
    try {
      if (typeof frame === 'string') this.#receiveControl(frame);
      else this.#receiveMessage(decodeMessage(frame, this.#incoming), frame.length);
    } catch (error) {
      if (isTesseraError(error, 'protocol_violation')) {
        this.#closeForViolation(error.message);
        return;
      }
      this.#modules.logger.error({ ...this.#facts(), err: error }, 'receiving a message broke');
      this.close('something broke inside the node');
    }
  }

  #receiveControl(text: string): void {
    this.#modules.metrics.message('in', 'control', text.length);
    this.#charge(1);
    const control = decodeControl(text);
    if (control.k === 'ping') this.#transmit(encodeControl({ k: 'pong' }), 'control');
    else if (control.k === 'bye') {
      this.#connection.close();
      this.#goDown(`the peer closed the link: ${control.reason}`);
    } else if (control.k !== 'pong') throw violation(`${control.k} came after the handshake was done`);
  }

  #receiveMessage(envelope: Envelope, frameBytes: number): void {
    const { message, id, re } = envelope;
    this.#modules.metrics.message('in', message.type, frameBytes);
    this.#charge(readingCost(message, frameBytes));
    if (re !== undefined) {
      this.#pending.settle(re, message);
      return;
    }
    this.#charge(workCost(message));
    const handler = this.#options.handlers.get(message.type);
    if (handler === undefined) {
      this.#receiveUnhandled(envelope);
      return;
    }
    const busy = this.#loadFault(message.attachment.length);
    if (busy === null) void this.#run(handler, envelope);
    else if (id !== undefined) this.#answerError(id, busy.code, busy.message);
    else throw violation(`notices come faster than this node can work on them: ${busy.message}`);
  }

  #receiveUnhandled({ message, id }: Envelope): void {
    const { ownRole, isStarting } = this.#options;
    if (!isStarting?.()) throw violation(`a ${ownRole} node takes no ${message.type}`);
    if (id !== undefined) this.#answerError(id, 'overloaded', 'this node is starting; try again');
  }

  /** Fault when there is no room to work on a message of so many bytes. */
  #loadFault(bytes: number): Verdict {
    const { limits, strangers } = this.#options;
    if (
      this.#runningHandlers >= limits.maxRunningHandlers ||
      (this.#runningBytes > 0 && this.#runningBytes + bytes > limits.maxRunningBytes)
    ) {
      return fault('overloaded', 'this node works on as many of your requests as it can: wait for their answers');
    }
    if (strangers !== undefined && this.#queue.bytes > MAX_UNREAD_BYTES) {
      return fault('overloaded', 'answers wait for you: read them before you ask for more');
    }
    return null;
  }

  async #run(handler: MessageHandler<MessageType>, envelope: Envelope): Promise<void> {
    const { message, id } = envelope;
    const bytes = message.attachment.length;
    this.#runningHandlers++;
    this.#runningBytes += bytes;
    try {
      // The handler is called before the first await: messages reach handlers in the order of their arrival.
      const result = handler(this, message);
      const reply = result instanceof Promise ? await result : result;
      this.#options.onUseful();
      if (id !== undefined && !this.#down) this.#answer(id, message.type, reply);
    } catch (error) {
      this.#handlerFailed(error, envelope);
    } finally {
      this.#runningHandlers--;
      this.#runningBytes -= bytes;
    }
  }

  #answer(id: number, type: MessageType, reply: Reply | undefined): void {
    if (reply === undefined) {
      this.#answerError(id, 'invalid_request', `${type} is a notice, not a request`);
      return;
    }
    const frame = this.#encode(reply.type, reply.body, reply.attachment ?? NOTHING, { re: id });
    this.#charge(frame.length / ANSWER_BYTES_PER_UNIT);
    if (this.#transmit(frame, reply.type)) return;
    this.#modules.logger.warn(
      { ...this.#facts(), type },
      'an answer was dropped: the link is closed or its queue is full',
    );
    this.#answerError(id, 'overloaded', 'there is no room for this answer: read what waits for you, and ask again');
  }

  #answerError(re: number, code: ErrorCode, detail: string): void {
    const body = { code, detail: detail.slice(0, MAX_DETAIL_LENGTH) };
    this.#transmit(this.#encode('error', body, NOTHING, { re }), 'error');
  }

  #handlerFailed(error: unknown, { message, id }: Envelope): void {
    if (isTesseraError(error, 'protocol_violation')) {
      this.#closeForViolation(error.message);
      return;
    }
    const facts = { ...this.#facts(), type: message.type };
    const known = isTesseraError(error) && error.code !== 'internal_error';
    if (known) {
      this.#modules.logger.warn({ ...facts, code: error.code }, `a peer's message failed: ${error.message}`);
    } else this.#modules.logger.error({ ...facts, err: error }, 'the handler of a message broke');
    if (id === undefined || this.#down) return;
    if (known) this.#answerError(id, error.code, error.message);
    else this.#answerError(id, 'internal_error', 'something broke inside the node');
  }

  /** Charges the peer for the work that it has caused. */
  #charge(cost: number): void {
    if (!this.#down) this.#throttle?.charge(cost);
  }

  #facts(): object {
    return { link: this.id, peer: this.address, peerRole: this.role, nodeKey: this.nodeKey };
  }
}
