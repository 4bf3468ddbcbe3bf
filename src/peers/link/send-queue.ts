/** Data that wait to be sent on one connection: how many bytes, and how many of them this link alone keeps in memory. */

import type { Connection, Frame } from '../transport/transport.js';

interface Waiting {
  /** Total bytes sent on the connection once this frame is out. */
  readonly end: number;
  readonly bytes: number;
}

export class SendQueue {
  readonly #connection: Connection;
  /** Frames of this link alone that may not be out yet, in their order. */
  #own: Waiting[] = [];
  #ownBytes = 0;
  #sent = 0;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  get bytes(): number {
    return this.#connection.bufferedAmount;
  }

  /** Bytes that have left so far. */
  get flushed(): number {
    return this.#sent - this.#connection.bufferedAmount;
  }

  /** Bytes of frames that nobody else sends too. */
  get ownBytes(): number {
    const { flushed } = this;
    let out = 0;
    while (out < this.#own.length && (this.#own[out]?.end ?? 0) <= flushed) {
      this.#ownBytes -= this.#own[out]?.bytes ?? 0;
      out += 1;
    }
    if (out > 0) this.#own = this.#own.slice(out);
    return this.#ownBytes;
  }

  push(frame: Frame, isShared: boolean): void {
    this.#sent += frame.length;
    this.#connection.send(frame);
    if (isShared) return;
    // Keeps the list short on a link that is never asked.
    if (this.#own.length > 0) void this.ownBytes;
    this.#own.push({ end: this.#sent, bytes: frame.length });
    this.#ownBytes += frame.length;
  }
}
