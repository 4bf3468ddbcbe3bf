/** Bodies in and out: exact JSON both ways (decision B2), and an empty body where none is needed. */

import type { FastifyInstance, FastifyRequest } from 'fastify';
import { TesseraError } from '../../lib/errors.js';
import { parseExactJson } from '../../lib/json.js';

export const JSON_MEDIA_TYPE = 'application/json; charset=utf-8';

/**
 * Different member names in one body. The largest honest body is an import of 10,000 key pairs, named by their addresses;
 * a built-in object with hundreds of thousands of names costs a hundred times what other bodies of its size do.
 */
const MAX_NAMES = 16_384;

declare module 'fastify' {
  interface FastifyRequest {
    /** The bytes of the body, on envelope routes: what makes two requests the same. */
    rawBody: Buffer | null;
  }
}

/**
 * Takes `application/json` bodies only and parses them exactly. An empty one is no body, whatever its content type says:
 * existing clients send that with GET and POST alike. White space is no body either on envelope routes that take none
 * (reference, §2.0). With `keepRaw` the bytes stay at `request.rawBody`.
 */
export function addJsonBodyParser(app: FastifyInstance, keepRaw = false): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, async (request: FastifyRequest, body: Buffer) => {
    // An unknown route answers 404 or 405, not what its body would deserve.
    if (body.length === 0 || request.is404 || (takesNoBody(request) && isBlank(body))) return undefined;
    if (keepRaw) request.rawBody = body;
    checkCoding(request.headers);
    if (request.response !== null) await app.bodyBudget.take(body.length, request.response, request.ip);
    return parseExactJson(body, { maxNames: MAX_NAMES });
  });
}

function takesNoBody({ routeOptions }: FastifyRequest): boolean {
  const { operation } = routeOptions.config;
  return operation?.family === 'envelope' && operation.body === undefined;
}

/** Only what JSON calls white space: space, tab, line feed, carriage return. */
function isBlank(bytes: Buffer): boolean {
  return bytes.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d);
}

/** Throws `unsupported_media_type` for a body that is compressed, or in a charset other than UTF-8. */
function checkCoding(headers: FastifyRequest['headers']): void {
  const encoding = headers['content-encoding'] ?? '';
  if (!/^(identity)?$/i.test(encoding.trim())) {
    throw new TesseraError('unsupported_media_type', 'Send the body without a Content-Encoding.');
  }
  const charset = /;\s*charset\s*=\s*"?([^";\s]*)/i.exec(headers['content-type'] ?? '')?.[1];
  if (charset !== undefined && !/^utf-?8$/i.test(charset)) {
    throw new TesseraError('unsupported_media_type', 'Send the body as application/json in UTF-8.');
  }
}
