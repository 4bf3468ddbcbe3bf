/**
 * One server of the API benchmark, in a process of its own: `bare` sends the same bytes from plain Fastify routes, any
 * other word is the role of a real app over services that answer at once. The app is the compiled one: tsx wraps every
 * closure, which costs as much as the routes themselves. It does what its parent says (`contest.ts`).
 */

import { openSync, writeSync } from 'node:fs';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { MempoolService } from '../src/mempool/service.js';
import { blockEntry, DEBUG_BYTES, NODE_INFO, SUPPLY, SUPPLY_BYTES } from './api-data.js';
import { obey } from './contest.js';

const JSON_TYPE = 'application/json; charset=utf-8';
const LIMITS = {
  bodyBytes: 2 ** 21,
  batch: 1_000,
  queryValues: 100,
  connectionsPerAddress: 64,
  requestTimeoutMs: 30_000,
  keepAliveTimeoutMs: 72_000,
};

function bare(): FastifyInstance {
  const app = Fastify({ logger: false });
  const sends = (bytes: Buffer) => (_request: FastifyRequest, reply: FastifyReply) =>
    reply.header('content-type', JSON_TYPE).send(bytes);
  app.get('/v1/supply', sends(SUPPLY_BYTES));
  app.get('/v1/debug', sends(DEBUG_BYTES));
  app.get('/v1/blocks/:num', sends(blockEntry().json));
  app.post('/v1/transactions', (_request, reply) =>
    reply.code(201).header('content-type', JSON_TYPE).send(SUPPLY_BYTES),
  );
  return app;
}

/** A mempool that answers at once: what is left is the price of HTTP, JSON and the parser of transactions. */
function instantMempool(): MempoolService {
  const hash = `g${'1'.repeat(31)}`;
  return {
    submit: async (transactions) => transactions.map((transaction) => ({ hash, transaction })),
    supply: () => SUPPLY,
  } as Partial<MempoolService> as MempoolService;
}

async function node(role: 'mempool' | 'storage'): Promise<FastifyInstance> {
  const built = <T>(path: string): Promise<T> => import(new URL(`../dist/${path}`, import.meta.url).href);
  const { createApi } = await built<typeof import('../src/api/app.js')>('api/app.js');
  const { systemClock } = await built<typeof import('../src/lib/clock.js')>('lib/clock.js');
  const { systemRandom } = await built<typeof import('../src/lib/random.js')>('lib/random.js');
  const { noMetrics } = await built<typeof import('../src/observability/metrics.js')>('observability/metrics.js');
  const { silentLogger } = await built<typeof import('../src/lib/logger.js')>('lib/logger.js');
  const nowhere = openSync('/dev/null', 'w');
  const entry = blockEntry();
  return createApi(
    {
      roles: [role],
      api: {
        host: '127.0.0.1',
        auth: 'keys',
        keys: [],
        cors: 'off',
        toolingEverywhere: false,
        openItemCreation: false,
        trustedProxies: [],
        limits: LIMITS,
        rateLimit: { enabled: false, perMinute: 600 },
      },
      envelope: {
        enabled: true,
        requireCacheId: false,
        walletRoutes: false,
        answers: 'contract',
        blockByNum: 'blocks',
        cacheEntries: 10_000,
        cacheTtlSeconds: 3_600,
      },
    },
    {
      logger: silentLogger,
      requestLines: { write: (text) => writeSync(nowhere, text) },
      clock: systemClock,
      random: systemRandom,
      metrics: noMetrics,
      node: NODE_INFO,
      readiness: () => [],
      mempool: instantMempool(),
      storage: {
        blockAt: async () => entry,
        entry: async () => entry,
        latest: async () => undefined,
        item: async () => undefined,
      },
    },
  );
}

const kind = process.argv[2] ?? 'bare';
const app = kind === 'bare' ? bare() : await node(kind === 'mempool' ? 'mempool' : 'storage');
obey(await app.listen({ host: '127.0.0.1', port: 0 }), () => app.close());
