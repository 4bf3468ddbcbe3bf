/** Ordered, reliable frames between two ends, by WebSocket or, in tests, in memory. The transport knows no roles or messages. */

import type { HostAndPort } from '../address.js';

/** A frame: text carries control, bytes carry a message. */
export type Frame = string | Uint8Array;

/** Bytes of the largest frame: the largest attachment of any message and the largest envelope, with some room. */
export const MAX_FRAME_BYTES = 72 * 1024 * 1024;

/** Bytes that a connection may receive in all until `guard` replaces this bound: those of a handshake, with some room. */
export const GUARD_BYTES = 64 * 1024;

/** Reason for the end of a connection that received more than `GUARD_BYTES`. */
export const GUARD_REASON = `more than ${GUARD_BYTES} bytes before the handshake was done`;

/**
 * Called after each arrival with the held bytes of an incomplete frame, roughly. A returned text ends the connection
 * and is the reason.
 */
export type Guard = (heldBytes: number) => string | undefined;

/** One end of an open connection. */
export interface Connection {
  /** Address (`host:port`) of the other end, for logs; proves nothing. */
  readonly remote: string;
  /** The host of the other end as this end sees it, without brackets. */
  readonly remoteHost: string;
  /** Pass that the dialer showed on opening the connection; undefined without one, and on the dialer's own end. */
  readonly pass: string | undefined;
  /** Bytes given to `send` that have not left this process. */
  readonly bufferedAmount: number;
  /** Bytes received so far, those of unfinished frames included. */
  readonly bytesReceived: number;
  /** Queues a frame; frames arrive in the order in which they are sent. Does nothing when closed. */
  send(frame: Frame): void;
  /** Replaces the listener for frames. Frames that came before there was one are delivered to the first. */
  onMessage(listener: (frame: Frame) => void): void;
  /** Adds a listener for the end, called once with a reason for the log, even if the end was before. */
  onClose(listener: (reason: string) => void): void;
  /** Sets the guard. Until then, more than `GUARD_BYTES` received end the connection: a stranger gets no large buffers. */
  guard(guard: Guard): void;
  /** Sends large frames without a mask from now on: the other end is of the same operator (docs/adr/small-decisions.md#0052). */
  sendPlain(): void;
  /** Stops reading until `resume`: the other end has to wait. Bytes that were read already still arrive. */
  pause(): void;
  resume(): void;
  /** Sends queued frames and closes; cuts the connection when that takes longer than a second. */
  close(): void;
  /** Cuts the connection at once; queued frames are lost. */
  cut(reason: string): void;
}

export interface Listener {
  /** Host and port that are in use (the real port when 0 was asked for). */
  readonly address: HostAndPort;
  /** Accepts no more connections, and closes the accepted ones; resolves when the port is free. */
  close(): Promise<void>;
}

export interface Transport {
  /** Listens. Throws `peer_unreachable` when the port cannot be opened, `port_in_use` when another program has it. */
  listen(at: HostAndPort, onConnection: (connection: Connection) => void): Promise<Listener>;
  /** Resolves the name anew and connects; `pass` is shown to the listener. Throws `invalid_socket_address`, `peer_unreachable`, `aborted`. */
  dial(address: string, signal: AbortSignal, pass?: string): Promise<Connection>;
}
