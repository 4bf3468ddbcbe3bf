/** One end of a WebSocket as a `Connection`. */

import { randomFillSync } from 'node:crypto';
import type { Socket } from 'node:net';
import { type RawData, WebSocket } from 'ws';
import { asBuffer } from '../../lib/bytes.js';
import { errorMessage } from '../../lib/errors.js';
import { formatAddress } from '../address.js';
import { type Connection, type Frame, GUARD_BYTES, GUARD_REASON, type Guard } from './transport.js';

/** Bytes from which a frame to a node of the same operator is not masked: below, masking costs nothing worth saving. */
const PLAIN_FROM = 64 * 1024;
/** Bytes that a small arrival counts as: each is an object in memory, which takes some 700 bytes beside them. */
const LEAST_ARRIVAL_BYTES = 512;
/** Pings and pongs between two frames, beyond which a connection ends: nodes send none, proxies a few. */
const MAX_BARE_CONTROLS = 32;

/** The masks of what a dialer sends. Of an accepted connection nothing is masked. */
export class Masks {
  /** The next frame is sent as it is, which a mask of zeros says. */
  isOff = false;

  readonly next = (mask: Buffer): void => {
    if (this.isOff) mask.fill(0);
    else randomFillSync(mask);
  };
}

export class WebSocketConnection implements Connection {
  readonly remote: string;
  readonly remoteHost: string;
  readonly pass: string | undefined;
  readonly #webSocket: WebSocket;
  readonly #socket: Socket;
  readonly #masks: Masks;
  readonly #early: Frame[] = [];
  readonly #closeListeners: ((reason: string) => void)[] = [];
  #onMessage: ((frame: Frame) => void) | undefined;
  #guard: Guard = () => (this.#socket.bytesRead > GUARD_BYTES ? GUARD_REASON : undefined);
  /** Bytes of the frame that is being received. */
  #heldBytes = 0;
  /** True if the last arrival has brought the end of a frame. */
  #isComplete = false;
  /** Bare controls since the last frame. */
  #bareControls = 0;
  #isPlain = false;
  #closeReason = '';
  #closed = false;

  constructor(
    webSocket: WebSocket,
    socket: Socket,
    { pass, masks = new Masks() }: { readonly pass?: string | undefined; readonly masks?: Masks } = {},
  ) {
    this.#webSocket = webSocket;
    this.#socket = socket;
    this.#masks = masks;
    this.pass = pass;
    this.remoteHost = socket.remoteAddress ?? '?';
    this.remote = formatAddress({ host: this.remoteHost, port: socket.remotePort ?? 0 });
    // Added after the library's own listener: the frames of a chunk are handled, and the guard that they may have changed is
    // in place, before the chunk is counted.
    socket.on('data', this.#count);
    socket.setNoDelay(true);
    webSocket.on('message', (data: RawData, isBinary: boolean) => this.#receive(data, isBinary));
    webSocket.on('ping', this.#countControl);
    webSocket.on('pong', this.#countControl);
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
    // The library asks for the mask before it returns.
    this.#masks.isOff = this.#isPlain && frame.length >= PLAIN_FROM;
    this.#webSocket.send(typeof frame === 'string' ? frame : asBuffer(frame), () => undefined);
    this.#masks.isOff = false;
  }

  sendPlain(): void {
    this.#isPlain = true;
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

  readonly #count = ({ length }: Uint8Array): void => {
    this.#heldBytes = this.#isComplete ? 0 : this.#heldBytes + Math.max(length, LEAST_ARRIVAL_BYTES);
    this.#isComplete = false;
    const reason = this.#guard(this.#heldBytes);
    if (reason !== undefined) this.cut(reason);
  };

  readonly #countControl = (): void => {
    if (++this.#bareControls > MAX_BARE_CONTROLS) this.cut('more pings or pongs of WebSocket than a proxy needs');
  };

  #receive(data: RawData, isBinary: boolean): void {
    const frame = isBinary ? toBytes(data) : toBytes(data).toString('utf8');
    this.#isComplete = true;
    this.#bareControls = 0;
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
