/** Parses bodies as exact JSON (decision B2), or in the chain's own encoding; an empty body is accepted where none is needed. */

import type { FastifyInstance, FastifyRequest } from 'fastify';
import { TesseraError } from '../../lib/errors.js';
import { addressGroup } from '../../lib/ip-address.js';
import { parseExactJson } from '../../lib/json.js';
import { NOW } from '../../lib/pieces.js';
import { clientAddress } from './client-address.js';

export const JSON_MEDIA_TYPE = 'application/json; charset=utf-8';
export const ENCODED_MEDIA_TYPE = 'application/octet-stream';

/** Maximum number of different member names in one body; the largest honest one imports 10,000 key pairs. More would be slow to read. */
const MAX_NAMES = 16_384;
const LARGE_BYTES = 16 * 1024;

declare module 'fastify' {
  interface FastifyRequest {
    /** The bytes of the body, on envelope routes, to recognise a repeated request. */
    rawBody: Buffer | null;
  }
}

/**
 * Parses `application/json`, and `application/octet-stream` where the operation takes it. An empty body counts as none: existing clients
 * send that; so does white space on envelope routes without a body (decision E6). `keepRaw` keeps its bytes.
 */
export function addJsonBodyParser(app: FastifyInstance, keepRaw = false): void {
  app.removeAllContentTypeParsers();
  const read = (request: FastifyRequest, body: Buffer): unknown => {
    app.refusedBodies.reads(request, body.length);
    return parseExactJson(body, { maxNames: MAX_NAMES });
  };
  const decode = (request: FastifyRequest, body: Buffer): unknown => {
    app.refusedBodies.reads(request, body.length);
    const sender = addressGroup(clientAddress(request));
    return request.operation?.body?.encoded?.decode(body, () => app.slices.turn(sender));
  };
  /** Resolves when the body may be read: there is room for it, and it is its turn. */
  const ready = (request: FastifyRequest, body: Buffer): Promise<void> => {
    const { response } = request;
    const address = clientAddress(request);
    const room = response === null ? undefined : app.bodyBudget.take(body.length, response, address);
    const turn = (): Promise<void> => (body.length < LARGE_BYTES ? NOW : app.slices.turn(addressGroup(address)));
    return room === undefined ? turn() : room.then(turn);
  };
  // The client may have left while its body waited; its room in the budget is then gone too.
  const unlessGone = (request: FastifyRequest, body: Buffer, work: typeof read): unknown => {
    if (request.response?.destroyed) throw new TesseraError('aborted', 'The client has disconnected.');
    return work(request, body);
  };
  app.addContentTypeParser(ENCODED_MEDIA_TYPE, { parseAs: 'buffer' }, (request, body: Buffer, done) => {
    if (body.length === 0 || request.is404) return done(null, undefined);
    checkCoding(request.headers);
    if (request.operation?.body?.encoded === undefined)
      throw new TesseraError('unsupported_media_type', 'Send the body as application/json.');
    ready(request, body)
      .then(() => unlessGone(request, body, decode))
      .then((value) => done(null, value), done);
  });
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body: Buffer, done) => {
    // An unknown route answers 404 or 405, whatever its body.
    if (body.length === 0 || request.is404 || (takesNoBody(request) && isBlank(body))) return done(null, undefined);
    if (keepRaw) request.rawBody = body;
    checkCoding(request.headers);
    // A body that need not wait is read in this turn: a promise for each costs more than reading a small one.
    const given = ready(request, body);
    if (given === NOW) done(null, read(request, body));
    else given.then(() => unlessGone(request, body, read)).then((value) => done(null, value), done);
  });
}

function takesNoBody({ operation }: FastifyRequest): boolean {
  return operation?.family === 'envelope' && operation.body === undefined;
}

/** White space as in JSON: space, tab, line feed, carriage return. */
function isBlank(bytes: Buffer): boolean {
  return bytes.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d);
}

/** Throws `unsupported_media_type` for a body that is compressed, or in a charset other than UTF-8. */
function checkCoding(headers: FastifyRequest['headers']): void {
  if (headers['content-type'] === 'application/json' && headers['content-encoding'] === undefined) return;
  const encoding = headers['content-encoding'] ?? '';
  if (!/^(identity)?$/i.test(encoding.trim())) {
    throw new TesseraError('unsupported_media_type', 'Send the body without a Content-Encoding.');
  }
  const charset = /;\s*charset\s*=\s*"?([^";\s]*)/i.exec(headers['content-type'] ?? '')?.[1];
  if (charset !== undefined && !/^utf-?8$/i.test(charset)) {
    throw new TesseraError('unsupported_media_type', 'Send the body as application/json in UTF-8.');
  }
}
