/**
 * The source of `src/sdk/generated/operations.ts`, made from the operations: an interface for each schema with its descriptions as doc
 * comments, a method for each operation, and what the client needs to know of them when it runs, without any schema
 * (docs/adr/0036-client-library.md).
 */

import { isDeepStrictEqual } from 'node:util';
import type { TSchema } from '@sinclair/typebox';
import { isRead, membersOf, type Operation } from '../src/api/operation.js';
import { OPERATIONS } from '../src/api/operations.js';
import { rolesOf } from '../src/api/roles.js';
import { devOperations } from '../src/api/routes/dev/operations.js';
import { streamEvents } from '../src/api/routes/events/operations.js';

/** Where 64-bit integers are in an answer: here, or in members; `*` is every other member or element. */
type Shape = 1 | { readonly [member: string]: Shape };

const HEADER = `/**
 * What a node does, as types. Made from the operations of the API by \`npm run openapi\`: change those, not this file. Integers of
 * 64 bits are bigints, both ways.
 */

import type { CallOptions, OperationRow } from '../calls.js';
`;

/** Pages are no data, and events have a method of their own. The older routes with envelopes have successors. */
const LEFT_OUT: ReadonlySet<string> = new Set(['getDocs', 'streamEvents']);
const WIDTH = 118;

/** The operations that the library has, those of dev networks too. */
export function publicOperations(): readonly Operation[] {
  const all: readonly Operation[] = [...OPERATIONS, ...devOperations];
  return all.filter(({ id, family }) => family !== 'envelope' && !LEFT_OUT.has(id));
}

/** The text of the file. */
export function clientSource(): string {
  const types = new TypeWriter();
  const operations = publicOperations();
  const methods = operations.map((operation) => methodOf(operation, types)).join('\n');
  const events = Object.entries(streamEvents.events).map(([name, schema]) => eventOf(name, schema, types));
  const rows = operations.map((operation) => `  ${operation.id}: ${rowOf(operation)},`).join('\n');
  return [
    HEADER,
    ...types.declarations(),
    `/** An event of \`events()\`: \`id\` is what \`lastEventId\` resumes after. */\nexport type NodeEvent =\n${events.join('\n')};\n`,
    `/** A method for each operation of a node. */\nexport interface Operations {\n${methods}\n}\n`,
    `/** What the client knows of each operation. */\nexport const TABLE: { readonly [Id in keyof Operations]: OperationRow } = {\n${rows}\n};\n`,
    `/** 64-bit integers in the data of events. */\nexport const EVENT_SHAPES: OperationRow['exact'] = ${shapeText(eventShapes())};\n`,
  ].join('\n');
}

function eventOf(name: string, schema: TSchema, types: TypeWriter): string {
  return `${comment(schema.description, '  ')}  | { readonly id: string; readonly name: '${name}'; readonly data: ${types.typeOf(schema, '    ')} }`;
}

function eventShapes(): Shape {
  return Object.fromEntries(
    Object.entries(streamEvents.events).flatMap(([name, schema]) => {
      const shape = shapeOf(schema);
      return shape === undefined ? [] : [[name, shape]];
    }),
  );
}

function methodOf(operation: Operation, types: TypeWriter): string {
  const { id, method, path, summary, description, errors, apiKey, idempotencyKey } = operation;
  const lines = [
    `${summary}.`,
    ...(description === undefined ? [] : ['', description]),
    '',
    `\`${method} ${path}\` of ${rolesOf(operation).join(', ')} nodes.${apiKey === true ? ' Protected: needs an API key.' : ''}${
      idempotencyKey ? ' Repeated after a lost answer, with an idempotency key, and does its thing once.' : ''
    }`,
    ...(errors.length === 0 ? [] : [`@throws {TesseraError} ${errors.join(', ')}`]),
  ];
  return `${comment(lines.join('\n'), '  ')}  ${id}(${argumentsOf(operation, types)}options?: CallOptions): Promise<${resultOf(operation, types)}>;`;
}

function argumentsOf(operation: Operation, types: TypeWriter): string {
  const { params, query, body } = operation;
  const parts = [params, query, body?.schema].filter((part) => part !== undefined);
  if (parts.length === 0) return 'args?: Readonly<Record<string, never>>, ';
  const needed = body === undefined || body.optional !== true;
  const optional = parts.every((part) => membersOf(part).every(({ required }) => !required)) || !needed;
  const bytes = body?.encoded === undefined ? '' : ' | Uint8Array';
  return `args${optional ? '?' : ''}: ${parts.map((part) => types.typeOf(part, '  ', part === body?.schema ? 'bigint' : 'bigint | number')).join(' & ')}${bytes}, `;
}

function resultOf({ success }: Operation, types: TypeWriter): string {
  const bodies = Object.values(success).map(({ schema }) =>
    schema === undefined ? 'undefined' : types.typeOf(schema, '  '),
  );
  return [...new Set(bodies)].join(' | ');
}

function rowOf(operation: Operation): string {
  const { method, path, body, apiKey, idempotencyKey, success } = operation;
  const schemas = Object.values(success).map(({ schema }) => schema);
  const exact = merged(schemas.map((schema) => schema && shapeOf(schema)));
  const also = Object.keys(success).filter((status) => Number(status) >= 300);
  const members = [
    `method: '${method}'`,
    `path: '${path}'`,
    `roles: [${rolesOf(operation)
      .map((role) => `'${role}'`)
      .join(', ')}]`,
    ...(body === undefined ? [] : ['body: true']),
    ...(isRead(operation) ? ['reads: true'] : []),
    ...(apiKey === true ? ['apiKey: true'] : []),
    ...(idempotencyKey ? ['idempotencyKey: true'] : []),
    ...(schemas.some((schema) => schema !== undefined) ? [] : ['empty: true']),
    ...(also.length === 0 ? [] : [`also: [${also.join(', ')}]`]),
    ...(exact === undefined ? [] : [`exact: ${shapeText(exact)}`]),
  ];
  return `{ ${members.join(', ')} }`;
}

function shapeText(shape: Shape): string {
  if (shape === 1) return '1';
  const members = Object.entries(shape).map(
    ([name, member]) => `${/^\w+$/.test(name) ? name : `'${name}'`}: ${shapeText(member)}`,
  );
  return `{ ${members.join(', ')} }`;
}

const isLong = ({ format }: TSchema): boolean => format === 'int64' || format === 'uint64';

/** Where the integers of 64 bits are; undefined without any. */
export function shapeOf(schema: TSchema): Shape | undefined {
  if (isLong(schema)) return 1;
  const { anyOf, prefixItems, items, properties = {}, additionalProperties } = schema;
  if (Array.isArray(anyOf)) return merged(anyOf.map(shapeOf));
  const members = Object.entries<TSchema>(properties).map(([name, member]) => [name, shapeOf(member)] as const);
  const tuple: unknown = prefixItems ?? items;
  if (Array.isArray(tuple)) members.push(...tuple.map((item: TSchema, at) => [String(at), shapeOf(item)] as const));
  else if (items !== undefined && items !== false) members.push(['*', shapeOf(items)]);
  if (typeof additionalProperties === 'object') members.push(['*', shapeOf(additionalProperties)]);
  const found = members.filter(([, shape]) => shape !== undefined);
  return found.length === 0 ? undefined : (Object.fromEntries(found) as Shape);
}

/** One shape for all variants of a value. Throws where a member is an integer of 64 bits in some only, and a number in others. */
function merged(shapes: readonly (Shape | undefined)[]): Shape | undefined {
  return shapes.reduce((one, other) => {
    if (one === undefined || other === undefined || isDeepStrictEqual(one, other)) return one ?? other;
    if (one === 1 || other === 1) throw new Error('a value is an integer of 64 bits, and sometimes has members');
    const names = [...new Set([...Object.keys(one), ...Object.keys(other)])];
    return Object.fromEntries(names.map((name) => [name, merged([one[name], other[name]]) as Shape]));
  }, undefined);
}

/** Writes types, and collects the declarations of those with a name. */
class TypeWriter {
  readonly #named = new Map<string, string>();

  declarations(): string[] {
    return [...this.#named.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, text]) => text);
  }

  /** `long`: the type of integers of 64 bits, in what has no name. */
  typeOf(schema: TSchema, margin: string, long = 'bigint'): string {
    const { $id } = schema;
    if ($id === undefined) return this.#plain(schema, margin, long);
    if (!this.#named.has($id)) {
      this.#named.set($id, '');
      const type = this.#plain(schema, '', 'bigint');
      const isObject = type.startsWith('{') && schema.properties !== undefined;
      const text = isObject ? `export interface ${$id} ${type}\n` : `export type ${$id} = ${type};\n`;
      this.#named.set($id, comment(schema.description, '') + text);
    }
    return $id;
  }

  #plain(schema: TSchema, margin: string, long: string): string {
    if (isLong(schema)) return this.#withNull(long, schema);
    if (Array.isArray(schema.enum))
      return schema.enum.map((value: unknown) => JSON.stringify(value).replaceAll('"', "'")).join(' | ');
    if (schema.const !== undefined) return JSON.stringify(schema.const).replaceAll('"', "'");
    if (Array.isArray(schema.anyOf))
      return schema.anyOf.map((one: TSchema) => this.typeOf(one, margin, long)).join(' | ');
    const types: readonly string[] = Array.isArray(schema.type) ? schema.type : [schema.type];
    return types.map((type) => this.#ofType(type, schema, margin, long)).join(' | ');
  }

  #withNull(type: string, schema: TSchema): string {
    return Array.isArray(schema.type) && schema.type.includes('null') ? `${type} | null` : type;
  }

  #ofType(type: string, schema: TSchema, margin: string, long: string): string {
    switch (type) {
      case 'string':
      case 'boolean':
      case 'null':
        return type;
      case 'integer':
      case 'number':
        return 'number';
      case 'array':
        return this.#array(schema, margin, long);
      case 'object':
        return this.#object(schema, margin, long);
      default:
        throw new Error(`a schema of type ${type}: ${JSON.stringify(schema)}`);
    }
  }

  #array({ items, prefixItems }: TSchema, margin: string, long: string): string {
    const tuple: unknown = prefixItems ?? items;
    if (Array.isArray(tuple))
      return `readonly [${tuple.map((item: TSchema) => this.typeOf(item, margin, long)).join(', ')}]`;
    return `readonly (${this.typeOf(items as TSchema, margin, long)})[]`.replace(/\((\w+)\)\[\]$/, '$1[]');
  }

  #object(schema: TSchema, margin: string, long: string): string {
    const { additionalProperties } = schema;
    const members = membersOf(schema);
    if (members.length === 0) {
      if (typeof additionalProperties !== 'object') return 'object';
      return `{ readonly [name: string]: ${this.typeOf(additionalProperties, margin, long)} }`;
    }
    const inner = `${margin}  `;
    const lines = members.map(
      ({ name, schema: member, required }) =>
        `${comment(member.$id === undefined ? member.description : undefined, inner)}${inner}readonly ${name}${required ? '' : '?'}: ${this.typeOf(member, inner, long)};\n`,
    );
    return `{\n${lines.join('')}${margin}}`;
  }
}

/** A doc comment that ends with a line end; empty without a text. */
function comment(text: string | undefined, margin: string): string {
  if (text === undefined) return '';
  const safe = text.replaceAll('*/', '*\u200b/');
  if (!safe.includes('\n') && margin.length + safe.length + 7 <= WIDTH) return `${margin}/** ${safe} */\n`;
  const lines = safe.split('\n').flatMap((line) => wrapped(line, WIDTH - margin.length - 3));
  return `${margin}/**\n${lines.map((line) => `${margin} * ${line}`.trimEnd()).join('\n')}\n${margin} */\n`;
}

function wrapped(line: string, width: number): string[] {
  const lines = [''];
  for (const word of line.split(' ')) {
    const last = lines.at(-1) ?? '';
    if (last !== '' && last.length + 1 + word.length > width) lines.push(word);
    else lines[lines.length - 1] = last === '' ? word : `${last} ${word}`;
  }
  return lines;
}
