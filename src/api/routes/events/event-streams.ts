/** The open event streams of a node: their number is limited, and they end when the node stops. */

import type { FastifyReply, FastifyRequest } from 'fastify';
import { Budget } from '../../../lib/budget.js';
import type { Clock } from '../../../lib/clock.js';
import { createDeferred, type Deferred } from '../../../lib/deferred.js';
import { TesseraError } from '../../../lib/errors.js';
import { limitedGroup } from '../../../lib/ip-address.js';
import type { Topic } from '../../../lib/roles.js';
import { clientAddress } from '../../http/client-address.js';
import type { EventHub } from './event-hub.js';
import { EventStream } from './event-stream.js';

/** Streams of one address. Loopback is not limited, because a proxy may connect from there. */
const MAX_STREAMS_OF_ADDRESS = 16;
/** Seconds until a client with too many streams may try again. */
const RETRY_SECONDS = 10;
/** Milliseconds for streams to end by themselves when the node stops. */
const GOODBYE_MS = 500;

export interface EventStreamsModules {
  readonly hub: EventHub;
  readonly clock: Clock;
}

export class EventStreams {
  readonly #modules: EventStreamsModules;
  readonly #places: Budget;
  readonly #streams = new Set<EventStream>();
  /** Set while the node stops. */
  #allEnded: Deferred<void> | undefined;

  constructor({ maxStreams }: { readonly maxStreams: number }, modules: EventStreamsModules) {
    this.#modules = modules;
    this.#places = streamPlaces(maxStreams);
  }

  /**
   * Answers a request with the events after `place`, past and future. Throws `shutting_down`, and `rate_limited` or
   * `overloaded` when there is no place for it.
   */
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

  /** Ends all streams, by force if they take too long. */
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
