/** The OpenAPI documents: made from the operations, clean, complete, and with examples that work. */

import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { TSchema } from '@sinclair/typebox';
import { describe, expect, it } from 'vitest';
import { createChecker } from '../../src/api/http/validator.js';
import { openApiDocument, openApiFiles } from '../../src/api/openapi/document.js';
import type { Operation } from '../../src/api/operation.js';
import { OPERATIONS, operationsOf } from '../../src/api/operations.js';
import { rolesOf } from '../../src/api/roles.js';
import { stringifyExact } from '../../src/lib/json.js';
import type { NodeRole } from '../../src/lib/roles.js';
import { API_KEY, LIMITS, openApp, send } from '../support/api/app.js';

const ROLES: readonly NodeRole[] = ['mempool', 'storage', 'miner', 'user'];
const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const ALL: readonly Operation[] = OPERATIONS;

/** The names of the contract's resources; those that end in `Response` there end in `Answer` (docs/openapi.md#clients-from-generators). */
const NAMES = [
  'ApiAsset',
  'ApiProblem',
  'BalancesAnswer',
  'BlockchainEntryAnswer',
  'BlockchainItemMetaAnswer',
  'CreateTransaction',
  'CreateTransactionsAnswer',
  'CreateTxIn',
  'CreateTxInScript',
  'DebugData',
  'JsonSerializedTransaction',
  'KeypairsAnswer',
  'LatestBlockAnswer',
  'OutgoingTxsAnswer',
  'PaymentAcceptedAnswer',
  'PeerInfo',
  'PrettyStackEntry',
  'TxOutputSummary',
  'TxStatusAnswer',
  'TxStatusTypeAnswer',
  'WalletInfoAnswer',
];

interface Named {
  readonly description?: string;
  readonly examples?: readonly unknown[];
}

const whole = openApiDocument(OPERATIONS) as unknown as {
  readonly openapi: string;
  readonly paths: Record<string, Record<string, { operationId: string; summary: string; security: unknown[] }>>;
  readonly components: { readonly schemas: Record<string, Named>; readonly securitySchemes: Record<string, unknown> };
};

describe('the documents in openapi/', () => {
  it.each(openApiFiles())('$name is made from the operations (npm run openapi writes it)', async ({ name, text }) => {
    expect(await readFile(`${ROOT}openapi/${name}`, 'utf8')).toBe(text);
  });

  it('have nothing that redocly finds fault with', async () => {
    const { stderr } = await promisify(execFile)(
      process.execPath,
      [`${ROOT}node_modules/@redocly/cli/bin/cli.js`, 'lint'],
      {
        cwd: ROOT,
        env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
      },
    );
    expect(stderr).toContain('Your API descriptions are valid');
    expect(stderr).not.toMatch(/\d+ (warning|problem)/);
  });
});

describe('the document of the whole API', () => {
  it('is OpenAPI 3.1 with the key scheme of the contract', () => {
    expect(whole.openapi).toBe('3.1.0');
    expect(whole.components.securitySchemes).toMatchObject({
      api_key: { type: 'apiKey', in: 'header', name: 'x-api-key' },
    });
  });

  it('names the schemas as the contract does', () => {
    expect(Object.keys(whole.components.schemas)).toEqual(expect.arrayContaining(NAMES));
  });

  it('describes every schema and gives an example of it', () => {
    const bare = Object.entries(whole.components.schemas).filter(
      ([, { description, examples }]) => !description || !examples?.length,
    );
    expect(bare.map(([name]) => name)).toEqual([]);
  });

  it('gives each operation one id and a summary', () => {
    const entries = Object.values(whole.paths).flatMap((path) => Object.values(path));
    const ids = entries.map(({ operationId }) => operationId);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { summary } of entries) expect(summary.length).toBeGreaterThan(10);
  });

  it('marks the protected operations', () => {
    // The event stream asks for a key for one of its topics only.
    for (const { path, method, apiKey } of ALL.filter(({ events }) => events === undefined)) {
      const entry = whole.paths[path]?.[method.toLowerCase()];
      expect([path, entry?.security]).toEqual([path, apiKey ? [{ api_key: [] }] : []]);
    }
  });
});

describe('examples', () => {
  const named = new Map<string, TSchema>();
  const collect = (schema: unknown): void => {
    if (typeof schema !== 'object' || schema === null) return;
    const { $id } = schema as TSchema;
    if (typeof $id === 'string') named.set($id, schema as TSchema);
    for (const part of Object.values(schema)) collect(part);
  };
  for (const operation of ALL) collect(operation);

  it.each([...named])('of %s are valid', (_name, schema) => {
    const check = createChecker(schema);
    for (const example of (schema.examples ?? []) as unknown[]) expect(check(example)).toBeUndefined();
  });

  const withBody = ALL.filter(({ body }) => body !== undefined);
  it.each(withBody.flatMap((operation) => rolesOf(operation).map((role) => [operation.id, role] as const)))(
    'of the body of %s are accepted by a %s node',
    async (id, role) => {
      const operation = withBody.find((one) => one.id === id);
      if (operation?.body === undefined) throw new Error(`no operation ${id}`);
      const app = await openApp(role);
      for (const example of operation.body.schema.examples as unknown[]) {
        const sent = await send(app, {
          method: operation.method,
          url: operation.path,
          payload: stringifyExact(example),
          headers: { 'x-api-key': API_KEY },
        });
        // Its passphrases are made up, and so are the keys of its entries.
        const expected = [
          'createPayment',
          'createItemPayment',
          'offerTrade',
          'acceptTrade',
          'changePassphrase',
          'envelopeMakePayment',
          'envelopeMakeIpPayment',
          'envelopeBlockchainEntry',
        ].includes(id);
        if (!expected) expect([id, sent.status < 300, sent.text]).toEqual([id, true, sent.text]);
        expect(sent.body?.code).not.toBe('invalid_request');
      }
    },
  );
});

describe('GET /v1/openapi.json (decision H9)', () => {
  it.each(ROLES)('describes exactly what a %s node mounts', async (role) => {
    const app = await openApp(role);
    const { body } = await send(app, { url: '/v1/openapi.json' });
    const described = Object.entries<object>(body.paths).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
    );
    const served = operationsOf(role).flatMap(({ method, aliases = [], path }) =>
      [method, ...aliases].map((one) => `${one} ${path}`),
    );
    expect(described.sort()).toEqual([...served].sort());
  });

  it('names the configured limits', async () => {
    const app = await openApp('mempool', { api: { limits: { ...LIMITS, batch: 7, queryValues: 5 } } });
    const { body } = await send(app, { url: '/v1/openapi.json' });
    expect(body.components.schemas.BalancesQueryRequest.properties.addresses.maxItems).toBe(7);
    expect(body.paths['/v1/balances'].get.parameters[0].schema.maxItems).toBe(5);
    const sent = await send(app, { url: `/v1/balances?${'address=a&'.repeat(6)}` });
    expect([sent.status, sent.body.detail]).toEqual([400, expect.stringContaining('5')]);
  });

  it('has a name, so that it is not sent twice', async () => {
    const app = await openApp('mempool');
    const { headers } = await send(app, { url: '/v1/openapi.json' });
    const again = await send(app, { url: '/v1/openapi.json', headers: { 'if-none-match': String(headers.etag) } });
    expect(again.status).toBe(304);
  });
});

describe('what a node answers', () => {
  it.each(ROLES)('names in Allow the methods that are described, and HEAD: %s', async (role) => {
    const app = await openApp(role);
    const { body } = await send(app, { url: '/v1/openapi.json' });
    const paths = Object.entries(body.paths as typeof whole.paths);
    expect(paths.length).toBeGreaterThan(5);
    for (const [path, item] of paths) {
      const url = path.replaceAll(/\{\w+\}/g, '1');
      const { headers } = await send(app, { method: 'OPTIONS', url });
      const allowed = String(headers.allow).toLowerCase().split(', ');
      expect([path, allowed.filter((method) => method !== 'head').sort()]).toEqual([path, Object.keys(item).sort()]);
    }
  });
});
