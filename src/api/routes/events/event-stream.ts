/** One reader of events over HTTP, with its own position in the hub. One that falls too far behind is told so, and its stream ends. */

import type { ServerResponse } from 'node:http';
import type { Clock, Timer } from '../../../lib/clock.js';
import type { Topic } from '../../../lib/roles.js';
import type { EventHub } from './event-hub.js';

const HEARTBEAT_MS = 15_000;
/** Number of heartbeats that a connection may fail to take before it is cut off. */
const MAX_STUCK_BEATS = 4;
const BATCH = 256;
/** Milliseconds after which a client should connect again. */
const RETRY_MS = 1_000;

export interface EventStreamOptions {
  readonly topics: readonly Topic[];
  /** The last event that the reader has; undefined when its position is lost, which it is told. */
  readonly from: number | undefined;
}

export interface EventStreamModules {
  readonly hub: EventHub;
  readonly clock: Clock;
  readonly onEnd: () => void;
}

export class EventStream {
  readonly #response: ServerResponse;
  readonly #topics: readonly Topic[];
  readonly #hub: EventHub;
  readonly #clock: Clock;
  #epoch: number;
  #seq: number;
  #isOpen = true;
  #isBlocked = false;
  #stuckBeats = 0;
  #heartbeat: Timer | undefined;

  /** Takes over a response whose head has been written. */
  constructor(
    response: ServerResponse,
    { topics, from }: EventStreamOptions,
    { hub, clock, onEnd }: EventStreamModules,
  ) {
    this.#response = response;
    this.#topics = topics;
    this.#hub = hub;
    this.#clock = clock;
    this.#seq = from ?? hub.last;
    this.#epoch = hub.epoch;
    this.#listen(onEnd);
    // An id without data, so that a reader that is disconnected before the first event can resume too.
    this.#write(`retry: ${RETRY_MS}\nid: ${hub.idOf(this.#seq)}\n\n`);
    if (from === undefined) this.#tellReset();
    this.#heartbeat = clock.after(HEARTBEAT_MS, this.#beat);
    this.#pump();
  }

  /** Ends the stream with a last comment; `destroy` drops what the connection does not take in time. */
  end(): void {
    this.#finish(': the node is stopping\n\n');
  }

  destroy(): void {
    this.#response.destroy();
  }

  #listen(onEnd: () => void): void {
    const offNews = this.#hub.onNews(this.#pump);
    this.#response.on('drain', () => {
      this.#isBlocked = false;
      this.#stuckBeats = 0;
      this.#pump();
    });
    this.#response.on('error', () => undefined);
    this.#response.once('close', () => {
      this.#isOpen = false;
      this.#heartbeat?.cancel();
      offNews();
      onEnd();
    });
  }

  #write(text: string): void {
    this.#isBlocked = !this.#response.write(text);
  }

  #tellReset(): void {
    const id = this.#hub.idOf(this.#seq);
    this.#write(`id: ${id}\nevent: reset\ndata: {"last_event_id":"${id}"}\n\n`);
  }

  readonly #pump = (): void => {
    while (this.#isOpen && !this.#isBlocked) {
      if (this.#epoch !== this.#hub.epoch) {
        this.#epoch = this.#hub.epoch;
        this.#seq = 0;
        this.#tellReset();
        continue;
      }
      const events = this.#hub.after(this.#topics, this.#seq, BATCH);
      if (events === undefined) {
        this.#finish(`event: lagged\ndata: {"last_event_id":"${this.#hub.idOf(this.#seq)}"}\n\n`);
        return;
      }
      if (events.length === 0) {
        // There is nothing of these topics in between: the position moves on.
        this.#seq = this.#hub.last;
        return;
      }
      this.#seq = events.at(-1)?.seq ?? this.#seq;
      this.#write(events.map((event) => this.#hub.textOf(event)).join(''));
    }
  };

  readonly #beat = (): void => {
    if (this.#isBlocked && ++this.#stuckBeats >= MAX_STUCK_BEATS) {
      this.#response.destroy();
      return;
    }
    if (!this.#isBlocked) this.#write(': heartbeat\n\n');
    this.#heartbeat = this.#clock.after(HEARTBEAT_MS, this.#beat);
  };

  #finish(text: string): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#response.end(text);
  }
}
