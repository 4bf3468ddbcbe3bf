/**
 * API keys (decision H3): protected routes are closed unless the caller shows a key that covers them. Keys are compared by
 * their SHA-256 in constant time. The node's own key file is made here too.
 */

import { createHash, timingSafeEqual } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { writeFileDurable } from '../../db/write-file-durable.js';
import { toHex } from '../../lib/bytes.js';
import { TesseraError } from '../../lib/errors.js';
import type { Random } from '../../lib/random.js';
import type { Operation } from '../operation.js';

/** Bytes of a generated key. */
const KEY_BYTES = 32;
/** The owner alone reads and writes it. */
const KEY_FILE_MODE = 0o600;
const MIN_KEY_LENGTH = 16;

/** A key for protected routes: itself, or its SHA-256 in hex. */
export interface ApiKeyOptions {
  readonly name: string;
  readonly key?: string | undefined;
  readonly sha256?: string | undefined;
  /** `POST /v1/payments`, or `* /v1/wallet/keypairs` for every method. Without a list the key opens all routes. */
  readonly routes?: readonly string[] | undefined;
}

/** Facts about a request that decide who may do what. */
export interface Caller {
  /** The header `x-api-key`. */
  readonly apiKey: string | undefined;
  /** Remote address of the connection. */
  readonly address: string | undefined;
  readonly host: string | undefined;
  readonly origin: string | undefined;
  /** A proxy stands between. */
  readonly forwarded: boolean;
}

export interface ApiKeyGate {
  /** Throws `missing_api_key` or `invalid_api_key` when the caller may not use the operation. */
  check(operation: Operation, caller: Caller): void;
  /** Puts other keys in the place of those there are. Throws `invalid_config` and changes nothing when one is wrong. */
  replace(keys: readonly ApiKeyOptions[]): void;
}

interface Key {
  readonly digest: Buffer;
  /** Undefined: every route. */
  readonly routes: ReadonlySet<string> | undefined;
}

export interface ApiKeyGateOptions {
  readonly host: string;
  readonly auth: 'keys' | 'open';
  readonly keys: readonly ApiKeyOptions[];
}

/**
 * Throws `invalid_config` for `auth: 'open'` anywhere but on loopback, for a key without key or hash, and for routes that
 * no key can open.
 */
export function createApiKeyGate(options: ApiKeyGateOptions, operations: readonly Operation[]): ApiKeyGate {
  const isOpen = options.auth === 'open';
  if (isOpen && !isLoopback(options.host)) {
    throw new TesseraError(
      'invalid_config',
      `api.auth = "open" is allowed on loopback only, and api.host is "${options.host}". Use api.auth = "keys".`,
    );
  }
  const known = routesOf(operations);
  const readKeys = (keys: readonly ApiKeyOptions[]): readonly Key[] => keys.map((key) => readKey(key, known));
  let keys = readKeys(options.keys);
  return {
    replace(next) {
      keys = readKeys(next);
    },
    check(operation, caller) {
      if (!operation.apiKey) return;
      if (isOpen && (!operation.secret || isLocal(caller))) return;
      if (caller.apiKey === undefined || caller.apiKey === '') {
        throw new TesseraError('missing_api_key', 'Send an API key of this node in the header x-api-key.');
      }
      if (!opens(keys, caller.apiKey, operation)) {
        throw new TesseraError(
          'invalid_api_key',
          'The x-api-key is not a key of this node, or does not cover this route.',
        );
      }
    },
  };
}

function readKey({ name, key, sha256, routes }: ApiKeyOptions, known: ReadonlySet<string>): Key {
  if ((key === undefined) === (sha256 === undefined)) {
    throw new TesseraError('invalid_config', `api.keys: "${name}" needs either key or sha256.`);
  }
  if (key !== undefined && key.length < MIN_KEY_LENGTH) {
    throw new TesseraError(
      'invalid_config',
      `api.keys: the key of "${name}" has less than ${MIN_KEY_LENGTH} characters.`,
    );
  }
  const wrong = routes?.find((route) => !known.has(route));
  if (wrong !== undefined) {
    throw new TesseraError('invalid_config', `api.keys: "${name}" names "${wrong}", which is no protected route.`);
  }
  const digest = key === undefined ? Buffer.from(sha256 ?? '', 'hex') : digestOf(key);
  if (digest.length !== KEY_BYTES) {
    throw new TesseraError('invalid_config', `api.keys: the sha256 of "${name}" is not 64 hexadecimal digits.`);
  }
  return { digest, routes: routes === undefined ? undefined : new Set(routes) };
}

/** Every protected route as keys may name it: with its method, and with `*` for any. */
function routesOf(operations: readonly Operation[]): ReadonlySet<string> {
  const protectedOnes = operations.filter((operation) => operation.apiKey);
  return new Set(protectedOnes.flatMap(({ method, path }) => [`${method} ${path}`, `* ${path}`]));
}

function opens(keys: readonly Key[], presented: string, { method, path }: Operation): boolean {
  const digest = digestOf(presented);
  let found = false;
  // Every key is compared, so the time says nothing about which one came close.
  for (const key of keys) {
    const covers = key.routes === undefined || key.routes.has(`${method} ${path}`) || key.routes.has(`* ${path}`);
    found = (timingSafeEqual(key.digest, digest) && covers) || found;
  }
  return found;
}

function digestOf(key: string): Buffer {
  return createHash('sha256').update(key, 'utf8').digest();
}

/**
 * True for a caller on this machine: over loopback, not through a proxy, and not a page of some other origin in a browser
 * here, also not one that has rebound its name to loopback.
 */
function isLocal({ address, host, origin, forwarded }: Caller): boolean {
  if (forwarded || address === undefined || !isLoopback(address)) return false;
  if (host !== undefined && !isLoopback(hostname(`http://${host}`))) return false;
  return origin === undefined || isLoopback(hostname(origin));
}

function hostname(url: string): string {
  try {
    return new URL(url).hostname.replace(/^\[|\]$/g, '');
  } catch {
    return '';
  }
}

/** True for `localhost`, 127.0.0.0/8 and ::1. */
export function isLoopback(host: string): boolean {
  const name = host.replace(/^::ffff:/, '');
  return name === 'localhost' || name === '::1' || (isIP(name) === 4 && name.startsWith('127.'));
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
    text = await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new TesseraError('invalid_config', `The API key file ${path} cannot be read.`, { cause: error });
  }
  const key = text.trim();
  if (key.length < MIN_KEY_LENGTH) {
    throw new TesseraError('invalid_config', `The API key file ${path} holds no key. Remove it to get a new one.`);
  }
  return key;
}
