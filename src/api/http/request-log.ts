/**
 * One line for each request. Through the logger a line costs a quarter of a cheap request, so a node that logs JSON gives
 * a sink: then lines are put together here and written many at once. A kill may lose the last moments of them.
 */

import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Clock, Timer } from '../../lib/clock.js';
import type { Logger } from '../../lib/logger.js';

/** Takes ready text: whole lines, each a JSON object with the members of the node's other lines. */
export interface LineSink {
  write(text: string, lines: number): void;
  /** Members of every line, as JSON text with a comma behind each. */
  readonly members?: string;
  /** False while the level of the log leaves these lines out. */
  readonly enabled?: boolean;
}

/** Told of requests, for whoever measures them. */
export interface RequestObserver {
  began(): void;
  ended(): void;
  /** `operation` as in the log; it is one of a few hundred names. */
  answered(operation: string, status: number, seconds: number): void;
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
const MS_PER_SECOND = 1_000;
/** pino's number for `info`. */
const INFO = 30;

export function createRequestLog(
  modules: { readonly logger: Logger; readonly clock: Clock },
  sink?: LineSink,
  observer?: RequestObserver,
): RequestLog {
  const log = sink === undefined ? loggedRequests(modules.logger) : writtenRequests(sink, modules.clock);
  if (observer === undefined) return log;
  return {
    add(request, reply, operation) {
      observer.answered(operation, reply.statusCode, reply.elapsedTime / MS_PER_SECOND);
      log.add(request, reply, operation);
    },
    flush: log.flush,
  };
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
  const members = sink.members ?? '"component":"api",';
  let waiting = '';
  let lines = 0;
  let timer: Timer | undefined;

  const flush = (): void => {
    timer?.cancel();
    timer = undefined;
    const text = waiting;
    const count = lines;
    waiting = '';
    lines = 0;
    if (count > 0) sink.write(text, count);
  };

  return {
    add(request, reply, operation) {
      if (sink.enabled === false) return;
      lines++;
      // Request ids hold no character that JSON escapes, and operations are names of ours.
      waiting +=
        `{"level":${INFO},"time":${clock.now()},${members}"request_id":"${request.id}",` +
        `"operation":"${operation}","status":${reply.statusCode},"duration_ms":${durationOf(reply)},"msg":"request"}\n`;
      if (waiting.length >= FLUSH_AT) flush();
      else timer ??= clock.after(FLUSH_MS, flush);
    },
    flush,
  };
}
