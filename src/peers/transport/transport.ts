/** Ordered, reliable frames between two ends: WebSocket and, in tests, memory. Knows nothing of roles or messages. */

import type { HostAndPort } from '../address.js';

/** A text frame carries control, a binary frame a message. */
export type Frame = string | Uint8Array;

/** Bytes of the largest frame: the largest attachment of any message, the largest envelope, and room. */
export const MAX_FRAME_BYTES = 72 * 1024 * 1024;

/** Bytes that a connection may receive in all before it is given another guard: a handshake, with room. */
export const GUARD_BYTES = 64 * 1024;

/** The reason given when a connection that received more than that is ended. */
export const GUARD_REASON = `more than ${GUARD_BYTES} bytes before the handshake was done`;

/**
 * Asked after each arrival with the bytes held of an incomplete frame, roughly. What it returns ends the connection as
 * the reason.
 */
export type Guard = (heldBytes: number) => string | undefined;

/** One end of an open connection. */
export interface Connection {
  /** `host:port` of the other end, for logs; proves nothing. */
  readonly remote: string;
  /** The host of the other end as this end sees it, without brackets. */
  readonly remoteHost: string;
  /** Pass that the dialer showed on opening the connection; undefined without one, and on the dialer's own end. */
  readonly pass: string | undefined;
  /** Bytes given to `send` that have not left this process. */
  readonly bufferedAmount: number;
  /** Bytes received so far, those of unfinished frames included. */
  readonly bytesReceived: number;
  /** Queues a frame; frames arrive in the order sent. Does nothing when closed. */
  send(frame: Frame): void;
  /** Sets the listener for frames, in place of the one before. Frames that came earlier are delivered to the first one. */
  onMessage(listener: (frame: Frame) => void): void;
  /** Adds a listener for the end, called once with a reason for the log, even if it is added after the end. */
  onClose(listener: (reason: string) => void): void;
  /** Guards the connection. Until this is called, more than `GUARD_BYTES` received end it: a stranger gets no large buffers. */
  guard(guard: Guard): void;
  /** The other end is of the same operator: large frames need no mask (docs/adr/small-decisions.md#0052). */
  sendPlain(): void;
  /** Reads no more until `resume`: the other end has to wait. What was read already still arrives. */
  pause(): void;
  resume(): void;
  /** Sends what is queued and closes; cuts the connection when that takes longer than a second. */
  close(): void;
  /** Cuts off at once; what is queued is lost. */
  cut(reason: string): void;
}

export interface Listener {
  /** Host and port that are in use (the real port when 0 was asked for). */
  readonly address: HostAndPort;
  /** Accepts no more; resolves when the port is free. Connections already accepted are closed too. */
  close(): Promise<void>;
}

export interface Transport {
  /** Throws `peer_unreachable` when the port cannot be opened, `port_in_use` when another program has it. */
  listen(at: HostAndPort, onConnection: (connection: Connection) => void): Promise<Listener>;
  /** Resolves the name anew; `pass` is shown to the listener. Throws `invalid_socket_address`, `peer_unreachable`, `aborted`. */
  dial(address: string, signal: AbortSignal, pass?: string): Promise<Connection>;
}
