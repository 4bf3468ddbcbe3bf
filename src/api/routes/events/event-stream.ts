/**
 * One reader of events over HTTP. It is sent what its connection takes and reads on from its own place in the hub, so a
 * slow reader costs no memory: one that falls too far behind is told so and let go, one that takes nothing is cut off.
 */

import type { ServerResponse } from 'node:http';
import type { Clock, Timer } from '../../../lib/clock.js';
import type { EventHub, EventTopic } from './event-hub.js';

/** Milliseconds between two signs of life. */
export const HEARTBEAT_MS = 15_000;
/** Signs of life that a connection may fail to take before it is cut off. */
const MAX_STUCK_BEATS = 4;
/** Events that are written at once. */
const BATCH = 256;
/** Milliseconds after which a client should connect again. */
const RETRY_MS = 1_000;

export interface EventStreamOptions {
  readonly topics: readonly EventTopic[];
  /** The reader has everything up to this event; undefined when it has lost its place, which it is told. */
  readonly from: number | undefined;
}

export interface EventStream {
  /** Says goodbye and ends; what the connection does not take in time is dropped by `destroy`. */
  end(): void;
  destroy(): void;
}

/** Takes over a response whose head has been written. `onEnd` is called once, when the connection is gone. */
export function openEventStream(
  response: ServerResponse,
  options: EventStreamOptions,
  modules: { readonly hub: EventHub; readonly clock: Clock; readonly onEnd: () => void },
): EventStream {
  const { hub, clock, onEnd } = modules;
  const { topics } = options;
  let seq = options.from ?? hub.last;
  let open = true;
  let blocked = false;
  let stuckBeats = 0;
  let heartbeat: Timer | undefined;

  function write(text: string): void {
    blocked = !response.write(text);
  }

  function pump(): void {
    while (open && !blocked) {
      const events = hub.after(topics, seq, BATCH);
      if (events === undefined) {
        finish(`event: lagged\ndata: {"last_event_id":"${hub.idOf(seq)}"}\n\n`);
        return;
      }
      if (events.length === 0) {
        // Nothing of these topics lies between: the place moves on.
        seq = hub.last;
        return;
      }
      seq = events.at(-1)?.seq ?? seq;
      write(events.map(hub.textOf).join(''));
    }
  }

  function beat(): void {
    if (blocked && ++stuckBeats >= MAX_STUCK_BEATS) {
      response.destroy();
      return;
    }
    if (!blocked) write(': heartbeat\n\n');
    heartbeat = clock.after(HEARTBEAT_MS, beat);
  }

  function finish(text: string): void {
    if (!open) return;
    open = false;
    response.end(text);
  }

  const offNews = hub.onNews(pump);
  response.on('drain', () => {
    blocked = false;
    stuckBeats = 0;
    pump();
  });
  response.on('error', () => undefined);
  response.once('close', () => {
    open = false;
    heartbeat?.cancel();
    offNews();
    onEnd();
  });

  // An id without data: a reader that loses the connection before the first event has a place, too.
  write(`retry: ${RETRY_MS}\nid: ${hub.idOf(seq)}\n\n`);
  if (options.from === undefined) {
    write(`id: ${hub.idOf(seq)}\nevent: reset\ndata: {"last_event_id":"${hub.idOf(seq)}"}\n\n`);
  }
  heartbeat = clock.after(HEARTBEAT_MS, beat);
  pump();

  return {
    end: () => finish(': the node is stopping\n\n'),
    destroy: () => response.destroy(),
  };
}
