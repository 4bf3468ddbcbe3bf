/**
 * The older routes at the root of a node. They have an envelope for every answer, errors included, and keep answers by
 * `x-cache-id`; a node mounts those of its role, and `debug_data` always (decision E8).
 */

import type { FastifyInstance, FastifyPluginCallback, FastifyReply, FastifyRequest } from 'fastify';
import { sha3Hex } from '../../../crypto/sha3.js';
import { TesseraError } from '../../../lib/errors.js';
import { addJsonBodyParser, JSON_MEDIA_TYPE } from '../../http/json.js';
import { LazyList } from '../../http/lazy-list.js';
import { problemHeaders } from '../../http/problem.js';
import type { Router } from '../../http/route.js';
import type { Operation } from '../../operation.js';
import type { ApiModules, EnvelopeOptions } from '../../options.js';
import { requireMempool, requireStorage } from '../require.js';
import { readEntries } from '../storage/read-entries.js';
import {
  blockPair,
  blocksOf,
  createdItem,
  createdTransactions,
  entryTuple,
  fetchedBalances,
  latestBlock,
  singleEntry,
} from './contents.js';
import { cacheIdOf, errorEnvelope, successEnvelope } from './envelope.js';
import { createIdempotencyCache } from './idempotency.js';
import {
  getDebugData,
  postBlockByNum,
  postBlockchainEntry,
  postCreateItemAsset,
  postCreateTransactions,
  postFetchBalance,
  postIssuedSupply,
  postLatestBlock,
  postTotalSupply,
} from './operations.js';
import { readAddresses, readBlockNumbers, readItemCreation, readKeys, readTransactions } from './requests.js';

export interface EnvelopeRoutes {
  readonly router: Router;
  readonly options: EnvelopeOptions & { readonly batch: number };
  readonly roles: { readonly mempool: boolean; readonly storage: boolean };
  readonly modules: Pick<ApiModules, 'clock' | 'node' | 'mempool' | 'storage'>;
  readonly onError: (error: unknown, request: FastifyRequest, reply: FastifyReply) => void;
}

const RETRIEVED = 'Database item(s) successfully retrieved';

/** Mounts a route: its reason in an answer, and what makes its content from a body. */
type Serve = (operation: Operation, reason: string, content: (body: unknown) => unknown) => void;

export const envelopePlugin: FastifyPluginCallback<EnvelopeRoutes> = (app, routes, done) => {
  addJsonBodyParser(app, true);
  app.decorateRequest('rawBody', null);
  app.setErrorHandler(routes.onError);

  const served: string[] = [];
  const serve = createServe(app, routes, served);
  if (routes.roles.mempool) serveMempool(serve, routes);
  if (routes.roles.storage) serveStorage(serve, routes);
  serve(getDebugData, 'Debug data successfully retrieved', () => debugData(routes, served));
  done();
};

/** Answers with an error in envelope form. */
export function sendEnvelopeError(reply: FastifyReply, error: TesseraError): FastifyReply {
  const { status, json } = errorEnvelope(error);
  return reply.code(status).headers(problemHeaders(error)).type(JSON_MEDIA_TYPE).send(json);
}

function createServe(app: FastifyInstance, { router, options, modules }: EnvelopeRoutes, served: string[]): Serve {
  const cache = createIdempotencyCache(
    { maxEntries: options.cacheEntries, ttlSeconds: options.cacheTtlSeconds },
    { clock: modules.clock },
  );
  return (operation, reason, content) => {
    const name = operation.path.slice(1);
    served.push(name);
    app.route({
      method: [operation.method, ...(operation.aliases ?? [])],
      url: operation.path,
      ...router.options(operation),
      async handler(request, reply) {
        const id = cacheIdOf(request.headers['x-cache-id'], options.requireCacheId);
        const answer = async () =>
          router.long.json(successEnvelope(id, reason, name, await content(request.body)), reply);
        const body = id === '' ? '' : sha3Hex(request.rawBody ?? '');
        const json = id === '' ? await answer() : await cache.run(id, name, body, answer);
        return reply.type(JSON_MEDIA_TYPE).send(json);
      },
    });
  };
}

function serveMempool(serve: Serve, { options, modules }: EnvelopeRoutes): void {
  const mempool = () => requireMempool(modules.mempool);
  serve(postCreateTransactions, 'Transaction/s successfully created', async (body) => {
    const service = mempool();
    return createdTransactions(await service.submit(readTransactions(body, options.batch)));
  });
  serve(postCreateItemAsset, 'Item asset(s) created', async (body) => {
    const service = mempool();
    return createdItem(await service.createItem(readItemCreation(body)));
  });
  serve(postFetchBalance, 'Balance successfully fetched', (body) => {
    const service = mempool();
    const addresses = readAddresses(body, options.batch);
    return fetchedBalances(addresses, service.balances(addresses));
  });
  serve(postIssuedSupply, 'Successfully fetched issued supply', () => mempool().supply().issued);
  serve(postTotalSupply, 'Successfully fetched total supply', () => mempool().supply().total);
}

function serveStorage(serve: Serve, { options, modules, router }: EnvelopeRoutes): void {
  const storage = () => requireStorage(modules.storage);
  serve(postLatestBlock, RETRIEVED, async () => {
    const latest = await storage().latest();
    if (latest === undefined) throw new TesseraError('no_blocks', 'No block stored yet.');
    return latestBlock(latest);
  });
  serve(postBlockByNum, RETRIEVED, async (body) => {
    const service = storage();
    const nums = readBlockNumbers(body, options.batch);
    const entries = await readEntries(nums, (num) => service.blockByNumber(num), router.long);
    if (options.blockByNum === 'pairs') return LazyList.of(entries, blockPair);
    return blocksOf(entries.filter((entry) => entry !== undefined));
  });
  serve(postBlockchainEntry, RETRIEVED, async (body) => {
    const service = storage();
    const keys = readKeys(body, options.batch);
    if (typeof keys !== 'string') {
      return LazyList.of(await readEntries(keys, (key) => service.entry(key), router.long), entryTuple);
    }
    const entry = await service.entry(keys);
    if (entry === undefined) throw new TesseraError('entry_not_found', 'no entry is stored under this key.');
    return singleEntry(entry);
  });
}

/** Decision E8. Peers are triples, and the names of routes have no slash. */
function debugData({ modules: { node } }: EnvelopeRoutes, served: readonly string[]) {
  const withoutSlash = Object.entries(node.routesPow).map(([route, pow]) => [route.replace(/^\//, ''), pow] as const);
  return {
    node_type: node.type(),
    node_api: served,
    node_peers: node.peers().map(({ address, node_type }) => [address, address, node_type]),
    routes_pow: new Map(withoutSlash),
  };
}
