/** What generators and testers need of every document in openapi/ (docs/openapi.md). */

import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { openApp, send } from '../support/api/app.js';

const FOLDER = fileURLToPath(new URL('../../openapi/', import.meta.url));
const SMALL = 2 ** 53;
const FORMATS = ['int32', 'int64', 'uint64'];

// biome-ignore lint/suspicious/noExplicitAny: a document is looked into at every depth
type Node = any;

/** Every object of the document, with its place. */
function* objectsIn(value: Node, place = ''): Generator<readonly [string, Node]> {
  if (typeof value !== 'object' || value === null) return;
  if (!Array.isArray(value)) yield [place, value];
  for (const [name, part] of Object.entries(value)) yield* objectsIn(part, `${place}/${name}`);
}

const found = (document: Node, fits: (node: Node, place: string) => boolean): string[] =>
  [...objectsIn(document)].filter(([place, node]) => fits(node, place)).map(([place]) => place);

const operationsIn = (document: Node): Node[] =>
  Object.values(document.paths).flatMap((item: Node) => Object.values(item));
const resolved = (document: Node, { $ref, ...rest }: Node): Node =>
  $ref === undefined
    ? rest
    : $ref
        .slice(2)
        .split('/')
        .reduce((part: Node, name: string) => part[name], document);

describe.each(readdirSync(FOLDER))('%s', (name) => {
  const document: Node = JSON.parse(readFileSync(`${FOLDER}${name}`, 'utf8'));

  it('says of every integer how large it may be', () => {
    const isVague = ({ type, format, maximum, $ref }: Node): boolean =>
      $ref === undefined && [type].flat().includes('integer') && !FORMATS.includes(format) && !(maximum < SMALL);
    expect(found(document, (node, place) => !place.includes('example') && isVague(node))).toEqual([]);
  });

  it('has no tuple that is closed by a schema that is false', () => {
    expect(found(document, ({ items }) => items === false)).toEqual([]);
  });

  it('names no schema as generators name what they make for an operation', () => {
    expect(
      Object.keys(document.components.schemas).filter((one) => /(?:Response|Responses|Params|Body)$/.test(one)),
    ).toEqual([]);
  });

  it('has no choice that generators take for one object with the members of all, no list of types but with null, and nothing that is only null', () => {
    const isObject = ({ $ref, type }: Node): boolean => (resolved(document, { $ref, type }).type ?? '') === 'object';
    expect(found(document, ({ anyOf }) => Array.isArray(anyOf) && anyOf.every(isObject))).toEqual([]);
    const isMixed = ({ type }: Node): boolean =>
      Array.isArray(type) && type.filter((one: string) => one !== 'null').length > 1;
    expect(found(document, (node, place) => !place.includes('example') && isMixed(node))).toEqual([]);
    expect(found(document, ({ type }, place) => type === 'null' && !/Of\/\d+$/.test(place))).toEqual([]);
  });

  it('has an example of each error, with the status under which it stands', () => {
    for (const { operationId, responses } of operationsIn(document)) {
      for (const [status, response] of Object.entries(responses)) {
        const [media] = Object.values(resolved(document, response).content ?? {}) as Node[];
        if (Number(status) < 400 || operationId === 'getReadiness') continue;
        const examples = [
          media.example,
          ...Object.values(media.examples ?? {}).map((one) => resolved(document, one).value),
        ];
        const values = examples.filter((value) => value !== undefined);
        expect([operationId, status, values.length > 0]).toEqual([operationId, status, true]);
        for (const value of values)
          if ('type' in value) expect([operationId, value.status]).toEqual([operationId, Number(status)]);
      }
    }
  });

  it('links operations of its own, by parameters that they have', () => {
    const operations = new Map(operationsIn(document).map((operation) => [operation.operationId, operation]));
    for (const operation of operations.values()) {
      for (const response of Object.values(operation.responses)) {
        for (const { operationId, parameters } of Object.values(resolved(document, response).links ?? {}) as Node[]) {
          const names = operations.get(operationId)?.parameters?.map((parameter: Node) => parameter.name);
          expect(names).toEqual(expect.arrayContaining(Object.keys(parameters)));
        }
      }
    }
  });
});

describe('the document that a node serves', () => {
  const securityOf = async (auth: 'keys' | 'open'): Promise<unknown> => {
    const app = await openApp('user', { api: { auth } });
    return (await send(app, { url: '/v1/openapi.json' })).body.paths['/v1/payments'].post.security;
  };

  it('asks for a key where the node does', async () => {
    expect(await securityOf('keys')).toEqual([{ api_key: [] }]);
    expect(await securityOf('open')).toEqual([{}, { api_key: [] }]);
  });

  it('says what the rules of its role ask for', async () => {
    const bodyOn = async (role: 'mempool' | 'user'): Promise<Node> =>
      (await send(await openApp(role), { url: '/v1/openapi.json' })).body.components.schemas.CreateItemRequest;
    expect((await bodyOn('mempool')).required).toEqual(expect.arrayContaining(['signature', 'public_key']));
    expect((await bodyOn('user')).required).toEqual(['genesis_hash_spec', 'item_amount']);
  });

  it('names the topics of its role, and the route refuses others', async () => {
    const app = await openApp('storage');
    const { body } = await send(app, { url: '/v1/openapi.json' });
    expect(body.paths['/v1/events'].get.parameters[0].schema.pattern).toBe('^(blocks)(,(blocks))*$');
    expect((await send(app, { url: '/v1/events?topics=wallet' })).status).toBe(400);
  });

  it('names limits of lists that the node checks', async () => {
    const app = await openApp('user', { api: { auth: 'open' } });
    expect((await send(app, { url: '/v1/wallet/movements?limit=1001' })).status).toBe(400);
    expect((await send(app, { url: '/v1/wallet/movements?limit=1000' })).status).toBe(200);
  });
});
