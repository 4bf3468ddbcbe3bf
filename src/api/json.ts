/** Bodies in and out: exact JSON both ways (decision B2), and an empty body where none is needed. */

import type { FastifyInstance } from 'fastify';
import { parseExactJson } from '../lib/json.js';

export const JSON_MEDIA_TYPE = 'application/json; charset=utf-8';

declare module 'fastify' {
  interface FastifyRequest {
    /** The bytes of the body, on envelope routes: what makes two requests the same. */
    rawBody: Buffer | null;
  }
}

/**
 * Takes `application/json` bodies only and parses them exactly. An empty one is no body, whatever its content type says:
 * existing clients send that with GET and POST alike. With `keepRaw` the bytes stay at `request.rawBody`.
 */
export function addJsonBodyParser(app: FastifyInstance, keepRaw = false): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    // An unknown route answers 404 or 405, not what its body would deserve.
    if (body.length === 0 || request.is404) {
      done(null, undefined);
      return;
    }
    if (keepRaw) request.rawBody = body as Buffer;
    try {
      done(null, parseExactJson(body as Buffer));
    } catch (error) {
      done(error as Error, undefined);
    }
  });
}
