/** Makes the HTTP API of a node from its configuration and services. */

import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { FastifyInstance } from 'fastify';
import { apiKeysOptions, createApi } from '../api/app.js';
import { ApiKeys, loadOrCreateApiKey } from '../api/http/api-key.js';
import { OPERATIONS } from '../api/operations.js';
import { PageFiles } from '../api/pages/page-files.js';
import { EventHub } from '../api/routes/events/event-hub.js';
import type { Config } from '../config/schema.js';
import type { NodeLogger } from '../observability/logger.js';
import { linkedPeers } from './node-links.js';
import { publishEvents } from './publish-events.js';
import type { Role, RoleContext } from './role.js';
import { readTlsFiles } from './tls-files.js';

const API_KEY_FILE = 'api-key';
/** Where the build puts the pages, from the sources as from the built program. */
const PAGES = fileURLToPath(new URL('../../dist/web/', import.meta.url));

export interface NodeApi {
  readonly app: FastifyInstance;
  readonly keys: ApiKeys;
}

export interface NodeApiModules {
  readonly context: RoleContext;
  readonly role: Role;
  readonly logger: NodeLogger;
  /** Why the node is not ready. */
  readonly readiness: () => readonly string[];
  /** Maximum number of sockets for the API. */
  readonly maxSockets: number;
}

/** Makes the API for the services of the role, without listening. Throws `invalid_config`. */
export async function createNodeApi(config: Config, modules: NodeApiModules): Promise<NodeApi> {
  const { context, role, logger, readiness } = modules;
  const { clock, random, network } = context;
  const tls = await readTlsFiles(config.api.tls);
  const keys = new ApiKeys(
    apiKeysOptions([config.node.role], { ...config.api, keys: await apiKeys(config, context) }),
    OPERATIONS,
  );
  const events = new EventHub({ epoch: clock.now() });
  publishEvents(events, role.services);
  const app = await createApi(
    {
      roles: [config.node.role],
      api: config.api,
      envelope: config.envelope,
      ...(tls === undefined ? {} : { tls }),
    },
    {
      ...role.services,
      logger,
      requestLines: logger.infoLines,
      metrics: context.metrics,
      clock,
      random,
      readiness,
      events,
      keys,
      pages: config.api.pages ? await PageFiles.load(PAGES) : undefined,
      node: { type: () => role.type, peers: () => linkedPeers(network), routesPow: {} },
    },
  );
  app.server.maxConnections = modules.maxSockets;
  return { app, keys };
}

/** The configured keys, or the node's own key (decision H3). */
export async function apiKeys(config: Config, context: RoleContext): Promise<Config['api']['keys']> {
  if (config.api.auth === 'open' || config.api.keys.length > 0) return config.api.keys;
  const path = join(context.dataDir.path, API_KEY_FILE);
  const key = await loadOrCreateApiKey(path, context.random);
  context.logger('api').info({ file: path }, `the API key of this node is in ${path}`);
  return [{ name: 'node', key }];
}
