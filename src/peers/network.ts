/** Links between nodes, as the services see them. Shapes and bounds of messages are in `messages.ts`. */

import type { NodeRole } from '../lib/roles.js';
import type { Service } from '../lib/service.js';
import type { Signal } from '../lib/signal.js';
import type { MessageBody, MessageType } from './messages.js';

/** A message that passed its schema and size bound. `attachment` is its binary part (bincode), empty when it has none. */
export interface Message<T extends MessageType = MessageType> {
  readonly type: T;
  readonly body: MessageBody<T>;
  readonly attachment: Uint8Array;
}

export interface RequestOptions {
  readonly attachment?: Uint8Array;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** An open, authenticated connection to one peer. */
export interface Link {
  readonly id: string;
  readonly role: NodeRole;
  /** Address (`host:port`) on which the peer accepts links, as it said in the handshake; proves nothing. */
  readonly address: string;
  /** Hex of the peer's node key, proven by its signature in the handshake. */
  readonly nodeKey: string;
  /** True when the peer proved knowledge of `network.secret`: it belongs to the same operator. */
  readonly trusted: boolean;
  /** Version of the program that the peer runs, as it said; undefined when it did not. */
  readonly version: string | undefined;
  /** Name under which the peer's share of this node's work counts: a stranger's address (its /64 for IPv6), else the node key. */
  readonly sender: string;
  /** True when the peer has sent nothing for most of a heartbeat, not even an answer to a ping: it is busy or cut off, and may lose the link. */
  readonly isSilent: boolean;
  /** Sends a message; false when the link is closed or its send queue is full: then nothing was sent. */
  send<T extends MessageType>(type: T, body: MessageBody<T>, attachment?: Uint8Array): boolean;
  /**
   * Sends a request and waits for the answer. Throws `peer_unreachable` when the link closes or the time is over, `overloaded` when too much is under
   * way on this link, `aborted`, and the code of an `error` answer if it is about the request.
   */
  request<T extends MessageType>(type: T, body: MessageBody<T>, options?: RequestOptions): Promise<Message>;
  close(reason: string): void;
}

/** Result of a handler of a request; undefined for a one-way message, whose reply would be dropped. */
export interface Reply<T extends MessageType = MessageType> {
  readonly type: T;
  readonly body: MessageBody<T>;
  readonly attachment?: Uint8Array;
}

/**
 * Called in the order of the messages' arrival, without waiting for the call before. A thrown `TesseraError` answers the request with code and
 * message; `protocol_violation` closes the link; any other error is answered `internal_error`.
 */
export type MessageHandler<T extends MessageType> = (
  link: Link,
  message: Message<T>,
) => Promise<Reply | undefined> | Reply | undefined;

/** The links of a node. Once started, it listens and dials the configured peers; once stopped, all links and the port are closed. */
export interface PeerNetwork extends Service {
  readonly address: string;
  readonly nodeKey: string;
  readonly links: ReadonlySet<Link>;
  readonly linkUp: Signal<Link>;
  readonly linkDown: Signal<{ readonly link: Link; readonly reason: string }>;
  /** Sets the handler of a message type; a message without a handler closes the link. */
  handle<T extends MessageType>(type: T, handler: MessageHandler<T>): void;
  /** The open link to that address, or a new one. Throws `peer_unreachable` after `timeoutMs`. */
  dial(address: string, options: { readonly timeoutMs: number; readonly signal?: AbortSignal }): Promise<Link>;
  /** Sends one message to many links, encoded once. Returns the links that are closed or have no room for it. */
  broadcast<T extends MessageType>(
    links: Iterable<Link>,
    type: T,
    body: MessageBody<T>,
    attachment?: Uint8Array,
  ): Link[];
}
