/**
 * The page at /v1/docs: Swagger UI with the document of this node. It works offline: everything comes from the node itself,
 * and the page may load nothing from elsewhere.
 */

import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { FastifyPluginAsync } from 'fastify';
import { stringifyExact } from '../../lib/json.js';
import type { Operation } from '../operation.js';
import { getDocs } from '../routes/common/operations.js';
import type { openApiDocument } from './document.js';

export interface DocsRoutes {
  readonly describe: (operations: readonly Operation[]) => ReturnType<typeof openApiDocument>;
}

const CONTENT_SECURITY_POLICY = [
  "default-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "img-src 'self' data:",
  "object-src 'none'",
  "script-src 'self'",
  // Swagger UI sets style attributes on its own elements.
  "style-src 'self' 'unsafe-inline'",
].join('; ');

export const docsRoutes: FastifyPluginAsync<DocsRoutes> = async (app, { describe }) => {
  app.operations.add(getDocs);
  // Swagger UI reads it with JSON.parse anyway, so integers may be numbers here.
  const document: unknown = JSON.parse(stringifyExact(describe([...app.operations])));
  await app.register(swagger, { mode: 'static', specification: { document: document as never } });
  await app.register(swaggerUi, {
    routePrefix: getDocs.path,
    staticCSP: CONTENT_SECURITY_POLICY,
    uiConfig: { deepLinking: true, tryItOutEnabled: true, displayRequestDuration: true, validatorUrl: null },
    theme: { title: 'Node REST API' },
  });
};
