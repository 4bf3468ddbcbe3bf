/** API keys (decision H3): protected routes need a key that covers them. Keys are compared by their SHA-256 in constant time. */

import { createHash, timingSafeEqual } from 'node:crypto';
import { type ApiPermission, apiKeyFault } from '../../config/api-keys.js';
import { writeFileDurable } from '../../db/write-file-durable.js';
import { toHex } from '../../lib/bytes.js';
import { TesseraError } from '../../lib/errors.js';
import { isLoopback } from '../../lib/ip-address.js';
import type { Random } from '../../lib/random.js';
import { readWhole } from '../../lib/read-bounded.js';
import { isSystemError } from '../../lib/system-error.js';
import type { HttpMethod, Operation } from '../operation.js';
import { type AllowedOrigins, hostname, isStrangeHost, mayChange, type PageFacts } from './web-pages.js';

const KEY_BYTES = 32;
const KEY_FILE_MODE = 0o600;
const KEY_FORM = /^[0-9a-f]{64}$/;

/** A key for protected routes: the key itself, or its SHA-256 in hex. */
export interface ApiKeyOptions {
  readonly name: string;
  readonly key?: string | undefined;
  readonly sha256?: string | undefined;
  /** Routes of the key: `POST /v1/payments`, or `* /v1/wallet/keypairs` for every method. Without a list the key opens all routes. */
  readonly routes?: readonly string[] | undefined;
  /** Permissions of the key; without a list it has all. */
  readonly permissions?: readonly ApiPermission[] | undefined;
}

export interface Caller extends PageFacts {
  readonly apiKey: string | undefined;
  readonly address: string | undefined;
  readonly forwarded: boolean;
}

interface Key {
  readonly name: string;
  readonly digest: Buffer;
  /** Routes that the key opens; undefined for every route. */
  readonly routes: ReadonlySet<string> | undefined;
  /** Permissions of the key; undefined for every permission. */
  readonly permissions: ReadonlySet<ApiPermission> | undefined;
}

export interface ApiKeysOptions {
  readonly host: string;
  readonly auth: 'keys' | 'open';
  readonly keys: readonly ApiKeyOptions[];
  readonly open?: readonly string[];
  /** Origins whose pages may make changes where no key is asked for; by default only those of this machine. */
  readonly cors?: AllowedOrigins;
}

export class ApiKeys {
  readonly #isOpen: boolean;
  readonly #openIds: ReadonlySet<string>;
  readonly #cors: AllowedOrigins;
  readonly #routes: ReadonlySet<string>;
  #keys: readonly Key[];

  /** Throws `invalid_config` for `auth: 'open'` beyond loopback, a malformed key, and routes that no key can open. */
  constructor({ auth, host, keys, open = [], cors = 'off' }: ApiKeysOptions, operations: readonly Operation[]) {
    this.#isOpen = auth === 'open';
    if (this.#isOpen && !isLoopback(host)) {
      throw new TesseraError(
        'invalid_config',
        `api.auth = "open" is allowed on loopback only, and api.host is "${host}". Use api.auth = "keys".`,
      );
    }
    this.#openIds = new Set(open);
    this.#cors = cors;
    this.#routes = routesOf(operations);
    this.#keys = this.#read(keys);
  }

  /** Replaces the present keys with others. Throws `invalid_config` and changes nothing when one is wrong. */
  replace(keys: readonly ApiKeyOptions[]): void {
    this.#keys = this.#read(keys);
  }

  /** The name of the key that covers the operation; empty where none is needed. Throws `missing_api_key` or `invalid_api_key`. */
  check({ twin, ...own }: Operation, caller: Caller): string {
    const operation = twin ?? own;
    if (!operation.apiKey || this.#openIds.has(operation.id)) return '';
    if (this.#isOpen && this.#isOpenTo(operation, own.method, caller)) return '';
    if (caller.apiKey === undefined || caller.apiKey === '') {
      throw new TesseraError('missing_api_key', 'Send an API key of this node in the header x-api-key.');
    }
    const name = nameOfKey(this.#keys, caller.apiKey, operation);
    if (name === undefined) {
      throw new TesseraError(
        'invalid_api_key',
        'The x-api-key is not a key of this node, or does not cover this route.',
      );
    }
    return name;
  }

  /** True if the caller needs no key. `asked` is the method of the request: a GET names no origin, and changes things on some older routes. */
  #isOpenTo({ method, secret }: Operation, asked: HttpMethod, caller: Caller): boolean {
    const mayUse =
      (asked !== 'GET' || !isStrangeHost(caller.host, this.#cors)) &&
      (method === 'GET' || mayChange(caller, this.#cors));
    return (!secret || isLocal(caller)) && mayUse;
  }

  #read(keys: readonly ApiKeyOptions[]): readonly Key[] {
    return keys.map((key) => readKey(key, this.#routes));
  }
}

function readKey({ name, key, sha256, routes, permissions }: ApiKeyOptions, known: ReadonlySet<string>): Key {
  const wrong = apiKeyFault({ key, sha256 });
  if (wrong !== null) throw new TesseraError(wrong.code, `api.keys: "${name}" ${wrong.message}.`);
  const unknown = routes?.find((route) => !known.has(route));
  if (unknown !== undefined) {
    throw new TesseraError('invalid_config', `api.keys: "${name}" names "${unknown}", which is no protected route.`);
  }
  const digest = key === undefined ? Buffer.from(sha256 ?? '', 'hex') : digestOf(key);
  return { name, digest, routes: routes && new Set(routes), permissions: permissions && new Set(permissions) };
}

/** Every protected route in the forms that keys may name: with its method, and with `*` for any. */
function routesOf(operations: readonly Operation[]): ReadonlySet<string> {
  const protectedOnes = operations.filter(({ apiKey, twin }) => apiKey && twin === undefined);
  return new Set(protectedOnes.flatMap(({ method, path }) => [`${method} ${path}`, `* ${path}`]));
}

function nameOfKey(keys: readonly Key[], presented: string, operation: Operation): string | undefined {
  const digest = digestOf(presented);
  let found: string | undefined;
  // All keys are compared, so that the time reveals nothing about them.
  for (const key of keys) {
    const covers = coversRoute(key, operation) && isPermitted(key, operation);
    found = timingSafeEqual(key.digest, digest) && covers ? key.name : found;
  }
  return found;
}

function coversRoute({ routes }: Key, { method, path }: Operation): boolean {
  return routes === undefined || routes.has(`${method} ${path}`) || routes.has(`* ${path}`);
}

function isPermitted({ permissions }: Key, { permission }: Operation): boolean {
  return permissions === undefined || (permission !== undefined && permissions.has(permission));
}

function digestOf(key: string): Buffer {
  return createHash('sha256').update(key, 'utf8').digest();
}

/** True for a caller on this machine: over loopback, without a proxy, not from a page of another origin (DNS rebinding). */
function isLocal({ address, host, origin, forwarded }: Caller): boolean {
  if (forwarded || address === undefined || !isLoopback(address)) return false;
  if (host !== undefined && !isLoopback(hostname(`http://${host}`))) return false;
  return origin === undefined || isLoopback(hostname(origin));
}

/** The key in the file; a new random one, written with mode 0600, when there is no file. */
export async function loadOrCreateApiKey(path: string, random: Random): Promise<string> {
  const existing = await readKeyFile(path);
  if (existing !== undefined) return existing;
  const key = toHex(random.bytes(KEY_BYTES));
  await writeFileDurable(path, Buffer.from(`${key}\n`, 'utf8'), KEY_FILE_MODE);
  return key;
}

async function readKeyFile(path: string): Promise<string | undefined> {
  let text: string;
  try {
    text = (await readWhole(path)).toString('utf8');
  } catch (error) {
    if (isSystemError(error, 'ENOENT')) return undefined;
    throw new TesseraError('invalid_config', `The API key file ${path} cannot be read.`, { cause: error });
  }
  const key = text.replace(/\r?\n$/, '');
  // A truncated key would be easier to guess.
  if (!KEY_FORM.test(key)) {
    throw new TesseraError(
      'invalid_config',
      `The API key file ${path} is damaged: it must hold 64 hexadecimal digits. Put the key back, or remove the file to get a new one.`,
    );
  }
  return key;
}
