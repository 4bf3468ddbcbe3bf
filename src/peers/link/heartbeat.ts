/**
 * Whether the other end of a link is alive and reads: a ping at each beat, and a look at the bytes that came and went since
 * the last one. A long transfer either way is a sign of life.
 */

import type { Clock, Timer } from '../../lib/clock.js';
import type { Connection } from '../transport/transport.js';
import type { PeerLimits } from './limits.js';
import type { SendQueue } from './send-queue.js';

export interface HeartbeatModules {
  readonly clock: Clock;
  readonly connection: Pick<Connection, 'bytesReceived'>;
  readonly queue: Pick<SendQueue, 'bytes' | 'flushed'>;
  /** True while this node does not read: the silence is then its own doing. */
  isPaused(): boolean;
  ping(): void;
  /** The peer has not answered as many pings as it may miss. */
  onSilent(reason: string): void;
  /** The peer reads too slowly. */
  onSlow(reason: string): void;
}

export class Heartbeat {
  readonly #limits: Pick<PeerLimits, 'heartbeatMs' | 'missedHeartbeats' | 'minReadRate'>;
  readonly #modules: HeartbeatModules;
  #timer: Timer | undefined;
  #missed = 0;
  #slow = 0;
  #lastReceived = 0;
  #lastFlushed = 0;
  #lastQueued = 0;

  constructor(limits: PeerLimits, modules: HeartbeatModules) {
    this.#limits = limits;
    this.#modules = modules;
  }

  start(): void {
    this.#timer = this.#modules.clock.after(this.#limits.heartbeatMs, () => this.#beat());
  }

  stop(): void {
    this.#timer?.cancel();
  }

  #beat(): void {
    const { missedHeartbeats } = this.#limits;
    this.#look();
    if (this.#missed >= missedHeartbeats) {
      this.#modules.onSilent(`no answer to ${missedHeartbeats} pings in a row`);
    } else if (this.#slow >= missedHeartbeats) {
      this.#modules.onSlow('the peer reads too slowly');
    } else {
      this.#modules.ping();
      this.start();
    }
  }

  #look(): void {
    const { heartbeatMs, minReadRate } = this.#limits;
    const { connection, queue } = this.#modules;
    const received = connection.bytesReceived;
    const queued = queue.bytes;
    const read = queue.flushed - this.#lastFlushed;
    const isAlive = received !== this.#lastReceived || this.#modules.isPaused() || (queued > 0 && read > 0);
    const asked = Math.min(this.#lastQueued, (minReadRate * heartbeatMs) / 1_000);
    this.#missed = isAlive ? 0 : this.#missed + 1;
    this.#slow = queued > 0 && read < asked ? this.#slow + 1 : 0;
    this.#lastReceived = received;
    this.#lastFlushed += read;
    this.#lastQueued = queued;
  }
}
