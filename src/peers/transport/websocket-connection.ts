/** One end of a WebSocket as a `Connection`. */

import type { Socket } from 'node:net';
import { type RawData, WebSocket } from 'ws';
import { asBuffer } from '../../lib/bytes.js';
import { errorMessage } from '../../lib/errors.js';
import { formatAddress } from '../address.js';
import { type Connection, type Frame, GUARD_BYTES, GUARD_REASON, type Guard } from './transport.js';

export class WebSocketConnection implements Connection {
  readonly remote: string;
  readonly remoteHost: string;
  readonly pass: string | undefined;
  readonly #webSocket: WebSocket;
  readonly #socket: Socket;
  readonly #early: Frame[] = [];
  readonly #closeListeners: ((reason: string) => void)[] = [];
  #onMessage: ((frame: Frame) => void) | undefined;
  #guard: Guard = () => (this.#socket.bytesRead > GUARD_BYTES ? GUARD_REASON : undefined);
  /** Bytes received when the last frame was complete. */
  #completeAt = 0;
  #closeReason = '';
  #closed = false;

  constructor(webSocket: WebSocket, socket: Socket, pass?: string) {
    this.#webSocket = webSocket;
    this.#socket = socket;
    this.pass = pass;
    this.remoteHost = socket.remoteAddress ?? '?';
    this.remote = formatAddress({ host: this.remoteHost, port: socket.remotePort ?? 0 });
    // Added after the library's own listener: the frames of a chunk are handled, and the guard that they may have changed is
    // in place, before the chunk is counted.
    socket.on('data', this.#count);
    socket.setNoDelay(true);
    webSocket.on('message', (data: RawData, isBinary: boolean) => this.#receive(data, isBinary));
    webSocket.on('error', (error) => {
      this.#closeReason ||= describeError(error);
    });
    webSocket.on('close', () => this.#end());
  }

  get bufferedAmount(): number {
    return this.#webSocket.bufferedAmount;
  }

  get bytesReceived(): number {
    return this.#socket.bytesRead;
  }

  send(frame: Frame): void {
    if (this.#webSocket.readyState !== WebSocket.OPEN) return;
    this.#webSocket.send(typeof frame === 'string' ? frame : asBuffer(frame), () => undefined);
  }

  onMessage(listener: (frame: Frame) => void): void {
    this.#onMessage = listener;
    for (const frame of this.#early.splice(0)) this.#onMessage(frame);
  }

  onClose(listener: (reason: string) => void): void {
    if (this.#closed) queueMicrotask(() => listener(this.#closeReason));
    else this.#closeListeners.push(listener);
  }

  guard(guard: Guard): void {
    this.#guard = guard;
  }

  pause(): void {
    this.#webSocket.pause();
  }

  resume(): void {
    this.#webSocket.resume();
  }

  close(): void {
    this.#closeReason ||= 'closed by this node';
    // The other end's farewell must be read.
    this.#webSocket.resume();
    this.#webSocket.close(1000);
  }

  cut(reason: string): void {
    this.#closeReason ||= reason;
    this.#webSocket.terminate();
  }

  readonly #count = (): void => {
    const reason = this.#guard(this.#socket.bytesRead - this.#completeAt);
    if (reason !== undefined) this.cut(reason);
  };

  #receive(data: RawData, isBinary: boolean): void {
    const frame = isBinary ? toBytes(data) : toBytes(data).toString('utf8');
    this.#completeAt = this.#socket.bytesRead;
    if (this.#onMessage) this.#onMessage(frame);
    else this.#early.push(frame);
  }

  #end(): void {
    this.#closed = true;
    this.#socket.off('data', this.#count);
    this.#closeReason ||= 'the peer closed the connection';
    for (const listener of this.#closeListeners.splice(0)) listener(this.#closeReason);
  }
}

function toBytes(data: RawData): Buffer {
  if (Buffer.isBuffer(data)) return data;
  return Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data);
}

/** The text of an error; a failed dial of several addresses has its texts inside. */
export function describeError(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(errorMessage).join('; ');
  return errorMessage(error);
}
