/** The older routes at the root of a node: answers in envelopes, kept by `x-cache-id`, and always `debug_data` (decision E8). */

import type { FastifyInstance, FastifyPluginCallback, FastifyReply, FastifyRequest } from 'fastify';
import type { Transaction } from '../../../chain/types.js';
import { sha3Hex } from '../../../crypto/sha3.js';
import { isTesseraError, TesseraError } from '../../../lib/errors.js';
import { addressGroup } from '../../../lib/ip-address.js';
import type { MempoolService } from '../../../mempool/service.js';
import { clientAddress } from '../../http/client-address.js';
import { addJsonBodyParser, JSON_MEDIA_TYPE } from '../../http/json.js';
import { LazyList, PlannedAnswer } from '../../http/long-answers.js';
import { routeOf } from '../../http/route.js';
import type { Operation } from '../../operation.js';
import type { ApiModules, EnvelopeOptions, NodeInfo } from '../../options.js';
import { isForWallet } from '../items/handlers.js';
import { balanceAnswer, itemCreationOf, readTransactions } from '../mempool/handlers.js';
import { createItem } from '../mempool/operations.js';
import { readEntries } from '../storage/handlers.js';
import { balanceView } from '../views.js';
import {
  blockPair,
  blocksOf,
  createdItem,
  createdTransactions,
  entryTuple,
  fetchedBalances,
  latestBlock,
  originalItem,
  originalLatest,
  originalTransactions,
  originalTuple,
  singleEntry,
} from './contents.js';
import { cacheIdOf, successEnvelope } from './envelope.js';
import { IdempotencyCache } from './idempotency.js';
import { commonEnvelopes, type EnvelopeOperation, type mempoolEnvelopes, type storageEnvelopes } from './operations.js';
import { readAddresses, readBlockNumbers, readItem, readKeys, transactionsOf } from './requests.js';
import type { OlderOperation } from './wallet-operations.js';

export interface EnvelopeRoutes {
  readonly options: EnvelopeOptions & { readonly batch: number };
  readonly operations: readonly (EnvelopeOperation | OlderOperation)[];
  readonly modules: Pick<ApiModules, 'clock' | 'node' | 'keptAnswers'>;
}

const RETRIEVED = 'Database item(s) successfully retrieved';

/** A reason for people, and a function that makes the content of an answer; `status` is `Success` by default. */
type Content = readonly [
  reason: string,
  content: (request: FastifyRequest, sender: string, reply: FastifyReply) => unknown,
  status?: 'InProgress' | undefined,
];
/** The contents for each operation of a group; a missing one is a type error. */
type Contents<Group extends readonly Operation[]> = { readonly [Id in Group[number]['id']]: Content };

export const envelopeRoutes: FastifyPluginCallback<EnvelopeRoutes> = (app, { options, operations, modules }, done) => {
  addJsonBodyParser(app, true);
  app.decorateRequest('rawBody', null);
  const cache = modules.keptAnswers ?? IdempotencyCache.of(options, modules);
  const served = [...new Set([...operations, ...commonEnvelopes])];
  const contents: Readonly<Record<EnvelopeOperation['id'], Content>> = {
    ...mempoolContents(app, options),
    ...storageContents(app, options),
    envelopeDebugData: [
      'Debug data successfully retrieved',
      () => debugData(modules.node, [...new Set(served.map(nameOf))]),
    ],
  };
  for (const operation of served) {
    const content = 'twin' in operation ? contentOfTwin(operation) : contents[operation.id];
    addRoute(app, operation, content, { cache, requireCacheId: options.requireCacheId });
  }
  done();
};

function nameOf({ path }: Operation): string {
  return path.split('/')[1] ?? '';
}

function addRoute(
  app: FastifyInstance,
  operation: Operation,
  [reason, contentOf, status]: Content,
  { cache, requireCacheId }: { readonly cache: IdempotencyCache; readonly requireCacheId: boolean },
): void {
  const name = nameOf(operation);
  app.route({
    ...routeOf(operation),
    async handler(request, reply) {
      const id = cacheIdOf(request.headers['x-cache-id'], requireCacheId);
      const envelope = (content: unknown) => successEnvelope(id, reason, name, content, status);
      const answer = async () => {
        const content = await contentOf(request, addressGroup(clientAddress(request)), reply);
        const whole = content instanceof PlannedAnswer ? content.within(envelope) : envelope(content);
        return app.longAnswers.json(whole, reply, !operation.long);
      };
      // Answers with private keys are not kept.
      const isKept = id !== '' && operation.secret !== true;
      const body = isKept ? sha3Hex(`${request.url}\n${sha3Hex(request.rawBody ?? '')}`) : '';
      const json = isKept ? await cache.run(id, name, body, answer) : await answer();
      return reply.type(JSON_MEDIA_TYPE).send(json);
    },
  });
}

function contentOfTwin({ twin, differences }: OlderOperation): Content {
  const { reason, asks, shows = (result: unknown) => result, fails, status } = differences;
  const content: Content[1] = async (request, _sender, reply) => {
    const { body, params } = request as { body: object; params: { part: string } };
    try {
      const result = await askTwin(twin, Object.assign(request, asks?.(body, params)), reply);
      return await shows(result, body, request);
    } catch (error) {
      const isRefused = isTesseraError(error, 'insufficient_funds') || isTesseraError(error, 'payment_refused');
      if (fails === undefined || !isRefused) throw error;
      return fails(error.message);
    }
  };
  return [reason, content, status];
}

/** The result of the twin under /v1. The `x-cache-id` is its idempotency key: a repetition pays only once, even after a restart. */
async function askTwin(twin: Operation, request: FastifyRequest, reply: FastifyReply): Promise<object> {
  const { headers, server } = request;
  if (twin.idempotencyKey && headers['x-cache-id']) headers['idempotency-key'] ??= headers['x-cache-id'];
  const result = await server.handlers.get(twin)?.(request, reply);
  reply.code(200);
  return Object(result);
}

type Options = EnvelopeRoutes['options'];

function mempoolContents(
  app: FastifyInstance,
  { batch, walletRoutes, answers }: Options,
): Contents<typeof mempoolEnvelopes> {
  const { services, slices } = app;
  const isOriginal = answers === 'original';
  return {
    envelopeCreateTransactions: [
      isOriginal ? 'Transaction(s) processing' : 'Transaction/s successfully created',
      async ({ body }, sender) => {
        const { mempool } = services;
        const { list, placeOf } = transactionsOf(body, batch);
        const transactions = await readTransactions(list, placeOf, () => slices.turn(sender));
        if (!isOriginal) return createdTransactions(await mempool.submit(transactions, sender));
        await submitGood(mempool, transactions, sender);
        return originalTransactions(transactions);
      },
    ],
    envelopeCreateItemAsset: [
      'Item asset(s) created',
      async (request, sender, reply) => {
        const item = readItem(request.body);
        if (walletRoutes && isForWallet(app, item)) {
          await askTwin(createItem, Object.assign(request, { body: item }), reply);
          return item.item_amount;
        }
        const created = await services.mempool.createItem(itemCreationOf(item), sender);
        return isOriginal ? originalItem(created) : createdItem(created);
      },
    ],
    envelopeFetchBalance: [
      'Balance successfully fetched',
      ({ body }) => {
        const { mempool } = services;
        const addresses = readAddresses(body, batch);
        return balanceAnswer(mempool, addresses, (balances) =>
          isOriginal ? balanceView(balances) : fetchedBalances(addresses, balances),
        );
      },
    ],
    envelopeIssuedSupply: ['Successfully fetched issued supply', () => services.mempool.supply().issued],
    envelopeTotalSupply: ['Successfully fetched total supply', () => services.mempool.supply().total],
  };
}

/** Refusals of a single transaction, for which the original node leaves it out of a list (decision E10). */
const REFUSED = ['transaction_rejected', 'double_spend', 'unknown_input', 'invalid_signature'] as const;

/** Admits the transactions of a list that the rules allow; throws a refusal when the rules allow none. */
async function submitGood(mempool: MempoolService, list: readonly Transaction[], sender: string): Promise<void> {
  try {
    await mempool.submit(list, sender);
  } catch (error) {
    if (list.length < 2 || !REFUSED.some((code) => isTesseraError(error, code))) throw error;
    let refusals = 0;
    for (const transaction of list) {
      await submitGood(mempool, [transaction], sender).catch((refusal) => {
        if (++refusals === list.length || !REFUSED.some((code) => isTesseraError(refusal, code))) throw refusal;
      });
    }
  }
}

function storageContents(
  { services, longAnswers }: FastifyInstance,
  { batch, blockByNum, answers }: Options,
): Contents<typeof storageEnvelopes> {
  const isOriginal = answers === 'original';
  return {
    envelopeLatestBlock: [
      RETRIEVED,
      async () => {
        const latest = await services.storage.latest();
        if (latest === undefined) throw new TesseraError('no_blocks', 'No block stored yet.');
        return isOriginal ? originalLatest(latest) : latestBlock(latest);
      },
    ],
    envelopeBlockByNum: [
      RETRIEVED,
      async ({ body }) => {
        const { storage } = services;
        const nums = readBlockNumbers(body, batch);
        const entries = await readEntries(nums, (num) => storage.blockAt(num), longAnswers);
        if (isOriginal) return LazyList.of(entries, originalTuple);
        if (blockByNum === 'pairs') return LazyList.of(entries, blockPair);
        return blocksOf(entries.filter((entry) => entry !== undefined));
      },
    ],
    envelopeBlockchainEntry: [
      RETRIEVED,
      async ({ body }) => {
        const { storage } = services;
        const keys = readKeys(body, batch);
        if (typeof keys !== 'string') {
          const entries = await readEntries(keys, (key) => storage.entry(key), longAnswers);
          return LazyList.of(entries, isOriginal ? originalTuple : entryTuple);
        }
        const entry = await storage.entry(keys);
        if (entry === undefined) throw new TesseraError('entry_not_found', 'no entry is stored under this key.');
        return singleEntry(entry);
      },
    ],
  };
}

/** The debug data (decision E8): peers are triples, and the names of routes have no slash. */
function debugData(node: NodeInfo, served: readonly string[]) {
  const withoutSlash = Object.entries(node.routesPow).map(([route, pow]) => [route.replace(/^\//, ''), pow] as const);
  return {
    node_type: node.type(),
    node_api: served,
    node_peers: node.peers().map(({ address, node_type }) => [address, address, node_type]),
    routes_pow: new Map(withoutSlash),
  };
}
