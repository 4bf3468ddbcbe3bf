/**
 * `tessera call OPERATION key=value …`: one operation of a node's API, its answer as JSON on standard output. The arguments are members of
 * path, query and body, typed by their schemas.
 */

import type { TSchema } from '@sinclair/typebox';
import { membersOf, type Operation } from '../api/operation.js';
import { OPERATIONS } from '../api/operations.js';
import { rolesOf } from '../api/roles.js';
import { takesKeys } from '../client/call-once.js';
import type { AnyArguments, NodeClient } from '../client/client.js';
import { didYouMean } from '../config/suggest.js';
import { toHex } from '../lib/bytes.js';
import { parseExactJson, prettyExact, stringifyExact } from '../lib/json.js';
import { printableJson } from '../lib/printable.js';
import { hasWallet, NODE_ROLES, type NodeRole, WALLET_ROLES } from '../lib/roles.js';
import {
  type ArgumentSpec,
  type CliContext,
  type CommandSpec,
  type OwnCommand,
  type OwnSpec,
  type ParsedArgs,
  UsageError,
} from './command.js';
import { TIMEOUT_FLAG } from './command-client.js';
import { addressOrDev } from './dev-account.js';
import { readNamedOrInput } from './named-file.js';
import { connect, nodeFlags, type WantedNode } from './node-access.js';
import { doOnce, IDEMPOTENCY_KEY_FLAG } from './once.js';
import { askSecret } from './wallet/prompt.js';
import { givenSecret, PASSPHRASE, secretFlag } from './wallet/secrets.js';
import { LOOK_FIRST } from './writes.js';

const CALLABLE: readonly Operation[] = OPERATIONS.filter(({ id }) => id !== 'getDocs' && id !== 'streamEvents');

const spec: OwnSpec = {
  description: [
    'OPERATION is the id of an operation; without one, all are listed. Arguments are key=value, where key is a member of the ' +
      'path, the query or the body; `tessera call OPERATION --help` lists them. Give a list by repeating its key or as JSON, ' +
      'and other values that are not text as JSON. key=@FILE reads a file, and key=@- standard input; a secret must be given in ' +
      'one of these two ways. body=JSON gives the whole body.',
    'The passphrase of the wallet may be left out: the command finds it as `tessera wallet` does, or asks for it.',
    'Prints the answer as JSON with exact integers, and bytes as hex; with --json it prints the unchanged answer on ' +
      'one line. If the node refuses, the reason goes to standard error and the exit status is 1. If the answer to a ' +
      'payment, an item or a donation request is lost, the request is repeated; it is done once.',
  ],
  arguments: [
    { name: 'OPERATION', completes: CALLABLE.map(({ id }) => id), description: 'Id of the operation.' },
    { name: 'key=value', description: 'Arguments.', rest: true },
  ],
  flags: [
    ...nodeFlags(
      NODE_ROLES,
      'mempool, storage, miner or user. Default: user for operations of a wallet, else the first role that serves ' +
        'the operation.',
      'where the node of the data folder listens, else as configured, on this machine.',
    ),
    TIMEOUT_FLAG,
    secretFlag(PASSPHRASE, 'the passphrase of the wallet, for operations that need it'),
    IDEMPOTENCY_KEY_FLAG,
  ],
  json: 'Prints the unchanged answer on one line; bytes are lists of numbers.',
  examples: {
    'tessera call': 'Lists the operations.',
    'tessera call getSupply': 'The supply, from the mempool node on this machine.',
    'tessera call getBlocks num=0 num=1': 'Two blocks, from the storage node.',
    'tessera call getBlocks --help': 'What getBlocks does, and its arguments.',
    'tessera call createPayment kind=address address=ADDRESS amount=1000':
      'Pays 1000 raw units from the wallet of the user node on this machine; asks for its passphrase.',
  },
  again: LOOK_FIRST,
  exits: { 1: 'the node refused, or cannot be reached' },
};

export const command: OwnCommand = {
  spec,
  page: ([id = ''], call) => (id === '' || id.startsWith('-') ? undefined : operationPage(findOperation(id), call)),
  run: (args, context) => callCommand(args, context),
};

export async function callCommand(
  args: ParsedArgs,
  context: CliContext,
  readSource: ReadSource = (name) => readNamedOrInput(name, context.stdin),
): Promise<number> {
  const [id, ...pairs] = args.positionals;
  if (id === undefined) {
    context.stdout.write(args.has('json') ? operationsJson() : listOperations());
    return 0;
  }
  const operation = findOperation(id);
  const client = connect(args, context, nodeFor(operation));
  const secret = async () => givenSecret(PASSPHRASE, args, context) ?? askSecret(PASSPHRASE.question, context);
  const parts = await argumentsOf(operation, pairs, { read: readSource, secret });
  const answer: unknown = (await isDoneOnce(operation, args, client))
    ? await doOnce(operation, parts as never, client, { args, context })
    : await client.call(operation, parts as never);
  // With --json, an answer without a body is printed as null.
  if (answer === undefined && !args.has('json')) return 0;
  const text = args.has('json') ? stringifyExact(answer ?? null) : prettyExact(hexForBytes(answer));
  context.stdout.write(`${printableJson(text)}\n`);
  return 0;
}

/** True for an operation that is called with an idempotency key. Mempool nodes create items too, and keep no keys. */
async function isDoneOnce(operation: Operation, args: ParsedArgs, client: NodeClient): Promise<boolean> {
  const isNamed = args.value(IDEMPOTENCY_KEY_FLAG.name) !== undefined;
  if (operation.idempotencyKey !== true) {
    if (isNamed) throw new UsageError(`${operation.id} takes no --${IDEMPOTENCY_KEY_FLAG.name}`);
    return false;
  }
  return isNamed || rolesOf(operation).every(hasWallet) || takesKeys(client, operation);
}

function listOperations(): string {
  const width = Math.max(...CALLABLE.map(({ id }) => id.length));
  const lines = CALLABLE.map((one) => `${one.id.padEnd(width)}  ${one.summary} (${rolesOf(one).join(', ')})`);
  return `${lines.join('\n')}\n`;
}

function operationsJson(): string {
  const list = CALLABLE.map((operation) => {
    const { id, summary, method, path } = operation;
    return { id, summary, roles: rolesOf(operation), method, path };
  });
  return `${stringifyExact(list)}\n`;
}

function findOperation(id: string): Operation {
  const found = CALLABLE.find((operation) => operation.id === id);
  if (found !== undefined) return found;
  const ids = CALLABLE.map((operation) => operation.id);
  throw new UsageError(`${id} is not an operation${didYouMean(id, ids)}; tessera call lists them`);
}

/** The node for an operation; one with a wallet is found as `tessera wallet` finds it: a user, when nothing says otherwise. */
function nodeFor(operation: Operation): WantedNode {
  const { id } = operation;
  const roles = rolesOf(operation);
  const inOrder = roles.every(hasWallet) ? WALLET_ROLES.filter((role) => roles.includes(role)) : roles;
  const served = roles.join(' and ');
  const refusal = (role: NodeRole) =>
    `${id} is an operation of ${served} nodes, and the configuration is that of a ${role} node: name another with --role or --url`;
  return { roles: inOrder, refusal };
}

/** Members that the API shows as lists of numbers, and `tessera call` as hex; a pair may have them in its first place. */
const MEMBERS: ReadonlySet<string> = new Set([
  'nonce',
  'nonce_and_mining_tx_hash',
  'difficulty',
  'seed_value',
  'Signature',
  'PubKey',
  'Bytes',
]);

function hexForBytes(value: unknown, isBytes = false): unknown {
  if (Array.isArray(value)) {
    if (isBytes && value.every(isByte)) return toHex(Uint8Array.from(value));
    return value.map((member, i) => hexForBytes(member, isBytes && i === 0));
  }
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, hexForBytes(member, MEMBERS.has(name))]),
  );
}

function isByte(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 0xff;
}

const BODY = 'body';
const SECRET = /passphrase$|^secret_key$/;

const PASSPHRASE_MEMBER = 'passphrase';
const MAX_SHOWN = 40;

type ReadSource = (name: string) => Promise<string>;

interface ArgumentSources {
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

/** Refuses secrets as arguments, which everyone on the machine can read. */
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

function operationPage(operation: Operation, call: CommandSpec): CommandSpec {
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
