/** The arguments of `tessera call`: key=value by the members of path, query and body, typed by their schemas. */

import type { TSchema } from '@sinclair/typebox';
import { membersOf, type Operation } from '../api/operation.js';
import { rolesOf } from '../api/roles.js';
import type { AnyArguments } from '../client/client.js';
import { didYouMean } from '../config/suggest.js';
import { parseExactJson, stringifyExact } from '../lib/json.js';
import { type ArgumentSpec, type CommandSpec, UsageError } from './command.js';
import { addressOrDev } from './dev-account.js';

const BODY = 'body';
const SECRET = /passphrase$|^secret_key$/;

const PASSPHRASE_MEMBER = 'passphrase';
const MAX_SHOWN = 40;

export type ReadSource = (name: string) => Promise<string>;

export interface ArgumentSources {
  readonly read: ReadSource;
  /** The passphrase of the wallet, for an operation that needs one and is given none. */
  readonly secret: () => Promise<string>;
}

interface Member {
  readonly name: string;
  readonly schema: TSchema;
  readonly part: 'params' | 'query' | 'body';
  readonly required: boolean;
}

function membersOfOperation({ params, query, body }: Operation): readonly Member[] {
  const of = (schema: TSchema | undefined, part: Member['part']) =>
    membersOf(schema).map((member) => ({ ...member, part }));
  return [...of(params, 'params'), ...of(query, 'query'), ...of(body?.schema, 'body')];
}

export async function argumentsOf(
  operation: Operation,
  pairs: readonly string[],
  { read, secret }: ArgumentSources,
): Promise<AnyArguments> {
  const members = membersOfOperation(operation);
  const parts: Record<Member['part'], Record<string, unknown>> = { params: {}, query: {}, body: {} };
  let whole: unknown;
  for (const pair of pairs) {
    const [name, text, isTyped] = await readPair(pair, read);
    const member = members.find((candidate) => candidate.name === name);
    if (member !== undefined) {
      const part = parts[member.part];
      part[name] = typedValue(name, text, member.schema, part[name]);
      if (isTyped) refuseSecrets({ [name]: part[name] });
    } else if (name === BODY && operation.body !== undefined) {
      whole = jsonOf(name, text);
      if (isTyped) refuseSecrets(whole);
    } else throw unknownKey(name, operation, members);
  }
  const isAsked = members.some(({ name, part }) => name === PASSPHRASE_MEMBER && part === 'body');
  if (isAsked && whole === undefined && parts.body[PASSPHRASE_MEMBER] === undefined) {
    parts.body[PASSPHRASE_MEMBER] = await secret();
  }
  if (whole === undefined) checkRequired(operation, members, parts);
  return {
    params: parts.params,
    query: parts.query,
    ...(operation.body === undefined ? {} : { body: whole ?? parts.body }),
  };
}

async function readPair(pair: string, read: ReadSource): Promise<readonly [string, string, boolean]> {
  const at = pair.indexOf('=');
  if (at < 1) throw new UsageError(`"${pair.slice(0, MAX_SHOWN)}" is not key=value`);
  const [name, text] = [pair.slice(0, at), pair.slice(at + 1)];
  if (!text.startsWith('@')) return [name, text, true];
  // The line end that an editor or echo puts after the last line is not part of the value.
  return [name, (await read(text.slice(1))).replace(/\r?\n$/, ''), false];
}

/** Everyone on the machine can read the arguments of a process. */
function refuseSecrets(value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  for (const [name, member] of Object.entries(value)) {
    if (SECRET.test(name) && typeof member === 'string' && member !== '') {
      throw new UsageError(
        `${name} is a secret, and others can read the command line: write it to a file and give ${name}=@FILE, or ${name}=@- for ` +
          'standard input',
      );
    }
    refuseSecrets(member);
  }
}

function unknownKey(name: string, { id }: Operation, members: readonly Member[]): UsageError {
  const names = members.map((member) => member.name);
  const known = names.length === 0 ? 'it takes none' : `it takes ${names.join(', ')}`;
  return new UsageError(`${id} has no argument ${name}${didYouMean(name, names)}; ${known}`);
}

function checkRequired({ id }: Operation, members: readonly Member[], parts: Record<Member['part'], object>): void {
  const missing = members.filter(({ name, part, required }) => required && !Object.hasOwn(parts[part], name));
  if (missing.length > 0) throw new UsageError(`${id} needs ${missing.map(({ name }) => `${name}=…`).join(' ')}`);
}

function typedValue(name: string, text: string, schema: TSchema, before: unknown): unknown {
  const types: readonly unknown[] = Array.isArray(schema.type) ? schema.type : [schema.type];
  if (types.includes('array')) {
    if (text.startsWith('[')) return jsonOf(name, text);
    const items = (schema.items ?? {}) as TSchema;
    return [...(Array.isArray(before) ? before : []), typedValue(name, text, items, undefined)];
  }
  if (types.includes('string')) return types.includes('null') && text === 'null' ? null : textOf(name, text);
  return jsonOf(name, text);
}

function textOf(name: string, text: string): string {
  return /address(es)?$/.test(name) ? addressOrDev(text) : text;
}

function jsonOf(name: string, text: string): unknown {
  try {
    return parseExactJson(text);
  } catch {
    throw new UsageError(`${name}: "${text.slice(0, MAX_SHOWN)}" is not JSON`);
  }
}

const PLACES: Readonly<Record<Member['part'], string>> = { params: 'path', query: 'query', body: 'body' };

/** Characters of JSON that an example shows; what is longer comes from a file. */
const MAX_EXAMPLE = 40;

export function operationPage(operation: Operation, call: CommandSpec): CommandSpec {
  const { id, summary, description, method, path, apiKey, permission } = operation;
  const members = membersOfOperation(operation);
  const key =
    apiKey === undefined || apiKey === false ? '' : ` Needs an API key${permission ? ` that may ${permission}` : ''}.`;
  const example = members.filter(({ required }) => required).map((member) => ` ${member.name}=${exampleOf(member)}`);
  return {
    name: `call ${id}`,
    summary,
    description: [
      ...(description === undefined ? [] : [description]),
      `${method} ${path}, served by nodes of role ${rolesOf(operation).join(', ')}.${key}`,
    ],
    arguments: [...members].sort((a, b) => Number(b.required) - Number(a.required)).map(argumentOf),
    flags: call.flags,
    examples: [{ line: `tessera call ${id}${example.join('')}`, does: 'The call with all required arguments.' }],
    ...(call.exits === undefined ? {} : { exits: call.exits }),
  };
}

function argumentOf({ name, schema, part, required }: Member): ArgumentSpec {
  const described = schema.description ?? (isPassphrase(name) ? 'The passphrase; @FILE or @-.' : '');
  const about = [described, `${kindOf(schema)}, in the ${PLACES[part]}`].filter((text) => text !== '').join(' ');
  return { name: `${name}=${kindOf(schema).toUpperCase()}`, required, description: `${about}.${choicesOf(schema)}` };
}

function isPassphrase(name: string): boolean {
  return name.endsWith('passphrase');
}

function kindOf(schema: TSchema): string {
  const types: readonly unknown[] = Array.isArray(schema.type) ? schema.type : [schema.type];
  if (types.includes('array')) return 'list';
  if (types.includes('string')) return 'text';
  if (types.includes('integer')) return 'integer';
  return types.includes('boolean') ? 'boolean' : 'json';
}

function choicesOf({ enum: choices }: TSchema): string {
  return Array.isArray(choices) ? ` One of ${choices.join(', ')}.` : '';
}

function exampleOf({ name, schema }: Member): string {
  if (isPassphrase(name)) return '@FILE';
  const found: unknown = schema.examples?.[0] ?? schema.enum?.[0] ?? schema.items?.examples?.[0];
  if (found === undefined) return kindOf(schema).toUpperCase();
  if (typeof found === 'string') return found;
  const json = `'${stringifyExact(found)}'`;
  return json.length > MAX_EXAMPLE ? '@FILE' : json;
}
