/** Serves the pages of a node: the document of a site at each of its paths, the files that they load, and the page at /v1/docs. */

import type { FastifyPluginCallback, FastifyReply, FastifyRequest } from 'fastify';
import { isKnown } from '../http/answers.js';
import { routeOf } from '../http/route.js';
import { getDocs } from '../routes/common/operations.js';
import type { PageFile, PageFiles } from './page-files.js';
import { HOME, PAGE_PATHS, type Site } from './page-paths.js';

const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "base-uri 'none'",
  "connect-src 'self'",
  "font-src 'self'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "img-src 'self' data:",
  "object-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  // No text ever becomes markup, whatever the code of a page does.
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

const PAGE_HEADERS = {
  'content-security-policy': CONTENT_SECURITY_POLICY,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()',
  'referrer-policy': 'no-referrer',
  // Older browsers do not know frame-ancestors.
  'x-frame-options': 'DENY',
} as const;

export interface PageRoutes {
  /** The sites to serve; `/` leads to the first of them. */
  readonly sites: readonly Site[];
  readonly files: PageFiles;
}

/** Name of a page in logs and metrics, where routes of the API have the name of their operation. */
const PAGE = 'getPage';
const ROOT = '/';

const IMMUTABLE = 'public, max-age=31536000, immutable';
/** Caching of documents: a browser asks each time, and gets 304 while the document is the same. */
const REVALIDATED = 'no-cache';

const NOT_BUILT = Buffer.from(
  '<!doctype html><html lang="en"><meta charset="utf-8"><title>Tessera</title><h1>The pages are not built</h1>' +
    '<p>This node works, and <a href="/v1/openapi.json">/v1/openapi.json</a> describes its API. Its pages are missing: run ' +
    '<code>npm run build</code> in the folder of the program, and start it again.</p></html>',
  'utf8',
);

export const pageRoutes: FastifyPluginCallback<PageRoutes> = (app, { sites, files }, done) => {
  app.addHook('onResponse', (request, reply, next) => {
    app.requestLog.add(request, reply, PAGE);
    next();
  });
  for (const site of sites) {
    for (const path of PAGE_PATHS[site]) app.get(path, documentOf(files.document(site)));
  }
  const [first] = sites;
  if (first === undefined) return done();
  if (HOME[first] !== ROOT && !sites.some((site) => HOME[site] === ROOT)) {
    app.get(ROOT, (_request, reply) => reply.headers(PAGE_HEADERS).redirect(HOME[first]));
  }
  for (const [path, file] of files.assets) {
    app.get(path, (request, reply) => sendFile(request, reply, file, IMMUTABLE));
  }
  done();
};

export type Handle = (request: FastifyRequest, reply: FastifyReply) => FastifyReply;

function documentOf(file: PageFile | undefined): Handle {
  if (file !== undefined) return (request, reply) => sendFile(request, reply, file, REVALIDATED);
  return (_request, reply) =>
    reply
      .code(503)
      .headers({ ...PAGE_HEADERS, 'cache-control': 'no-store', 'content-type': 'text/html; charset=utf-8' })
      .send(NOT_BUILT);
}

function sendFile(request: FastifyRequest, reply: FastifyReply, file: PageFile, caching: string): FastifyReply {
  const accepted = acceptedEncodings(request.headers['accept-encoding']);
  const form = file.forms.find(({ encoding }) => encoding === 'identity' || accepted.has(encoding));
  const etag = `"${file.etag}${form === undefined || form.encoding === 'identity' ? '' : `-${form.encoding}`}"`;
  reply.headers({ ...PAGE_HEADERS, 'cache-control': caching, etag, vary: 'accept-encoding' });
  if (isKnown(request, etag)) return reply.code(304).send();
  if (form !== undefined && form.encoding !== 'identity') reply.header('content-encoding', form.encoding);
  return reply.header('content-type', file.mediaType).send(form?.bytes);
}

/** The encodings that a client names and does not refuse (`;q=0`). */
function acceptedEncodings(header: string | string[] | undefined): ReadonlySet<string> {
  const parts = String(header ?? '').split(',');
  const accepted = parts.flatMap((part) => {
    const [name = '', ...parameters] = part.split(';').map((text) => text.trim().toLowerCase());
    return parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter)) ? [] : [name];
  });
  return new Set(accepted);
}

export const docsRoutes: FastifyPluginCallback<{ readonly files: PageFiles | undefined }> = (app, { files }, done) => {
  const { url, config = {} } = routeOf(getDocs);
  const handle = documentOf(files?.document('docs'));
  app.route({ method: 'GET', url, config, handler: handle });
  app.get(`${url}/`, handle);
  for (const [path, file] of files?.assets ?? []) {
    app.get(`${url}${path}`, (request, reply) => sendFile(request, reply, file, IMMUTABLE));
  }
  done();
};
