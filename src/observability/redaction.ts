/** Redaction of log lines, by type (byte arrays show only their length) and by name (passphrases, keys, tokens). Errors become plain data. */

import { isTesseraError } from '../lib/errors.js';

const REDACTED = '<redacted>';
/** Levels of nested objects that are shown. */
const MAX_DEPTH = 4;
/** Entries of a list that are shown. */
const MAX_ENTRIES = 50;

/** Names are compared in lower case without `_` and `-`. A public key is no secret. */
const SECRET_NAMES = new Set([
  'passphrase',
  'oldpassphrase',
  'newpassphrase',
  'password',
  'secret',
  'secretkey',
  'privatekey',
  'masterkey',
  'seed',
  'mnemonic',
  'keypair',
  'apikey',
  'xapikey',
  'authorization',
  'token',
  'cookie',
]);

/** A copy of the fields that may be written. */
export function redactFields(fields: object): Record<string, unknown> {
  return cleanObject(fields, MAX_DEPTH);
}

function cleanObject(value: object, depth: number): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  for (const [name, member] of Object.entries(value)) {
    result[name] = isSecretName(name) && member !== undefined ? REDACTED : clean(member, depth - 1);
  }
  return result;
}

function isSecretName(name: string): boolean {
  return SECRET_NAMES.has(name.toLowerCase().replace(/[_-]/g, ''));
}

function clean(value: unknown, depth: number): unknown {
  if (typeof value !== 'object' || value === null) return typeof value === 'function' ? '<function>' : value;
  if (value instanceof Uint8Array) return `<${value.length} bytes>`;
  if (value instanceof Error) return cleanError(value, depth);
  if (value instanceof Date || value instanceof URL) return value;
  if (depth <= 0) return '<…>';
  if (Array.isArray(value)) return cleanList(value, depth);
  if (value instanceof Set) return cleanList([...value], depth);
  if (value instanceof Map) return cleanObject(Object.fromEntries(value), depth);
  return cleanObject(value, depth);
}

function cleanList(values: readonly unknown[], depth: number): unknown[] {
  const shown = values.slice(0, MAX_ENTRIES).map((item) => clean(item, depth - 1));
  return values.length > MAX_ENTRIES ? [...shown, `<${values.length - MAX_ENTRIES} more>`] : shown;
}

function cleanError(error: Error, depth: number): Record<string, unknown> {
  const result: Record<string, unknown> = { type: error.name, message: error.message, stack: error.stack };
  if (isTesseraError(error)) {
    result.code = error.code;
    if (Object.keys(error.details).length > 0 && depth > 0) result.details = cleanObject(error.details, depth);
  } else if ('code' in error) result.code = error.code;
  if (error.cause !== undefined && depth > 0) result.cause = clean(error.cause, depth - 1);
  return result;
}
