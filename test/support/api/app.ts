/** Apps over fake services, closed when the test ends. */

import type { FastifyInstance } from 'fastify';
import { onTestFinished } from 'vitest';
import { createApi } from '../../../src/api/app.js';
import type { ApiModules, ApiOptions } from '../../../src/api/options.js';
import { parseExactJson } from '../../../src/lib/json.js';
import { silentLogger } from '../../../src/lib/logger.js';
import { systemRandom } from '../../../src/lib/random.js';
import type { NodeRole } from '../../../src/lib/roles.js';
import { noMetrics } from '../../../src/observability/metrics.js';
import { processorClock } from '../processor-clock.js';
import { type Calls, fakeMempool, fakeMiner, fakeStorage, fakeUser, fakeWallet } from './fakes.js';

export const API_KEY = 'test-key-0123456789';

const TYPES = { mempool: 'Mempool', storage: 'Storage', miner: 'Miner/User', user: 'User' } as const;

export const LIMITS = {
  bodyBytes: 2 * 1024 * 1024,
  batch: 1_000,
  queryValues: 100,
  connectionsPerAddress: 64,
  requestTimeoutMs: 30_000,
  keepAliveTimeoutMs: 72_000,
};

function apiOptions(roles: readonly NodeRole[], api: Partial<ApiOptions['api']> = {}): ApiOptions {
  return {
    roles,
    api: {
      host: '127.0.0.1',
      auth: 'keys',
      keys: [{ name: 'test', key: API_KEY }],
      cors: 'off',
      toolingEverywhere: false,
      openItemCreation: false,
      trustedProxies: [],
      limits: LIMITS,
      rateLimit: { enabled: false, perMinute: 600 },
      ...api,
    },
    envelope: {
      enabled: true,
      requireCacheId: false,
      walletRoutes: true,
      answers: 'contract',
      blockByNum: 'blocks',
      cacheEntries: 10_000,
      cacheTtlSeconds: 3_600,
    },
  };
}

export function apiModules(role: NodeRole | readonly NodeRole[], calls?: Calls): ApiModules {
  const roles = [role].flat();
  const has = (role: NodeRole): boolean => roles.includes(role);
  return {
    logger: silentLogger,
    clock: processorClock,
    random: systemRandom,
    metrics: noMetrics,
    node: {
      type: () => roles.map((role) => TYPES[role]).join('/'),
      peers: () => [{ address: '127.0.0.1:12330', node_type: 'Storage' }],
      routesPow: {},
    },
    readiness: () => [],
    ...(has('mempool') ? { mempool: fakeMempool(calls) } : {}),
    ...(has('storage') ? { storage: fakeStorage(calls) } : {}),
    ...(has('miner') ? { miner: fakeMiner() } : {}),
    ...(has('miner') || has('user') ? { wallet: fakeWallet(calls), user: fakeUser(calls) } : {}),
  };
}

export interface AppSetup {
  readonly api?: Partial<ApiOptions['api']>;
  readonly envelope?: Partial<ApiOptions['envelope']>;
  readonly modules?: Partial<ApiModules>;
  readonly calls?: Calls | undefined;
}

/** An app of that role, or of several, with defaults for what is not given. */
export async function buildApp(
  role: NodeRole | readonly NodeRole[],
  { api, envelope, modules, calls }: AppSetup = {},
): Promise<FastifyInstance> {
  const roles = [role].flat();
  const options = apiOptions(roles, api);
  return createApi(
    { ...options, envelope: { ...options.envelope, ...envelope } },
    { ...apiModules(roles, calls), ...modules },
  );
}

/** As `buildApp`, closed at the end of the test. */
export async function openApp(role: NodeRole | readonly NodeRole[], setup: AppSetup = {}): Promise<FastifyInstance> {
  const app = await buildApp(role, setup);
  onTestFinished(() => app.close());
  return app;
}

export interface Sent {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly text: string;
  /** The body, parsed exactly. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  readonly body: any;
}

export interface Request {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE' | 'HEAD' | 'OPTIONS' | 'PATCH';
  readonly url: string;
  /** Sent as JSON with exact integers. A string or Buffer is sent as it is. */
  readonly payload?: string | Buffer;
  readonly headers?: Record<string, string>;
}

/** Injects a request; a payload gets the JSON content type unless the headers name one. */
export async function send(
  app: FastifyInstance,
  { method = 'GET', url, payload, headers = {} }: Request,
): Promise<Sent> {
  const response = await app.inject({
    method,
    url,
    headers: payload === undefined ? headers : { 'content-type': 'application/json', ...headers },
    ...(payload === undefined ? {} : { payload }),
  });
  const type = String(response.headers['content-type'] ?? '');
  return {
    status: response.statusCode,
    headers: response.headers,
    text: response.body,
    body: type.includes('json') && response.body !== '' ? parseExactJson(response.body) : undefined,
  };
}
