/** The route of the event stream: who may read which topics, from where, and the end of all streams when the node stops. */

import type { FastifyPluginCallback, FastifyRequest } from 'fastify';
import { createDeferred } from '../../../lib/deferred.js';
import { TesseraError } from '../../../lib/errors.js';
import type { NodeRole } from '../../../lib/roles.js';
import { addRoutes, type OperationRequest } from '../../http/route.js';
import type { ApiModules } from '../../options.js';
import { EventHub, type EventTopic } from './event-hub.js';
import { EventStream } from './event-stream.js';
import { eventOperations, streamEvents, TOPICS_OF_ROLE } from './operations.js';
import { StreamPlaces } from './stream-places.js';

export interface EventRoutes {
  readonly role: NodeRole;
  readonly modules: Pick<ApiModules, 'events' | 'clock'>;
  /** Streams at once; 256 by default. */
  readonly maxStreams?: number;
}

const MAX_STREAMS = 256;
const MAX_STREAMS_OF_ADDRESS = 16;
/** Milliseconds that streams have to end by themselves when the node stops. */
const GOODBYE_MS = 500;

export const eventRoutes: FastifyPluginCallback<EventRoutes> = (app, options, done) => {
  const { role, modules, maxStreams = MAX_STREAMS } = options;
  const { clock } = modules;
  const hub = modules.events ?? new EventHub({ epoch: clock.now() });
  const places = new StreamPlaces({ total: maxStreams, perAddress: MAX_STREAMS_OF_ADDRESS });
  const streams = new Set<EventStream>();
  let stopping = false;
  let allEnded: (() => void) | undefined;

  function topicsOf({ query: { topics } }: OperationRequest<typeof streamEvents>): readonly EventTopic[] {
    const served = TOPICS_OF_ROLE[role];
    if (topics === undefined) return served;
    return [...new Set(topics.split(',').map((name) => name.trim()))].map((name) => {
      const topic = served.find((one) => one === name);
      if (topic !== undefined) return topic;
      throw new TesseraError(
        'invalid_request',
        `query.topics: "${name.slice(0, 32)}" is no topic of this node. It has ${served.join(' and ')}.`,
      );
    });
  }

  /** The event that the reader has; undefined when its place is lost. */
  function placeOf({ headers }: FastifyRequest): number | undefined {
    const id = headers['last-event-id'];
    return id === undefined || id === '' ? hub.last : hub.seqOf(String(id));
  }

  addRoutes(app, eventOperations, {
    streamEvents(request, reply) {
      const topics = topicsOf(request);
      if (topics.includes('wallet')) app.authorize(streamEvents, request);
      if (stopping) throw new TesseraError('shutting_down', 'The node is stopping.');
      const leave = places.take(request.ip);
      const place = placeOf(request);
      const from = place !== undefined && hub.after(topics, place, 1) === undefined ? undefined : place;
      reply.header('content-type', 'text/event-stream; charset=utf-8').header('cache-control', 'no-store');
      // Proxies that collect answers would hold events back.
      reply.header('x-accel-buffering', 'no').header('connection', 'close');
      reply.hijack();
      request.raw.socket.setTimeout(0);
      reply.raw.writeHead(200, reply.getHeaders() as Record<string, string>);
      const onEnd = (): void => {
        leave();
        streams.delete(stream);
        if (streams.size === 0) allEnded?.();
      };
      const stream = new EventStream(reply.raw, { topics, from }, { hub, clock, onEnd });
      streams.add(stream);
      // The line is written now: a stream may stay open for days.
      app.requestLog.add(request, reply, streamEvents.id);
      request.isLogged = true;
      return reply;
    },
  });

  // Before the server waits for its connections: a stream would never end by itself.
  app.addHook('preClose', async () => {
    stopping = true;
    if (streams.size === 0) return;
    const ended = createDeferred<void>();
    allEnded = ended.resolve;
    for (const stream of [...streams]) stream.end();
    const timer = clock.after(GOODBYE_MS, () => {
      for (const stream of [...streams]) stream.destroy();
    });
    await ended.promise;
    timer.cancel();
  });
  done();
};
