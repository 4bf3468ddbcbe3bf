/** Sends answers other than plain objects: stored bytes as they are, and long answers in slices. */

import type { FastifyReply, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import type { Clock } from '../../lib/clock.js';
import { stringifyExact } from '../../lib/json.js';
import { TimeSlices } from '../../lib/time-slices.js';
import { JSON_MEDIA_TYPE } from './json.js';
import { type LazyList, type LazyMap, LongAnswers } from './long-answers.js';

/** A handler may return maps for objects with free keys; `LazyMap` and `LazyList` make their entries as they are written. */
export type Answerable<T> = T extends string | number | bigint | boolean | null | undefined
  ? T
  : T extends readonly (infer E)[]
    ? readonly Answerable<E>[] | LazyList<Answerable<E>>
    : string extends keyof T
      ?
          | ReadonlyMap<string, Answerable<T[keyof T]>>
          | LazyMap<Answerable<T[keyof T]>>
          | { readonly [key: string]: Answerable<T[keyof T]> }
      : { readonly [K in keyof T]: Answerable<T[K]> };

/** A client that has the content named by `etag` gets 304. `immutable` content never changes. */
export interface StoredOptions {
  readonly etag?: string;
  readonly immutable?: boolean;
}

declare module 'fastify' {
  interface FastifyInstance {
    readonly longAnswers: LongAnswers;
    /** Turns for long work on requests and answers, by the address group of the client. */
    readonly slices: TimeSlices;
  }
  interface FastifyReply {
    /** Sends JSON that is stored as bytes, such as a block, or 304 when the client has it. */
    stored(bytes: Buffer, options?: StoredOptions): FastifyReply;
    /** The JSON of an answer that may be long, for the handler to return. */
    long(value: unknown): string | Promise<Buffer>;
  }
}

const IMMUTABLE = 'public, max-age=31536000, immutable';

/** Decorates replies with `stored` and `long`; objects become exact JSON (decision B2). */
export const answers = fp<{ readonly clock: Clock }>((app, { clock }, done) => {
  const slices = new TimeSlices(clock);
  const longAnswers = new LongAnswers({ clock, slices });
  app.decorate('slices', slices);
  app.decorate('longAnswers', longAnswers);
  app.setSerializerCompiler(() => stringifyExact);
  app.decorateReply('stored', function stored(this: FastifyReply, bytes: Buffer, options: StoredOptions = {}) {
    return sendStored(this, bytes, options, longAnswers);
  });
  app.decorateReply('long', function long(this: FastifyReply, value: unknown) {
    const json = longAnswers.json(value, this);
    this.header('content-type', JSON_MEDIA_TYPE);
    return json;
  });
  done();
});

function sendStored(
  reply: FastifyReply,
  bytes: Buffer,
  { etag, immutable }: StoredOptions,
  long: LongAnswers,
): FastifyReply {
  if (etag !== undefined) {
    const quoted = `"${etag}"`;
    reply.header('etag', quoted).header('cache-control', immutable ? IMMUTABLE : 'no-cache');
    if (isKnown(reply.request, quoted)) return reply.code(304).send();
  }
  long.watch(bytes.length, reply);
  return reply.header('content-type', JSON_MEDIA_TYPE).send(bytes);
}

/** True when the client has this content: weak comparison, as RFC 9110 requires for If-None-Match. */
export function isKnown({ headers }: FastifyRequest, etag: string): boolean {
  const known = headers['if-none-match'];
  if (known === undefined) return false;
  return known.split(',').some((part) => {
    const tag = part.trim();
    return tag === '*' || tag === etag || tag === `W/${etag}`;
  });
}
