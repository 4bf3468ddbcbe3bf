/**
 * The page at /v1/docs, built from `web/docs`: the routes of this node, to read and to try. It reads `/v1/openapi.json`, and loads
 * its files from below its own path. It works offline: everything comes from the node itself.
 */

import type { FastifyPluginCallback } from 'fastify';
import { routeOf } from '../http/route.js';
import type { PageFiles } from '../pages/page-files.js';
import { documentOf, IMMUTABLE, sendFile } from '../pages/pages.js';
import { getDocs } from '../routes/common/operations.js';

export interface DocsRoutes {
  /** The built pages; without them the page says so. */
  readonly files: PageFiles | undefined;
}

export const docsRoutes: FastifyPluginCallback<DocsRoutes> = (app, { files }, done) => {
  const { url, config = {} } = routeOf(getDocs);
  const handle = documentOf(files?.document('docs'));
  app.route({ method: 'GET', url, config, handler: handle });
  app.get(`${url}/`, handle);
  for (const [path, file] of files?.assets ?? []) {
    app.get(`${url}${path}`, (request, reply) => sendFile(request, reply, file, IMMUTABLE));
  }
  done();
};
