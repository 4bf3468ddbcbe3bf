/**
 * Tells whether a link's other end is alive and reads, by looks at the bytes that came and went, and by pings. Looks
 * are counted, not milliseconds: a node that is held up makes no looks. A peer is called silent soon, and loses its
 * link much later.
 */

import type { Clock, Timer } from '../../lib/clock.js';
import type { Connection, Frame } from '../transport/transport.js';
import type { PeerLimits } from './limits.js';

interface Waiting {
  /** Total bytes sent on the connection once this frame is out. */
  readonly end: number;
  readonly bytes: number;
}

export class SendQueue {
  readonly #connection: Connection;
  #own: Waiting[] = [];
  #ownBytes = 0;
  #sent = 0;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  get bytes(): number {
    return this.#connection.bufferedAmount;
  }

  get flushed(): number {
    return this.#sent - this.#connection.bufferedAmount;
  }

  /** Bytes of the queued frames that go to this link only. */
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
    // Asking drops sent frames, which keeps the list short on a link whose bytes nobody asks for.
    if (this.#own.length > 0) void this.ownBytes;
    this.#own.push({ end: this.#sent, bytes: frame.length });
    this.#ownBytes += frame.length;
  }
}

const LOOKS = 5;
/** Looks in a row without a sign of life after which a peer is silent; by then two pings have had no answer. */
const SILENT_LOOKS = 3;

export interface HeartbeatModules {
  readonly clock: Clock;
  readonly connection: Pick<Connection, 'bytesReceived'>;
  readonly queue: Pick<SendQueue, 'bytes' | 'flushed'>;
  /** True while this node does not read: then the silence is its own doing. */
  isPaused(): boolean;
  ping(): void;
  /** Called when the peer was silent for as many heartbeats as it may miss. */
  onSilent(reason: string): void;
  onSlow(reason: string): void;
}

export class Heartbeat {
  readonly #limits: Pick<PeerLimits, 'heartbeatMs' | 'missedHeartbeats' | 'minReadRate'>;
  readonly #modules: HeartbeatModules;
  #timer: Timer | undefined;
  #looks = 0;
  #quiet = 0;
  #slow = 0;
  #lastReceived = 0;
  /** Bytes that had gone out at the last look; those at the last heartbeat, and the bytes queued then. */
  #lastFlushed = 0;
  #lastRead = 0;
  #lastQueued = 0;

  constructor(limits: PeerLimits, modules: HeartbeatModules) {
    this.#limits = limits;
    this.#modules = modules;
  }

  /** True when nothing has come from the peer for most of a heartbeat, not even an answer to a ping. */
  get isSilent(): boolean {
    return this.#quiet >= SILENT_LOOKS && this.#modules.connection.bytesReceived === this.#lastReceived;
  }

  start(): void {
    this.#timer = this.#modules.clock.after(this.#limits.heartbeatMs / LOOKS, () => this.#look());
  }

  stop(): void {
    this.#timer?.cancel();
  }

  #look(): void {
    const { missedHeartbeats } = this.#limits;
    this.#listen();
    if (++this.#looks % LOOKS === 0) this.#measureReading();
    if (this.#quiet >= missedHeartbeats * LOOKS) {
      this.#modules.onSilent(`nothing was heard in the time of ${missedHeartbeats} heartbeats`);
    } else if (this.#slow >= missedHeartbeats) {
      this.#modules.onSlow('the peer reads too slowly');
    } else {
      if (this.#quiet > 0) this.#modules.ping();
      this.start();
    }
  }

  #listen(): void {
    const { connection, queue } = this.#modules;
    const received = connection.bytesReceived;
    const { flushed } = queue;
    const isRead = queue.bytes > 0 && flushed > this.#lastFlushed;
    const isAlive = received !== this.#lastReceived || this.#modules.isPaused() || isRead;
    this.#quiet = isAlive ? 0 : this.#quiet + 1;
    this.#lastReceived = received;
    this.#lastFlushed = flushed;
  }

  #measureReading(): void {
    const { heartbeatMs, minReadRate } = this.#limits;
    const { bytes, flushed } = this.#modules.queue;
    const asked = Math.min(this.#lastQueued, (minReadRate * heartbeatMs) / 1_000);
    this.#slow = bytes > 0 && flushed - this.#lastRead < asked ? this.#slow + 1 : 0;
    this.#lastRead = flushed;
    this.#lastQueued = bytes;
  }
}
