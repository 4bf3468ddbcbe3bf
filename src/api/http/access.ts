/** The hook that refuses a request before its body is read: for its Host header, under overload, or without an API key (decision H3). */

import type { IncomingMessage } from 'node:http';
import type { FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import type { Clock, Timer } from '../../lib/clock.js';
import { isTesseraError, TesseraError } from '../../lib/errors.js';
import { addressGroup, isLoopback } from '../../lib/ip-address.js';
import type { PassphraseCaller } from '../../wallet/service.js';
import type { Operation } from '../operation.js';
import { AddressTally } from './address-tally.js';
import type { ApiKeys, Caller } from './api-key.js';
import { clientAddress } from './client-address.js';
import { type AllowedOrigins, isStrangeHost, needsPreflight } from './web-pages.js';

declare module 'fastify' {
  interface FastifyInstance {
    /** Throws unless the caller has an API key for the operation. Called for operations that need a key only in some uses. */
    authorize(operation: Operation, request: FastifyRequest): void;
  }
  interface FastifyRequest {
    /** Name of the valid API key of the request; empty where the operation needs no key. */
    keyName: string;
  }
}

export function passphraseCaller(request: FastifyRequest): PassphraseCaller {
  return { key: request.keyName, address: addressGroup(clientAddress(request)) };
}

export interface AccessOptions {
  readonly keys: ApiKeys;
  readonly clock: Clock;
  /** Origins that may read a node that asks for no key. */
  readonly openTo: AllowedOrigins | undefined;
}

/** The hook with all checks of a request before its body is read. */
export const access = fp<AccessOptions>((app, { keys, clock, openTo }, done) => {
  const guard = new OverloadGuard(clock);
  const names = openTo === undefined ? undefined : new OwnNames(openTo);
  const guesses = new KeyGuesses(clock);
  const authorize = (operation: Operation, request: FastifyRequest): void => {
    const caller = callerOf(request);
    const address = clientAddress(request);
    if (caller.apiKey !== undefined) guesses.assertMayTry(address);
    try {
      request.keyName = keys.check(operation, caller);
    } catch (error) {
      if (isTesseraError(error, 'invalid_api_key')) guesses.failed(address);
      throw error;
    }
  };
  app.decorateRequest('keyName', '');
  app.decorate('authorize', authorize);
  app.addHook('onRequest', (request, reply, next) => {
    const { operation } = request;
    checkHostHeader(request.raw);
    if (operation === null) return next();
    if (operation.apiKey !== true) names?.check(request.headers.host);
    // Health checks must be answered, above all under overload.
    if (operation.family !== 'node') guard.check();
    if (operation.apiKey !== true) return next();
    reply.header('cache-control', 'no-store');
    authorize(operation, request);
    next();
  });
  app.addHook('onClose', async () => guard.stop());
  done();
});

/** Caller of a request, by the connection itself: a client behind a proxy is never on this machine. */
function callerOf({ headers, method, socket }: FastifyRequest): Caller {
  const apiKey = headers['x-api-key'];
  const fetchSite = headers['sec-fetch-site'];
  return {
    apiKey: Array.isArray(apiKey) ? apiKey[0] : apiKey,
    address: socket.remoteAddress,
    host: headers.host,
    origin: headers.origin,
    fetchSite: Array.isArray(fetchSite) ? fetchSite[0] : fetchSite,
    preflighted: method === 'PUT' || needsPreflight(headers),
    forwarded: headers['x-forwarded-for'] !== undefined || headers.forwarded !== undefined,
  };
}

/** Wrong keys that an address may send in a window. */
const MAX_FAILURES = 20;
const WINDOW_MS = 60_000;

/** Refuses an address after too many wrong keys, for a while. Loopback may still use a valid key: clients behind a proxy share it. */
class KeyGuesses {
  readonly #failures: AddressTally;

  constructor(clock: Clock) {
    this.#failures = new AddressTally(WINDOW_MS, clock);
  }

  /** Throws `rate_limited` when the address must wait before its next attempt. */
  assertMayTry(address: string): void {
    if (!isLoopback(address)) this.#assertBelow(address);
  }

  /** Counts a wrong key. Throws `rate_limited`, in place of the usual refusal, when there are too many. */
  failed(address: string): void {
    this.#assertBelow(address);
    this.#failures.add(address, 1);
  }

  #assertBelow(address: string): void {
    const { amount, seconds } = this.#failures.of(address);
    if (amount < MAX_FAILURES) return;
    throw new TesseraError(
      'rate_limited',
      `${MAX_FAILURES} wrong API keys came from your address: wait ${seconds} s.`,
      { details: { retryAfter: seconds } },
    );
  }
}

/** Milliseconds between two measurements while requests come, and while none does: each wakes the process. */
const INTERVAL_MS = 100;
const REST_MS = 1_000;
/** A measurement that comes this many ms after its time counts as late. */
const LATE_MS = 500;
/** Requests are refused after this many late measurements in a row: a single one may be a garbage collection. */
const LATE_TURNS = 3;

export class OverloadGuard {
  readonly #clock: Clock;
  #lateTurns = 0;
  #isAsked = true;
  #timer: Timer;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#timer = this.#measure();
  }

  /** Throws `overloaded` while the event loop is behind. */
  check(): void {
    this.#isAsked = true;
    if (this.#lateTurns < LATE_TURNS) return;
    throw new TesseraError('overloaded', 'The node is behind with its work; try again.');
  }

  stop(): void {
    this.#timer.cancel();
  }

  #measure(): Timer {
    const interval = this.#isAsked ? INTERVAL_MS : REST_MS;
    this.#isAsked = false;
    const due = this.#clock.monotonic() + interval;
    return this.#clock.after(interval, () => {
      this.#lateTurns = this.#clock.monotonic() - due > LATE_MS ? this.#lateTurns + 1 : 0;
      this.#timer = this.#measure();
    });
  }
}

/** Form of the Host header by RFC 9112 (3.2). */
const HOST = /^[\w.~!$&'()*+,;=%:[\]-]*$/;
const HOST_NAME = 'host';

/** Throws `invalid_request` if a proxy may take the request to be for another host: Node itself only refuses one without Host. */
function checkHostHeader({ headers, rawHeaders, httpVersionMinor }: IncomingMessage): void {
  const { host } = headers;
  if (host === undefined) {
    if (httpVersionMinor === 0) return;
    throw new TesseraError('invalid_request', 'Send a Host header, as every request of HTTP/1.1 has.');
  }
  if (!HOST.test(host)) throw new TesseraError('invalid_request', 'The Host header holds no host.');
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i];
    if (name?.length === HOST_NAME.length && name.toLowerCase() === HOST_NAME) count++;
  }
  if (count > 1) throw new TesseraError('invalid_request', 'Send one Host header only.');
}

/** Checks the Host header at a node that asks for no key: names that a stranger may point at the node are refused (DNS rebinding). */
class OwnNames {
  readonly #cors: AllowedOrigins;
  /** The last host that passed: clients send the same one each time, and its check takes as long as all the others. */
  #known: string | undefined;

  constructor(cors: AllowedOrigins) {
    this.#cors = cors;
  }

  check(host: string | undefined): void {
    if (host === undefined || host === this.#known) return;
    if (isStrangeHost(host, this.#cors)) {
      throw new TesseraError(
        'unknown_host',
        'This node asks for no API key, so it answers to addresses and to names of its own only: list the name that is in the Host ' +
          'header in api.cors, as https://NAME.',
      );
    }
    this.#known = host;
  }
}
