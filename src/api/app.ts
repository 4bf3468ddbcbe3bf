/**
 * The HTTP app of a node, without listening: what all routes share, and the plugins of its roles. `createNode` gives it services
 * and calls `listen`; tests give it fakes and inject.
 */

import type { FastifyInstance } from 'fastify';
import { ApiKeys } from './http/api-key.js';
import { ErrorAnswers } from './http/error-answers.js';
import { RequestLog } from './http/request-log.js';
import { createServer } from './http/server.js';
import { addShared } from './http/shared.js';
import { docsRoutes } from './openapi/docs.js';
import { OPERATIONS } from './operations.js';
import type { ApiModules, ApiOptions } from './options.js';
import { pageRoutes } from './pages/pages.js';
import { common } from './plugins/common.js';
import { envelope } from './plugins/envelope.js';
import { apiKeysOptions, apiOf, sitesOf } from './roles.js';
import { devRoutes } from './routes/dev/handlers.js';
import { eventRoutes } from './routes/events/handlers.js';
import { toolRoutes } from './routes/tools/handlers.js';
import { services } from './services.js';

export type { ApiModules, ApiOptions } from './options.js';

/**
 * The app, ready to inject or listen. Throws `invalid_config` when the key options are not safe. `app.close()` ends
 * everything that it holds.
 */
export async function createApi(options: ApiOptions, modules: ApiModules): Promise<FastifyInstance> {
  const { roles, api } = options;
  const keys = modules.keys ?? new ApiKeys(apiKeysOptions(roles, api), OPERATIONS);
  const log = new RequestLog({ ...modules, sink: modules.requestLines });
  const errors = new ErrorAnswers({ ...modules, log, isOriginal: options.envelope.answers === 'original' });
  const app = createServer(options, modules, errors);
  app.setErrorHandler(errors.onError);
  app.setNotFoundHandler(errors.onNotFound);
  await addShared(app, options, { ...modules, log, keys });
  await app.register(services, { modules: modules.services ?? modules });
  await addRoutes(app, options, modules);
  await app.ready();
  return app;
}

/** Adds the plugins of the roles between those of every node. What several roles serve is there once. */
async function addRoutes(app: FastifyInstance, options: ApiOptions, modules: ApiModules): Promise<void> {
  const { roles, api } = options;
  const parts = { options, modules };
  const plugins = await Promise.all(roles.map((role) => apiOf(role).plugin()));
  app.register(common, parts);
  for (const plugin of plugins) app.register(plugin, parts);
  if (api.toolingEverywhere) app.register(toolRoutes);
  if (options.envelope.enabled) app.register(envelope, parts);
  if (modules.dev !== undefined) app.register(devRoutes, { dev: modules.dev });
  app.register(eventRoutes, { roles, modules });
  if (modules.pages !== undefined) app.register(pageRoutes, { sites: sitesOf(roles), files: modules.pages });
  app.register(docsRoutes, { files: modules.docs });
}
