/** Counts requests, and writes a log line and a measurement for each answer. A sink gets many lines at once; a kill may lose the last. */

import type { FastifyReply, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import type { Clock, Timer } from '../../lib/clock.js';
import type { ErrorCode } from '../../lib/errors.js';
import type { Logger } from '../../lib/logger.js';
import type { GaugeHandle, HistogramHandle, Metrics } from '../../observability/metrics.js';
import type { HasClock, HasLogger, HasMetrics } from '../../observability/modules.js';
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
    /** Time of arrival, by `clock.monotonic()`; 0 for a request with an unreadable path, which no hook sees. */
    arrivedAt: number;
    routingError: string | null;
    errorCode: ErrorCode | null;
    /** True when the line of the request is written; a stream has its line written at its start. */
    isLogged: boolean;
  }
}

/** Characters of lines that are collected before they are written. */
const FLUSH_AT = 16_384;
/** Maximum time that a line waits, in ms. */
const FLUSH_MS = 200;
const MS_PER_SECOND = 1_000;
const INFO = 30;
/** Operations that load balancers call every few seconds; their lines would hide the others. */
const HEALTH_CHECKS: ReadonlySet<string> = new Set(['getLiveness', 'getReadiness']);
/** Offset of failures in the index of handles by status; larger than any status. */
const FAILED = 1_000;

const LINE_START = `{"level":${INFO},"time":`;
const LINE_END = ',"msg":"request"}\n';

/** Shared text of the answers of an operation with one status. */
interface Answered {
  readonly durations: HistogramHandle;
  readonly words: string;
  readonly isHealthCheck: boolean;
}

export interface RequestLogModules extends HasClock, HasLogger, HasMetrics {
  readonly sink?: LineSink | undefined;
}

export class RequestLog {
  readonly #logger: Logger;
  readonly #clock: Clock;
  readonly #metrics: Metrics;
  readonly #sink: LineSink | undefined;
  readonly #inFlight: GaugeHandle;
  /** Answers by operation, then status. There are few of both, and making them costs more than using them. */
  readonly #answers = new Map<string, Answered[]>();
  /** Members of a line between the time and the request id. */
  readonly #members: string;
  #waiting = '';
  #lines = 0;
  #timer: Timer | undefined;

  constructor({ logger, clock, metrics, sink }: RequestLogModules) {
    this.#logger = logger;
    this.#clock = clock;
    this.#metrics = metrics;
    this.#sink = sink;
    this.#members = `,${sink?.members ?? '"component":"api",'}"request_id":"`;
    this.#inFlight = metrics.gauge('tessera_http_requests_in_flight');
  }

  arrives(request: FastifyRequest): void {
    request.arrivedAt = this.#clock.monotonic();
  }

  /** Follows a request until its answer is out or the connection is closed, with one listener: each costs time. */
  follow(request: FastifyRequest, reply: FastifyReply): void {
    const { raw } = reply;
    this.#inFlight.inc();
    raw.on('close', () => {
      this.#inFlight.dec();
      const name = request.operation?.id ?? request.routingError;
      if (name !== null && !request.isLogged && raw.writableEnded) this.add(request, reply, name);
    });
  }

  /** Measures and logs an answer. `operation` is an operation id, or the code of the error when no route took the request. */
  add(request: FastifyRequest, reply: FastifyReply, operation: string): void {
    const status = reply.statusCode;
    const { id, arrivedAt, errorCode } = request;
    const elapsed = arrivedAt === 0 ? 0 : this.#clock.monotonic() - arrivedAt;
    const answered = this.#answered(operation, status, resultOf(status, errorCode ?? null));
    answered.durations.observe(elapsed / MS_PER_SECOND);
    const rounded = Math.round(elapsed * 1_000) / 1_000;
    const sink = this.#sink;
    if (sink !== undefined && !answered.isHealthCheck) {
      if (sink.enabled !== false) this.#collect(id, answered, rounded);
      return;
    }
    const line = { request_id: id, operation, status, duration_ms: rounded };
    if (answered.isHealthCheck) this.#logger.debug(line, 'request');
    else this.#logger.info(line, 'request');
  }

  readonly flush = (): void => {
    this.#timer?.cancel();
    this.#timer = undefined;
    const text = this.#waiting;
    const count = this.#lines;
    this.#waiting = '';
    this.#lines = 0;
    if (count > 0) this.#sink?.write(text, count);
  };

  #collect(id: string, { words }: Answered, duration: number): void {
    this.#lines++;
    // The line has few parts, which are joined when it is written. Request ids hold no character that JSON escapes.
    this.#waiting += `${LINE_START}${this.#clock.now()}${this.#members}${id}${words}${duration}${LINE_END}`;
    if (this.#waiting.length >= FLUSH_AT) this.flush();
    else this.#timer ??= this.#clock.after(FLUSH_MS, this.flush);
  }

  #answered(operation: string, status: number, result: RequestResult): Answered {
    let known = this.#answers.get(operation);
    if (known === undefined) {
      known = [];
      this.#answers.set(operation, known);
    }
    // A status has at most two results: 500 may be a failure or a refusal, and each other status has one.
    const index = result === 'failed' ? status + FAILED : status;
    known[index] ??= {
      durations: this.#metrics.histogram('tessera_http_request_duration_seconds', operation, String(status), result),
      words: `","operation":"${operation}","status":${status},"duration_ms":`,
      isHealthCheck: HEALTH_CHECKS.has(operation),
    };
    return known[index];
  }
}

export const requestLog = fp<{ readonly log: RequestLog }>((app, { log }, done) => {
  app.decorate('requestLog', log);
  app.decorateRequest('arrivedAt', 0);
  app.decorateRequest('routingError', null);
  app.decorateRequest('errorCode', null);
  app.decorateRequest('isLogged', false);
  app.addHook('onClose', async () => log.flush());
  done();
});
