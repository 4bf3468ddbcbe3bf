/** The page of an operation: `tessera call OPERATION --help`. */

import type { TSchema } from '@sinclair/typebox';
import type { Operation } from '../api/operation.js';
import { rolesOf } from '../api/roles.js';
import { stringifyExact } from '../lib/json.js';
import { type Member, membersOfOperation } from './call-arguments.js';
import type { ArgumentSpec, CommandSpec } from './command.js';

const PLACES: Readonly<Record<Member['part'], string>> = { params: 'path', query: 'query', body: 'body' };

/** Characters of JSON that an example shows; what is longer comes from a file. */
const MAX_EXAMPLE = 40;

/** The page of `tessera call`, for one operation: what it does and what it takes. */
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
