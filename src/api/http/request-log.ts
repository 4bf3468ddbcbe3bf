/**
 * Writes one log line and one measurement for each request. Through the logger, a line costs a quarter of a cheap request,
 * so a node that logs JSON passes a sink: lines are then assembled here and written many at once. A kill may lose the last
 * ones.
 */

import type { FastifyReply, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import type { Clock, Timer } from '../../lib/clock.js';
import type { ErrorCode } from '../../lib/errors.js';
import type { Logger } from '../../lib/logger.js';
import type { HistogramHandle, Metrics } from '../../observability/metrics.js';
import { type RequestResult, resultOf } from './problem.js';

/** Takes text of whole lines, each a JSON object with the members of the node's other lines. */
export interface LineSink {
  write(text: string, lines: number): void;
  /** Members of every line, as JSON text with a comma after each. */
  readonly members?: string;
  /** False while the log level excludes these lines. */
  readonly enabled?: boolean;
}

declare module 'fastify' {
  interface FastifyInstance {
    readonly requestLog: RequestLog;
  }
  interface FastifyRequest {
    /** The error code for a request without a route. */
    routingError: string | null;
    /** The error code of the answer. */
    errorCode: ErrorCode | null;
    /** True when its line is written; that of a stream is written at its start. */
    isLogged: boolean;
  }
}

/** Characters collected before they are written. */
const FLUSH_AT = 16_384;
/** Maximum time that a line waits, in ms. */
const FLUSH_MS = 200;
const MS_PER_SECOND = 1_000;
/** pino's number for `info`. */
const INFO = 30;
/** Called every few seconds by load balancers; their lines would hide the others. */
const HEALTH_CHECKS: ReadonlySet<string> = new Set(['getLiveness', 'getReadiness']);
/** Added to the status in the index of handles; larger than any status. */
const FAILED = 1_000;

export interface RequestLogModules {
  readonly logger: Logger;
  readonly clock: Clock;
  readonly metrics: Metrics;
  /** Without it each line goes to the logger. */
  readonly sink?: LineSink | undefined;
}

export class RequestLog {
  readonly #logger: Logger;
  readonly #clock: Clock;
  readonly #metrics: Metrics;
  readonly #sink: LineSink | undefined;
  /** By operation, then status. There are few of both, and making a handle costs more than using it. */
  readonly #durations = new Map<string, HistogramHandle[]>();
  #waiting = '';
  #lines = 0;
  #timer: Timer | undefined;

  constructor({ logger, clock, metrics, sink }: RequestLogModules) {
    this.#logger = logger;
    this.#clock = clock;
    this.#metrics = metrics;
    this.#sink = sink;
  }

  /** `operation` is an operation id, or the code of the error when no route took the request. */
  add(request: FastifyRequest, reply: FastifyReply, operation: string): void {
    const result = resultOf(reply.statusCode, request.errorCode ?? null);
    this.#durationOf(operation, reply.statusCode, result).observe(reply.elapsedTime / MS_PER_SECOND);
    if (HEALTH_CHECKS.has(operation)) this.#logger.debug(fieldsOf(request, reply, operation), 'request');
    else if (this.#sink === undefined) this.#logger.info(fieldsOf(request, reply, operation), 'request');
    else if (this.#sink.enabled !== false) this.#collect(request, reply, operation, this.#sink);
  }

  /** Writes the collected lines. */
  readonly flush = (): void => {
    this.#timer?.cancel();
    this.#timer = undefined;
    const text = this.#waiting;
    const count = this.#lines;
    this.#waiting = '';
    this.#lines = 0;
    if (count > 0) this.#sink?.write(text, count);
  };

  #collect(request: FastifyRequest, reply: FastifyReply, operation: string, sink: LineSink): void {
    const members = sink.members ?? '"component":"api",';
    this.#lines++;
    // Request ids hold no character that JSON escapes, and operations are names of ours.
    this.#waiting +=
      `{"level":${INFO},"time":${this.#clock.now()},${members}"request_id":"${request.id}",` +
      `"operation":"${operation}","status":${reply.statusCode},"duration_ms":${millisecondsOf(reply)},"msg":"request"}\n`;
    if (this.#waiting.length >= FLUSH_AT) this.flush();
    else this.#timer ??= this.#clock.after(FLUSH_MS, this.flush);
  }

  #durationOf(operation: string, status: number, result: RequestResult): HistogramHandle {
    let known = this.#durations.get(operation);
    if (known === undefined) {
      known = [];
      this.#durations.set(operation, known);
    }
    // A status has at most two results: the one that follows from it, and the refusal with 500.
    const index = result === 'failed' ? status + FAILED : status;
    known[index] ??= this.#metrics.histogram(
      'tessera_http_request_duration_seconds',
      operation,
      String(status),
      result,
    );
    return known[index];
  }
}

function fieldsOf(request: FastifyRequest, reply: FastifyReply, operation: string): object {
  return { request_id: request.id, operation, status: reply.statusCode, duration_ms: millisecondsOf(reply) };
}

function millisecondsOf(reply: FastifyReply): number {
  return Math.round(reply.elapsedTime * 1000) / 1000;
}

/** Logs each request when its answer is out. */
export const requestLog = fp<{ readonly log: RequestLog }>((app, { log }, done) => {
  app.decorate('requestLog', log);
  app.decorateRequest('routingError', null);
  app.decorateRequest('errorCode', null);
  app.decorateRequest('isLogged', false);
  app.addHook('onResponse', (request, reply, next) => {
    const name = request.operation?.id ?? request.routingError;
    if (name !== null && !request.isLogged) log.add(request, reply, name);
    next();
  });
  app.addHook('onClose', async () => log.flush());
  done();
});
