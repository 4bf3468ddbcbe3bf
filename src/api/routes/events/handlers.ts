/** The route of the event stream: which topics a caller may read, and where the stream begins. */

import type { FastifyPluginCallback, FastifyRequest } from 'fastify';
import { TesseraError } from '../../../lib/errors.js';
import { type NodeRole, type Topic, topicsOf } from '../../../lib/roles.js';
import { addRoutes } from '../../http/route.js';
import type { ApiModules } from '../../options.js';
import { EventHub } from './event-hub.js';
import { EventStreams } from './event-streams.js';
import { eventOperations, streamEvents } from './operations.js';

export interface EventRoutes {
  readonly roles: readonly NodeRole[];
  readonly modules: Pick<ApiModules, 'events' | 'clock'>;
  /** Maximum number of streams; 256 by default. */
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
  // Before the server waits for its connections, because a stream never ends by itself.
  app.addHook('preClose', () => streams.stop());
  done();
};

/** The topics that a request names; by default all that are served. */
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

/** The last event that the reader has; undefined when its position is lost. */
function placeOf(hub: EventHub, { headers }: FastifyRequest): number | undefined {
  const id = headers['last-event-id'];
  return id === undefined || id === '' ? hub.last : hub.seqOf(String(id));
}
