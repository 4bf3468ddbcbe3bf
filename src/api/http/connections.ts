/** Limits on connections: how many an address may have, how they end, and the answer to requests that are not HTTP. */

import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Server as TlsServer } from 'node:tls';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Budget } from '../../lib/budget.js';
import type { Clock, Timer } from '../../lib/clock.js';
import { TesseraError } from '../../lib/errors.js';
import { limitedGroup } from '../../lib/ip-address.js';
import { stringifyExact } from '../../lib/json.js';
import { PROBLEM_MEDIA_TYPE, problemHeaders, problemOf } from './problem.js';

/** Milliseconds for pending answers when the app closes; the node stops within five seconds. */
const GRACE_MS = 2_000;
/** Milliseconds for reading the rest of a body that is too large. */
const DRAIN_MS = 10_000;

/** Refuses connections of an address (an IPv6 /64 is one) beyond `limit`. Loopback is not limited: a proxy may connect from there. */
export function limitConnections(server: Server, limit: number): void {
  const open = new Budget({ total: [Number.POSITIVE_INFINITY], share: [limit], refuse: () => TOO_MANY_CONNECTIONS });
  server.on('connection', (socket: Socket) => {
    const group = limitedGroup(socket.remoteAddress ?? 'localhost');
    if (group === undefined) return;
    if (open.isWithinShare(group, [1])) socket.once('close', open.add(group, [1]));
    else refuseConnection(server, socket);
  });
}

function refuseConnection(server: Server, socket: Socket): void {
  // Before the TLS handshake no answer can be sent.
  if (server instanceof TlsServer) socket.destroy();
  else socket.end(rawAnswer(503, 'Service Unavailable', TOO_MANY_CONNECTIONS), () => socket.destroy());
}

const TOO_MANY_CONNECTIONS = new TesseraError(
  'overloaded',
  'Your address has too many connections to this node; close some.',
);

/** Discards the rest of a body that was answered with 413: a connection that is closed while data comes in loses the answer. */
export function drainBody({ raw }: FastifyRequest, reply: FastifyReply, clock: Clock): void {
  if (raw.complete) return;
  // With the header `connection: close`, Node would close the connection right after the answer.
  reply.removeHeader('connection');
  if (!reply.raw.shouldKeepAlive) {
    // Node would also close the connection of a client that sends no second request. Here the body ends first.
    reply.raw.shouldKeepAlive = true;
    raw.once('end', () => raw.socket.destroySoon());
  }
  const timer = clock.after(DRAIN_MS, () => raw.destroy());
  raw.once('close', () => timer.cancel());
  raw.resume();
}

/** Closes connections without a request when the app closes, since Node would wait for them. Pending answers get some time. */
export function closeInTime(app: FastifyInstance, clock: Clock): void {
  const { server } = app;
  const unused = new Set<Socket>();
  let grace: Timer | undefined;
  server.on(server instanceof TlsServer ? 'secureConnection' : 'connection', (socket: Socket) => {
    unused.add(socket);
    socket.once('close', () => unused.delete(socket));
  });
  server.on('request', ({ socket }) => unused.delete(socket));
  app.addHook('preClose', async () => {
    for (const socket of unused) socket.destroy();
    grace = clock.after(GRACE_MS, () => server.closeAllConnections());
  });
  app.addHook('onClose', async () => grace?.cancel());
}

/** Answers requests that the HTTP parser refuses, and those that do not arrive in time, with a problem document. */
export function answerClientError(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const [status, title, detail] = clientFault(error.code);
  socket.end(rawAnswer(status, title, new TesseraError('invalid_request', detail)));
}

/** Answers requests that expect something else than 100-continue. Their body is not read, so the connection ends. */
export function answerExpectation(_: IncomingMessage, response: ServerResponse): void {
  const error = new TesseraError('invalid_request', 'The node meets no expectation but 100-continue.');
  const body = rawBody(417, 'Expectation Failed', error);
  response.writeHead(417, { 'content-type': PROBLEM_MEDIA_TYPE, connection: 'close' }).end(body);
}

function rawAnswer(status: number, title: string, error: TesseraError): string {
  const body = rawBody(status, title, error);
  const headers = Object.entries(problemHeaders(error)).map(([name, value]) => `${name}: ${value}\r\n`);
  return (
    `HTTP/1.1 ${status} ${title}\r\nContent-Type: ${PROBLEM_MEDIA_TYPE}\r\n${headers.join('')}` +
    `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`
  );
}

function rawBody(status: number, title: string, error: TesseraError): string {
  return stringifyExact({ ...problemOf(error), status, title });
}

function clientFault(code: string | undefined): readonly [number, string, string] {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return [408, 'Request Timeout', 'The request did not arrive in time.'];
  if (code === 'HPE_HEADER_OVERFLOW') return [431, 'Request Header Fields Too Large', 'The header is too large.'];
  return [400, 'Bad Request', 'This is not a valid HTTP request.'];
}
