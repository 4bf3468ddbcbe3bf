/** Counts about links, on top of the catalogue of metrics. */

import type { CounterHandle, Metrics } from '../../observability/metrics.js';
import type { MessageType } from '../messages.js';

/** Kinds of frames; `control` stands for handshakes, pings and farewells. */
type Kind = MessageType | 'control';
type Direction = 'in' | 'out';

export class LinkMetrics {
  readonly #metrics: Metrics;
  readonly #messages = { in: new Map<Kind, CounterHandle>(), out: new Map<Kind, CounterHandle>() };
  readonly #bytes: Readonly<Record<Direction, CounterHandle>>;
  /** Counts a link that is closed because the peer broke the protocol. */
  readonly violation: () => void;
  readonly dialFailed: () => void;
  /** Counts a handshake, a link or bytes of a stranger that had to make room. */
  readonly evicted: Readonly<Record<'handshake' | 'link' | 'bytes', () => void>>;

  constructor(metrics: Metrics) {
    this.#metrics = metrics;
    this.#bytes = {
      in: metrics.counter('tessera_peers_bytes_total', 'in'),
      out: metrics.counter('tessera_peers_bytes_total', 'out'),
    };
    // A counter of something that has not happened yet must be there, at 0.
    const counted = (handle: CounterHandle): (() => void) => {
      handle.inc(0);
      return () => handle.inc();
    };
    this.violation = counted(metrics.counter('tessera_peers_violations_total'));
    this.dialFailed = counted(metrics.counter('tessera_peers_dial_failures_total'));
    this.evicted = {
      handshake: counted(metrics.counter('tessera_peers_evictions_total', 'handshake')),
      link: counted(metrics.counter('tessera_peers_evictions_total', 'link')),
      bytes: counted(metrics.counter('tessera_peers_evictions_total', 'bytes')),
    };
  }

  message(direction: Direction, kind: Kind, bytes: number): void {
    let count = this.#messages[direction].get(kind);
    if (count === undefined) {
      count = this.#metrics.counter('tessera_peers_messages_total', direction, kind);
      this.#messages[direction].set(kind, count);
    }
    count.inc();
    this.#bytes[direction].inc(bytes);
  }
}
