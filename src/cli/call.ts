/** `tessera call OPERATION key=value …`: one operation of a node's API, its answer as JSON on standard output. */

import { readFile } from 'node:fs/promises';
import type { TSchema } from '@sinclair/typebox';
import { membersOf, type Operation } from '../api/operation.js';
import { OPERATIONS } from '../api/operations.js';
import { type AnyArguments, NodeClient } from '../client/client.js';
import { takesKeys } from '../client/repeat.js';
import { API_PORTS } from '../config/ports.js';
import { didYouMean } from '../config/suggest.js';
import { errorMessage, TesseraError } from '../lib/errors.js';
import { parseExactJson, prettyExact } from '../lib/json.js';
import { printableJson } from '../lib/printable.js';
import { isNodeRole, NODE_ROLES } from '../lib/roles.js';
import { type CliContext, type Command, type CommandSpec, type ParsedArgs, UsageError } from './command.js';
import { doOnce, IDEMPOTENCY_KEY_FLAG, UNKNOWN } from './once.js';

const API_KEY_FILE_ENV = 'TESSERA_API_KEY_FILE';
/** The key that stands for a whole body. */
const BODY = 'body';

/** Operations with one whole answer of JSON. */
const CALLABLE: readonly Operation[] = OPERATIONS.filter(({ id }) => id !== 'getDocs' && id !== 'streamEvents');

const spec: CommandSpec = {
  name: 'call',
  summary: 'Calls an operation of a node and prints the answer',
  description: [
    'OPERATION is the id of an operation; without one, all are listed. Arguments are key=value, where key is a member of the ' +
      'path, the query or the body. Give a list by repeating its key or as JSON, and other values that are not text as JSON. ' +
      'key=@FILE takes the content of a file, and key=@- that of standard input: use that for passphrases. body=JSON gives ' +
      'the whole body at once.',
    'Prints the answer as JSON with exact integers. If the node refuses, its reason goes to standard error and the exit ' +
      'status is 1. Payments, items and donation requests are repeated when their answer is lost, and done once.',
  ],
  arguments: [
    { name: 'OPERATION', description: 'Id of the operation.' },
    { name: 'key=value', description: 'Arguments.', rest: true },
  ],
  flags: [
    {
      name: 'url',
      short: 'u',
      value: 'URL',
      description: 'Base URL of the node. Default: the port of the role on this machine.',
    },
    {
      name: 'role',
      short: 'r',
      value: 'ROLE',
      description:
        'mempool, storage, miner or user, for the default URL. Default: the first that serves the operation.',
    },
    {
      name: 'api-key-file',
      short: 'k',
      value: 'FILE',
      description: `File with an API key of the node. Default: the file that ${API_KEY_FILE_ENV} names.`,
    },
    IDEMPOTENCY_KEY_FLAG,
  ],
  examples: [
    { line: 'tessera call', does: 'Lists the operations.' },
    { line: 'tessera call getSupply', does: 'The supply, from the mempool node on this machine.' },
    { line: 'tessera call getBlocks num=0 num=1', does: 'Two blocks, from the storage node.' },
    {
      line: 'tessera call createPayment kind=address address=… amount=1000 passphrase=@-',
      does: 'A payment; the passphrase is read from standard input.',
    },
  ],
  exits: {
    1: 'the node refused, or cannot be reached',
    [UNKNOWN]: 'no answer came in two minutes, and it may have been done; the message says how to repeat it safely',
  },
};

/** Reads a file, or standard input for `-`. */
export type ReadSource = (name: string) => Promise<string>;

export const command: Command = { spec, run: (args, context) => callCommand(args, context) };

/** Resolves with 0 when the answer is printed. Throws the node's error. */
export async function callCommand(
  args: ParsedArgs,
  context: CliContext,
  readSource: ReadSource = readFileOrStdin,
): Promise<number> {
  const [id, ...pairs] = args.positionals;
  if (id === undefined) {
    context.stdout.write(listOperations());
    return 0;
  }
  const operation = findOperation(id);
  const client = new NodeClient({ url: urlOf(args, operation), apiKey: await apiKeyOf(args, context) });
  const parts = await argumentsOf(operation, pairs, readSource);
  const answer: unknown = (await isDoneOnce(operation, args, client))
    ? await doOnce(operation, parts as never, client, { args, context })
    : await client.call(operation, parts as never);
  if (answer !== undefined) context.stdout.write(`${printableJson(prettyExact(answer))}\n`);
  return 0;
}

/** True for what is asked with an idempotency key. Mempool nodes create items too, and keep no keys. */
async function isDoneOnce(operation: Operation, args: ParsedArgs, client: NodeClient): Promise<boolean> {
  const isNamed = args.value(IDEMPOTENCY_KEY_FLAG.name) !== undefined;
  if (operation.idempotencyKey !== true) {
    if (isNamed) throw new UsageError(`${operation.id} takes no --${IDEMPOTENCY_KEY_FLAG.name}`);
    return false;
  }
  return isNamed || !operation.roles.includes('mempool') || takesKeys(client, operation);
}

function listOperations(): string {
  const width = Math.max(...CALLABLE.map(({ id }) => id.length));
  const lines = CALLABLE.map(({ id, summary, roles }) => `${id.padEnd(width)}  ${summary} (${roles.join(', ')})`);
  return `${lines.join('\n')}\n`;
}

function findOperation(id: string): Operation {
  const found = CALLABLE.find((operation) => operation.id === id);
  if (found !== undefined) return found;
  const ids = CALLABLE.map((operation) => operation.id);
  throw new UsageError(`${id} is not an operation${didYouMean(id, ids)}; tessera call lists them`);
}

function urlOf(args: ParsedArgs, { roles }: Operation): string {
  const named = args.value('url');
  if (named !== undefined) {
    if (URL.canParse(named) && /^https?:$/.test(new URL(named).protocol)) return new URL(named).origin;
    throw new UsageError(`--url must be like http://127.0.0.1:3003, not "${named}"`);
  }
  const role = args.value('role') ?? roles[0] ?? 'mempool';
  if (!isNodeRole(role)) throw new UsageError(`--role must be ${NODE_ROLES.join(', ')}, not "${role}"`);
  return `http://127.0.0.1:${API_PORTS[role]}`;
}

async function apiKeyOf(args: ParsedArgs, { env }: CliContext): Promise<string | undefined> {
  const file = args.value('api-key-file') ?? env[API_KEY_FILE_ENV];
  return file === undefined ? undefined : (await readFileOrStdin(file)).trim();
}

async function readFileOrStdin(name: string): Promise<string> {
  try {
    // Descriptor 0 is standard input.
    return await readFile(name === '-' ? '/dev/stdin' : name, 'utf8');
  } catch (cause) {
    throw new TesseraError('invalid_request', `${name} cannot be read: ${errorMessage(cause)}`, { cause });
  }
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

async function argumentsOf(operation: Operation, pairs: readonly string[], read: ReadSource): Promise<AnyArguments> {
  const members = membersOfOperation(operation);
  const parts: Record<Member['part'], Record<string, unknown>> = { params: {}, query: {}, body: {} };
  let whole: unknown;
  for (const pair of pairs) {
    const [name, text] = await readPair(pair, read);
    const member = members.find((candidate) => candidate.name === name);
    if (member !== undefined) {
      const part = parts[member.part];
      part[name] = typedValue(name, text, member.schema, part[name]);
    } else if (name === BODY && operation.body !== undefined) whole = jsonOf(name, text);
    else throw unknownKey(name, operation, members);
  }
  if (whole === undefined) checkRequired(operation, members, parts);
  return {
    params: parts.params,
    query: parts.query,
    ...(operation.body === undefined ? {} : { body: whole ?? parts.body }),
  };
}

async function readPair(pair: string, read: ReadSource): Promise<readonly [string, string]> {
  const at = pair.indexOf('=');
  if (at < 1) throw new UsageError(`"${pair}" is not key=value`);
  const [name, text] = [pair.slice(0, at), pair.slice(at + 1)];
  if (!text.startsWith('@')) return [name, text];
  // The line end that an editor or echo puts after the last line is not part of the value.
  return [name, (await read(text.slice(1))).replace(/\r?\n$/, '')];
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

/** The value of a text by the type of its schema; a list grows with each text. */
function typedValue(name: string, text: string, schema: TSchema, before: unknown): unknown {
  const types: readonly unknown[] = Array.isArray(schema.type) ? schema.type : [schema.type];
  if (types.includes('array')) {
    if (text.startsWith('[')) return jsonOf(name, text);
    const items = (schema.items ?? {}) as TSchema;
    return [...(Array.isArray(before) ? before : []), typedValue(name, text, items, undefined)];
  }
  if (types.includes('string')) return types.includes('null') && text === 'null' ? null : text;
  return jsonOf(name, text);
}

function jsonOf(name: string, text: string): unknown {
  try {
    return parseExactJson(text);
  } catch {
    throw new UsageError(`${name}: "${text.slice(0, 40)}" is not JSON`);
  }
}
