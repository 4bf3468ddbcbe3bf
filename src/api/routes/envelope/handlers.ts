/**
 * The older routes at the root of a node. Every answer, errors included, is in an envelope, and answers are kept by
 * `x-cache-id`. A node mounts the routes of its roles, and always `debug_data` (decision E8).
 */

import type { FastifyInstance, FastifyPluginCallback } from 'fastify';
import { sha3Hex } from '../../../crypto/sha3.js';
import { TesseraError } from '../../../lib/errors.js';
import { addressGroup } from '../../../lib/ip-address.js';
import { clientAddress } from '../../http/client-address.js';
import { addJsonBodyParser, JSON_MEDIA_TYPE } from '../../http/json.js';
import { LazyList } from '../../http/lazy-list.js';
import { PlannedAnswer } from '../../http/long-answers.js';
import { routeOf } from '../../http/route.js';
import type { Operation } from '../../operation.js';
import type { ApiModules, EnvelopeOptions, NodeInfo } from '../../options.js';
import { balanceAnswer } from '../mempool/balance-answer.js';
import { readTransactions } from '../mempool/read-transactions.js';
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
import { cacheIdOf, successEnvelope } from './envelope.js';
import { IdempotencyCache } from './idempotency.js';
import { commonEnvelopes, type EnvelopeOperation, type mempoolEnvelopes, type storageEnvelopes } from './operations.js';
import { readAddresses, readBlockNumbers, readItemCreation, readKeys, transactionsOf } from './requests.js';

export interface EnvelopeRoutes {
  readonly options: EnvelopeOptions & { readonly batch: number };
  /** Operations of the roles of the node. */
  readonly operations: readonly EnvelopeOperation[];
  readonly modules: Pick<ApiModules, 'clock' | 'node' | 'keptAnswers'>;
}

const RETRIEVED = 'Database item(s) successfully retrieved';

/** A reason for people, and a function that makes the content of an answer from a body. */
type Content = readonly [reason: string, content: (body: unknown, sender: string) => unknown];
/** One for each operation of a group; a missing one is a type error. */
type Contents<Group extends readonly Operation[]> = { readonly [Id in Group[number]['id']]: Content };

export const envelopeRoutes: FastifyPluginCallback<EnvelopeRoutes> = (app, { options, operations, modules }, done) => {
  addJsonBodyParser(app, true);
  app.decorateRequest('rawBody', null);
  const cache = modules.keptAnswers ?? IdempotencyCache.of(options, modules);
  const served = [...operations, ...commonEnvelopes];
  const contents: Readonly<Record<EnvelopeOperation['id'], Content>> = {
    ...mempoolContents(app, options),
    ...storageContents(app, options),
    envelopeDebugData: ['Debug data successfully retrieved', () => debugData(modules.node, served.map(nameOf))],
  };
  for (const operation of served) {
    addRoute(app, operation, contents[operation.id], { cache, requireCacheId: options.requireCacheId });
  }
  done();
};

/** The name of a route in its envelopes. */
function nameOf({ path }: Operation): string {
  return path.slice(1);
}

function addRoute(
  app: FastifyInstance,
  operation: Operation,
  [reason, contentOf]: Content,
  { cache, requireCacheId }: { readonly cache: IdempotencyCache; readonly requireCacheId: boolean },
): void {
  const name = nameOf(operation);
  app.route({
    ...routeOf(operation),
    async handler(request, reply) {
      const id = cacheIdOf(request.headers['x-cache-id'], requireCacheId);
      const envelope = (content: unknown) => successEnvelope(id, reason, name, content);
      const answer = async () => {
        const content = await contentOf(request.body, addressGroup(clientAddress(request)));
        const whole = content instanceof PlannedAnswer ? content.within(envelope) : envelope(content);
        return app.longAnswers.json(whole, reply, !operation.long);
      };
      const body = id === '' ? '' : sha3Hex(request.rawBody ?? '');
      const json = id === '' ? await answer() : await cache.run(id, name, body, answer);
      return reply.type(JSON_MEDIA_TYPE).send(json);
    },
  });
}

type Options = EnvelopeRoutes['options'];

function mempoolContents({ services, slices }: FastifyInstance, { batch }: Options): Contents<typeof mempoolEnvelopes> {
  return {
    envelopeCreateTransactions: [
      'Transaction/s successfully created',
      async (body, sender) => {
        const { mempool } = services;
        const { list, placeOf } = transactionsOf(body, batch);
        return createdTransactions(
          await mempool.submit(await readTransactions(list, placeOf, () => slices.turn(sender)), sender),
        );
      },
    ],
    envelopeCreateItemAsset: [
      'Item asset(s) created',
      async (body, sender) => createdItem(await services.mempool.createItem(readItemCreation(body), sender)),
    ],
    envelopeFetchBalance: [
      'Balance successfully fetched',
      (body) => {
        const { mempool } = services;
        const addresses = readAddresses(body, batch);
        return balanceAnswer(mempool, addresses, (balances) => fetchedBalances(addresses, balances));
      },
    ],
    envelopeIssuedSupply: ['Successfully fetched issued supply', () => services.mempool.supply().issued],
    envelopeTotalSupply: ['Successfully fetched total supply', () => services.mempool.supply().total],
  };
}

function storageContents(
  { services, longAnswers }: FastifyInstance,
  { batch, blockByNum }: Options,
): Contents<typeof storageEnvelopes> {
  return {
    envelopeLatestBlock: [
      RETRIEVED,
      async () => {
        const latest = await services.storage.latest();
        if (latest === undefined) throw new TesseraError('no_blocks', 'No block stored yet.');
        return latestBlock(latest);
      },
    ],
    envelopeBlockByNum: [
      RETRIEVED,
      async (body) => {
        const { storage } = services;
        const nums = readBlockNumbers(body, batch);
        const entries = await readEntries(nums, (num) => storage.blockAt(num), longAnswers);
        if (blockByNum === 'pairs') return LazyList.of(entries, blockPair);
        return blocksOf(entries.filter((entry) => entry !== undefined));
      },
    ],
    envelopeBlockchainEntry: [
      RETRIEVED,
      async (body) => {
        const { storage } = services;
        const keys = readKeys(body, batch);
        if (typeof keys !== 'string') {
          return LazyList.of(await readEntries(keys, (key) => storage.entry(key), longAnswers), entryTuple);
        }
        const entry = await storage.entry(keys);
        if (entry === undefined) throw new TesseraError('entry_not_found', 'no entry is stored under this key.');
        return singleEntry(entry);
      },
    ],
  };
}

/** Decision E8. Peers are triples, and the names of routes have no slash. */
function debugData(node: NodeInfo, served: readonly string[]) {
  const withoutSlash = Object.entries(node.routesPow).map(([route, pow]) => [route.replace(/^\//, ''), pow] as const);
  return {
    node_type: node.type(),
    node_api: served,
    node_peers: node.peers().map(({ address, node_type }) => [address, address, node_type]),
    routes_pow: new Map(withoutSlash),
  };
}
