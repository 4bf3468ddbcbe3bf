/**
 * One line for each request. Through the logger a line costs a quarter of a cheap request, so a node that logs JSON gives
 * a sink: then lines are put together here and written many at once. A kill may lose the last moments of them.
 */

import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Clock, Timer } from '../lib/clock.js';
import type { Logger } from '../lib/logger.js';

/** Takes ready text: whole lines, each a JSON object with the members of the node's other lines. */
export interface LineSink {
  write(text: string): void;
}

export interface RequestLog {
  /** `operation` is an operation id, or the code of the error when no route took the request. */
  add(request: FastifyRequest, reply: FastifyReply, operation: string): void;
  /** Writes what is waiting. */
  flush(): void;
}

/** Characters that are collected before they are written. */
const FLUSH_AT = 16_384;
/** Longest that a line waits, in ms. */
const FLUSH_MS = 200;
/** pino's number for `info`. */
const INFO = 30;

export function createRequestLog(
  modules: { readonly logger: Logger; readonly clock: Clock },
  sink?: LineSink,
): RequestLog {
  return sink === undefined ? loggedRequests(modules.logger) : writtenRequests(sink, modules.clock);
}

function durationOf(reply: FastifyReply): number {
  return Math.round(reply.elapsedTime * 1000) / 1000;
}

function loggedRequests(logger: Logger): RequestLog {
  return {
    add(request, reply, operation) {
      const fields = {
        request_id: request.id,
        operation,
        status: reply.statusCode,
        duration_ms: durationOf(reply),
      };
      logger.info(fields, 'request');
    },
    flush: () => undefined,
  };
}

function writtenRequests(sink: LineSink, clock: Clock): RequestLog {
  let waiting = '';
  let timer: Timer | undefined;

  const flush = (): void => {
    timer?.cancel();
    timer = undefined;
    const text = waiting;
    waiting = '';
    if (text !== '') sink.write(text);
  };

  return {
    add(request, reply, operation) {
      // Request ids hold no character that JSON escapes, and operations are names of ours.
      waiting +=
        `{"level":${INFO},"time":${clock.now()},"component":"api","request_id":"${request.id}",` +
        `"operation":"${operation}","status":${reply.statusCode},"duration_ms":${durationOf(reply)},"msg":"request"}\n`;
      if (waiting.length >= FLUSH_AT) flush();
      else timer ??= clock.after(FLUSH_MS, flush);
    },
    flush,
  };
}
