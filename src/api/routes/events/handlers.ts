/**
 * The route of the event stream: which topics a caller may read, where the stream begins, and the streams. Each reader has its own position
 * in the hub; one that falls too far behind is told so, and its stream ends.
 */

import type { ServerResponse } from 'node:http';
import type { FastifyPluginCallback, FastifyReply, FastifyRequest } from 'fastify';
import { Budget } from '../../../lib/budget.js';
import type { Clock, Timer } from '../../../lib/clock.js';
import { createDeferred, type Deferred } from '../../../lib/deferred.js';
import { TesseraError } from '../../../lib/errors.js';
import { limitedGroup } from '../../../lib/ip-address.js';
import { type NodeRole, type Topic, topicsOf } from '../../../lib/roles.js';
import type { HasClock } from '../../../observability/modules.js';
import { clientAddress } from '../../http/client-address.js';
import { addRoutes } from '../../http/route.js';
import type { ApiModules } from '../../options.js';
import { EventHub } from './event-hub.js';
import { eventOperations, streamEvents } from './operations.js';

interface EventRoutes {
  readonly roles: readonly NodeRole[];
  readonly modules: Pick<ApiModules, 'events' | 'clock'>;
  readonly maxStreams?: number;
}

const MAX_STREAMS = 256;

export const eventRoutes: FastifyPluginCallback<EventRoutes> = (app, options, done) => {
  const { roles, modules, maxStreams = MAX_STREAMS } = options;
  const { clock } = modules;
  const hub = modules.events ?? new EventHub({ epoch: clock.now() });
  const served = topicsOf(roles);
  const streams = new EventStreams({ maxStreams }, { hub, clock });

  addRoutes(app, eventOperations, {
    streamEvents(request, reply) {
      const topics = wantedOf(served, request.query.topics);
      if (topics.includes('wallet')) app.authorize(streamEvents, request);
      streams.open(topics, placeOf(hub, request), request, reply);
      // The log line is written now: a stream may stay open for days.
      app.requestLog.add(request, reply, streamEvents.id);
      request.isLogged = true;
      return reply;
    },
  });
  // Streams are stopped before the server waits for its connections, because a stream never ends by itself.
  app.addHook('preClose', () => streams.stop());
  done();
};

function wantedOf(served: readonly Topic[], topics: string | undefined): readonly Topic[] {
  if (topics === undefined) return served;
  return [...new Set(topics.split(',').map((name) => name.trim()))].map((name) => {
    const topic = served.find((one) => one === name);
    if (topic !== undefined) return topic;
    throw new TesseraError(
      'invalid_request',
      `query.topics: "${name.slice(0, 32)}" is not a topic of this node. It has ${served.join(' and ')}.`,
    );
  });
}

function placeOf(hub: EventHub, { headers }: FastifyRequest): number | undefined {
  const id = headers['last-event-id'];
  return id === undefined || id === '' ? hub.last : hub.seqOf(String(id));
}

/** Streams of one address. Loopback is not limited, because a proxy may connect from there. */
const MAX_STREAMS_OF_ADDRESS = 16;
/** Seconds until a client with too many streams may try again. */
const RETRY_SECONDS = 10;
/** Milliseconds for streams to end by themselves when the node stops. */
const GOODBYE_MS = 500;

interface EventStreamsModules extends HasClock {
  readonly hub: EventHub;
}

class EventStreams {
  readonly #modules: EventStreamsModules;
  readonly #places: Budget;
  readonly #streams = new Set<EventStream>();
  #allEnded: Deferred<void> | undefined;

  constructor({ maxStreams }: { readonly maxStreams: number }, modules: EventStreamsModules) {
    this.#modules = modules;
    this.#places = streamPlaces(maxStreams);
  }

  /** Answers with the events after `place`, past and future. Throws `shutting_down`, `rate_limited`, `overloaded`. */
  open(topics: readonly Topic[], place: number | undefined, request: FastifyRequest, reply: FastifyReply): void {
    if (this.#allEnded !== undefined) throw new TesseraError('shutting_down', 'The node is stopping.');
    const { hub } = this.#modules;
    const leave = this.#places.take(limitedGroup(clientAddress(request)), [1]);
    const from = place !== undefined && hub.after(topics, place, 1) === undefined ? undefined : place;
    writeHead(request, reply);
    const onEnd = (): void => {
      leave();
      this.#streams.delete(stream);
      if (this.#streams.size === 0) this.#allEnded?.resolve();
    };
    const stream = new EventStream(reply.raw, { topics, from }, { ...this.#modules, onEnd });
    this.#streams.add(stream);
  }

  async stop(): Promise<void> {
    this.#allEnded = createDeferred<void>();
    if (this.#streams.size === 0) return;
    for (const stream of [...this.#streams]) stream.end();
    const timer = this.#modules.clock.after(GOODBYE_MS, () => {
      for (const stream of [...this.#streams]) stream.destroy();
    });
    await this.#allEnded.promise;
    timer.cancel();
  }
}

/** Places for streams, one each: in all, and of each address. Refuses with `overloaded` or `rate_limited`. */
export function streamPlaces(total: number): Budget {
  const share = MAX_STREAMS_OF_ADDRESS;
  return new Budget({
    total: [total],
    share: [share],
    refuse: (_own, isShare) =>
      isShare
        ? new TesseraError('rate_limited', `Your address has ${share} event streams here already; close some.`, {
            details: { retryAfter: RETRY_SECONDS },
          })
        : new TesseraError('overloaded', `This node serves ${total} event streams at once; try again later.`),
  });
}

function writeHead(request: FastifyRequest, reply: FastifyReply): void {
  reply.header('content-type', 'text/event-stream; charset=utf-8').header('cache-control', 'no-store');
  // Proxies that buffer answers would hold events back.
  reply.header('x-accel-buffering', 'no').header('connection', 'close');
  reply.hijack();
  request.raw.socket.setTimeout(0);
  reply.raw.writeHead(200, reply.getHeaders() as Record<string, string>);
}

const HEARTBEAT_MS = 15_000;
/** Number of heartbeats that a connection may fail to take before it is cut off. */
const MAX_STUCK_BEATS = 4;
const BATCH = 256;
/** Milliseconds after which a client should connect again. */
const RETRY_MS = 1_000;

interface EventStreamOptions {
  readonly topics: readonly Topic[];
  /** The last event that the reader has; undefined when its position is lost: then the reader is told. */
  readonly from: number | undefined;
}

interface EventStreamModules extends HasClock {
  readonly hub: EventHub;
  readonly onEnd: () => void;
}

class EventStream {
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

  /** Ends the stream with a last comment; `destroy` drops the rest if the connection does not take it in time. */
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
        // No event of these topics is in between: the position moves on.
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
