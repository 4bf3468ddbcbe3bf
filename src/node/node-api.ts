/** Makes an HTTP API from the configuration and the services of a node, or of several at one address. */

import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { FastifyInstance } from 'fastify';
import { createApi } from '../api/app.js';
import { ApiKeys, loadOrCreateApiKey } from '../api/http/api-key.js';
import { OPERATIONS } from '../api/operations.js';
import type { ApiModules } from '../api/options.js';
import { PageFiles } from '../api/pages/page-files.js';
import { apiKeysOptions } from '../api/roles.js';
import { devOperations } from '../api/routes/dev/operations.js';
import type { Config } from '../config/schema.js';
import type { Random } from '../lib/random.js';
import type { NodeRole } from '../lib/roles.js';
import type { NodeLogger } from '../observability/logger.js';
import { readTlsFiles } from './tls-files.js';

const API_KEY_FILE = 'api-key';
/** Folder where the build puts the pages; the same for the sources and the built program. */
const PAGES = fileURLToPath(new URL('../../dist/web/', import.meta.url));

export interface NodeApi {
  readonly app: FastifyInstance;
  readonly keys: ApiKeys;
}

export interface NodeApiOptions {
  readonly roles: readonly NodeRole[];
  readonly api: Config['api'];
  readonly envelope: Config['envelope'];
  /** The folder for the key that is made if none is configured. */
  readonly folder: string;
  readonly maxSockets: number;
}

export interface NodeApiModules extends Omit<ApiModules, 'docs' | 'keys' | 'logger' | 'pages' | 'requestLines'> {
  readonly logger: NodeLogger;
}

/** Makes the API, without listening. Throws `invalid_config`. */
export async function createNodeApi(options: NodeApiOptions, modules: NodeApiModules): Promise<NodeApi> {
  const { roles, api, envelope, maxSockets } = options;
  const tls = readTlsFiles(api.tls);
  const keys = keysOf(roles, { ...api, keys: await apiKeys(options, modules) });
  const docs = await PageFiles.load(PAGES);
  const pages = api.pages ? docs : undefined;
  const app = await createApi(
    { roles, api, envelope, ...(tls === undefined ? {} : { tls }) },
    { ...modules, keys, docs, pages, requestLines: modules.logger.infoLines },
  );
  app.server.maxConnections = maxSockets;
  return { app, keys };
}

/** The configured keys. Throws `invalid_config` when one allows what this node does not have. */
export function keysOf(roles: readonly NodeRole[], api: Config['api']): ApiKeys {
  // The routes of dev networks are known to every node: all nodes of a network have the same keys, though only its own address has the routes.
  return new ApiKeys(apiKeysOptions(roles, api), [...OPERATIONS, ...devOperations]);
}

/** The configured keys, or the key in the folder (decision H3). */
export async function apiKeys(
  { api, folder }: Pick<NodeApiOptions, 'api' | 'folder'>,
  { random, logger }: { readonly random: Random; readonly logger: NodeLogger },
): Promise<Config['api']['keys']> {
  if (api.auth === 'open' || api.keys.length > 0) return api.keys;
  const path = join(folder, API_KEY_FILE);
  const key = await loadOrCreateApiKey(path, random);
  logger.info({ file: path }, `the API key of this node is in ${path}`);
  return [{ name: 'node', key }];
}
