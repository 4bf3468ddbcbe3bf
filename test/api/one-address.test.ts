/**
 * Several roles at one address: every operation answers as at the address of its own role, and those that several roles have
 * answer as docs/adr/0035-one-address.md says. Made from the table of operations, so that a new one is held to it too.
 */

import { describe, expect, it, onTestFinished } from 'vitest';
import { membersOf, type Operation } from '../../src/api/operation.js';
import { OPERATIONS, operationsOf } from '../../src/api/operations.js';
import { rolesOf } from '../../src/api/roles.js';
import { EventHub } from '../../src/api/routes/events/event-hub.js';
import { parseExactJson, stringifyExact } from '../../src/lib/json.js';
import { NODE_ROLES, type NodeRole } from '../../src/lib/roles.js';
import { API_KEY, type AppSetup, openApp, type Request, send } from '../support/api/app.js';
import { ADDRESS, type Calls } from '../support/api/fakes.js';
import { ManualClock } from '../support/manual-clock.js';

const ALL: readonly Operation[] = OPERATIONS;
const SIGNED = {
  genesis_hash_spec: 'Create',
  item_amount: 1,
  public_key: 'ab'.repeat(32),
  script_public_key: ADDRESS,
  signature: 'cd'.repeat(64),
};
const UNSIGNED = { genesis_hash_spec: 'Create', item_amount: 1 };

/** On a clock of its own: a busy machine must not be taken for an overloaded node. */
const open = (roles: NodeRole | readonly NodeRole[], setup: AppSetup = {}) =>
  openApp(roles, { ...setup, modules: { clock: new ManualClock(), ...setup.modules } });

/** What an operation would get from a client that goes by its examples. */
function requestFor({ method, path, params, query, body }: Operation): Request {
  const example = (schema: { readonly examples?: unknown } | undefined): unknown =>
    (schema?.examples as readonly unknown[] | undefined)?.[0];
  const inPath = new Map(membersOf(params).map(({ name, schema }) => [name, String(example(schema) ?? 1)]));
  const named = membersOf(query).flatMap(({ name, schema, required }) => {
    const value = example(schema) ?? example(schema.items);
    return required && value !== undefined ? [`${name}=${encodeURIComponent(String(value))}`] : [];
  });
  const url = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(inPath.get(name) ?? '1'));
  return {
    method,
    url: named.length === 0 ? url : `${url}?${named.join('&')}`,
    headers: { 'x-api-key': API_KEY },
    ...(body === undefined ? {} : { payload: stringifyExact(example(body.schema) ?? {}) }),
  };
}

/** The role whose answer is given: of those that serve an operation, the user before the miner. */
function winnerOf(operation: Operation): NodeRole {
  const roles = rolesOf(operation);
  return roles.includes('user') ? 'user' : (roles[0] ?? 'user');
}

/** Asked of the node itself, or of more than one role. */
const OF_THE_ADDRESS = new Set(
  ALL.filter(
    (one) => rolesOf(one).length === NODE_ROLES.length || ['createItem', 'envelopeCreateItemAsset'].includes(one.id),
  ).map(({ id }) => id),
);

const paths = (operations: readonly Operation[]): string[] =>
  operations.flatMap(({ method, aliases = [], path }) => [method, ...aliases].map((one) => `${one} ${path}`)).sort();

describe('every operation', () => {
  // A stream of events does not end, so it cannot be injected.
  const each = ALL.filter(({ events, id }) => events === undefined && !OF_THE_ADDRESS.has(id));

  it.each(NODE_ROLES)('of a %s node answers as at its own address', async (role) => {
    const calls: { own: Calls; all: Calls } = { own: [], all: [] };
    const [own, all] = [await open(role, { calls: calls.own }), await open(NODE_ROLES, { calls: calls.all })];
    for (const operation of each.filter((one) => winnerOf(one) === role)) {
      const request = requestFor(operation);
      const [there, here] = [await send(own, request), await send(all, request)];
      expect([operation.id, here.status, here.text]).toEqual([operation.id, there.status, there.text]);
      expect([operation.id, here.body?.code]).not.toEqual([operation.id, 'not_found']);
    }
    expect(calls.all).toEqual(calls.own);
  });

  it('is closed there without a key, as it is at its own address', async () => {
    const app = await open(NODE_ROLES);
    for (const operation of ALL.filter(({ apiKey, twin }) => apiKey === true && twin === undefined)) {
      const sent = await send(app, { ...requestFor(operation), headers: {} });
      expect([operation.id, sent.status, sent.body.code]).toEqual([operation.id, 401, 'missing_api_key']);
    }
  });

  it('is in the document that the address serves, and no other', async () => {
    for (const roles of [NODE_ROLES, ['mempool', 'storage'], ['miner', 'user']] as const) {
      const app = await open(roles);
      const { body } = await send(app, { url: '/v1/openapi.json' });
      const described = Object.entries<object>(body.paths).flatMap(([path, item]) =>
        Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
      );
      expect(described.sort()).toEqual(paths(operationsOf(roles)));
      expect(body.info.title).toContain(roles.join(', '));
    }
    expect(paths(operationsOf(NODE_ROLES))).toEqual(paths(ALL));
  });

  it('has its path in the debug data of both families', async () => {
    const app = await open(NODE_ROLES);
    const debug = (await send(app, { url: '/v1/debug' })).body;
    const pathsOf = (family: string): string[] => [
      ...new Set(ALL.filter((one) => one.family === family).map(({ path }) => path)),
    ];
    expect([...debug.node_api].sort()).toEqual(pathsOf('v1').sort());
    const older = (await send(app, { url: '/debug_data' })).body.content;
    const names = new Set(pathsOf('envelope').map((path) => path.split('/')[1]));
    expect([...older.node_api].sort()).toEqual([...names].sort());
  });
});

describe('the creation of an item', () => {
  const create = async (roles: readonly NodeRole[], item: object, headers = {}, openItemCreation = false) => {
    const calls: Calls = [];
    const app = await open(roles, { calls, api: { openItemCreation } });
    const sent = await send(app, { method: 'POST', url: '/v1/items', payload: JSON.stringify(item), headers });
    return [sent.status, calls.map(({ args }) => Object.keys(args[0] as object).includes('signature'))];
  };
  const key = { 'x-api-key': API_KEY };

  it('is for the mempool node when the client has signed it, and else for the wallet', async () => {
    for (const roles of [NODE_ROLES, ['mempool', 'user'], ['mempool', 'miner']] as const) {
      expect(await create(roles, SIGNED, key)).toEqual([201, [true]]);
      expect(await create(roles, UNSIGNED, key)).toEqual([202, [false]]);
      // Signed in part is a mistake of a client that signs: the wallet must not take it for its own.
      expect(await create(roles, { ...UNSIGNED, signature: SIGNED.signature }, key)).toEqual([400, []]);
    }
    expect(await create(['miner', 'user'], SIGNED, key)).toEqual([202, [false]]);
    expect(await create(['mempool', 'storage'], UNSIGNED, key)).toEqual([400, []]);
  });

  it('takes an Idempotency-Key for the wallet only', async () => {
    expect(await create(NODE_ROLES, UNSIGNED, { ...key, 'idempotency-key': 'one' })).toEqual([202, [false]]);
    expect(await create(NODE_ROLES, SIGNED, { ...key, 'idempotency-key': 'one' })).toEqual([400, []]);
  });

  it('is opened by api.open_item_creation where the client signs, and never for the wallet', async () => {
    expect(await create(NODE_ROLES, SIGNED, {}, true)).toEqual([201, [true]]);
    expect(await create(NODE_ROLES, UNSIGNED, {}, true)).toEqual([401, []]);
    expect(await create(NODE_ROLES, UNSIGNED, { 'x-api-key': 'another-key-000000' }, true)).toEqual([401, []]);
    expect(await create(NODE_ROLES, UNSIGNED, key, true)).toEqual([202, [false]]);
    expect(await create(NODE_ROLES, SIGNED, {}, false)).toEqual([401, []]);
    expect(await create(['miner', 'user'], SIGNED, {}, true)).toEqual([401, []]);
  });
});

describe('the events', () => {
  it('of all roles are in one stream', async () => {
    const hub = new EventHub({ epoch: 1 });
    const app = await open(NODE_ROLES, { modules: { events: hub } });
    const url = await app.listen({ host: '127.0.0.1', port: 0 });
    const stop = new AbortController();
    onTestFinished(() => stop.abort());
    const answer = await fetch(`${url}/v1/events`, { headers: { 'x-api-key': API_KEY }, signal: stop.signal });
    for (const topic of ['blocks', 'transactions', 'wallet'] as const) hub.publish(topic, topic, { topic });
    const seen: unknown[] = [];
    const text = new TextDecoder();
    for await (const chunk of answer.body ?? []) {
      for (const [, data = ''] of text.decode(chunk).matchAll(/^data: (.+)$/gm)) seen.push(parseExactJson(data));
      if (seen.length >= 3) break;
    }
    expect(seen).toEqual([{ topic: 'blocks' }, { topic: 'transactions' }, { topic: 'wallet' }]);
  });

  it('of wallets need a key there too, and topics that nobody has are refused', async () => {
    const app = await open(NODE_ROLES);
    expect((await send(app, { url: '/v1/events' })).status).toBe(401);
    const two = await open(['mempool', 'storage']);
    const wrong = await send(two, { url: '/v1/events?topics=wallet' });
    expect([wrong.status, wrong.body.detail]).toEqual([400, expect.stringContaining('blocks and transactions')]);
  });
});
