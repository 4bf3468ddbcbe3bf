/** Reads bodies of envelope routes in every form that clients send (decision E6). Errors are 400. */

import { hasValidAddressLength } from '../../../chain/address.js';
import { isObject, type JsonObject } from '../../../chain/json-fields.js';
import type { GenesisHashSpec } from '../../../chain/types.js';
import { TesseraError } from '../../../lib/errors.js';
import { stringifyExact } from '../../../lib/json.js';
import { INT64_MAX } from '../../schemas/scalars.js';
import type { CreateItemRequest } from '../mempool/operations.js';

function refuse(message: string): never {
  throw new TesseraError('invalid_request', message);
}

function listOf(value: unknown, limit: number, what: string): readonly unknown[] {
  if (!Array.isArray(value) || value.length === 0) return refuse(`the body must be a list of at least one ${what}.`);
  if (value.length > limit) return refuse(`the body must have at most ${limit} entries.`);
  return value;
}

/** One transaction, or a list of them (docs/clients.md#c4), and a function that names a place in the list. */
export function transactionsOf(body: unknown, limit: number) {
  if (isObject(body)) return { list: [body], placeOf: () => '' };
  return { list: listOf(body, limit, 'transaction'), placeOf: (index: number) => `[${index}]` };
}

/** A list of addresses, or `{address_list: […]}` (docs/clients.md#c7). */
export function readAddresses(body: unknown, limit: number): string[] {
  const list = isObject(body) ? body.address_list : body;
  return listOf(list, limit, 'address').map((address, index) => {
    if (typeof address !== 'string' || !hasValidAddressLength(address)) {
      return refuse(`entry ${index} is not an address.`);
    }
    return address;
  });
}

/** Block numbers. No block has a number that a double cannot hold exactly. */
export function readBlockNumbers(body: unknown, limit: number): number[] {
  return listOf(body, limit, 'block number').map((num, index) => {
    if (typeof num === 'bigint' && num >= 0n && num <= INT64_MAX) return Number.MAX_SAFE_INTEGER;
    if (typeof num !== 'number' || !Number.isSafeInteger(num) || num < 0) {
      return refuse(`entry ${index} is not a whole number from 0 on.`);
    }
    return num;
  });
}

/** A key, or a list of keys (docs/clients.md#c8). */
export function readKeys(body: unknown, limit: number): string | readonly string[] {
  if (typeof body === 'string') return body === '' ? refuse('the key is empty.') : body;
  return listOf(body, limit, 'key').map((key, index) =>
    typeof key === 'string' ? key : refuse(`entry ${index} is not a string.`),
  );
}

/** An item creation under either name of its specification (docs/clients.md#c10); a wallet signs one without keys. */
export function readItem(body: unknown): CreateItemRequest & { readonly genesis_hash_spec: GenesisHashSpec } {
  if (!isObject(body)) return refuse('the body must be an object.');
  return {
    genesis_hash_spec: readSpecs(body),
    item_amount: readAmount(body.item_amount),
    metadata: readMetadata(body.metadata),
    public_key: readText(body, 'public_key'),
    script_public_key: readText(body, 'script_public_key'),
    signature: readText(body, 'signature'),
  };
}

function readAmount(value: unknown): number | bigint {
  const isNumber = typeof value === 'number' && Number.isSafeInteger(value);
  if ((isNumber || typeof value === 'bigint') && value >= 1 && value <= INT64_MAX) return value;
  return refuse(`item_amount must be a whole number from 1 to ${INT64_MAX}.`);
}

/** The specification under either name; if both are given, they must be equal. */
function readSpecs({ genesis_hash_spec: spec, drs_tx_hash_spec: older }: JsonObject): GenesisHashSpec {
  const read = readSpec(spec ?? older);
  if (readSpec(older ?? spec) === read) return read;
  return refuse('genesis_hash_spec and drs_tx_hash_spec are two names of one value and must not differ.');
}

/** The specification: `Default` for no value; a structured value is an object with one key, or `{type: …}`. */
function readSpec(value: unknown): GenesisHashSpec {
  if (value === undefined || value === null) return 'Default';
  const [key, ...more] = isObject(value) ? Object.keys(value) : [];
  const name = isObject(value) ? (more.length === 0 && key !== 'type' ? key : value.type) : value;
  if (typeof name === 'string') {
    if (name.toLowerCase() === 'create') return 'Create';
    if (name.toLowerCase() === 'default') return 'Default';
  }
  return refuse('genesis_hash_spec must be Create or Default.');
}

function readMetadata(value: unknown): string | null {
  if (value === undefined || value === null) return null;
  if (typeof value === 'string') return value;
  return isObject(value) ? stringifyExact(value) : refuse('metadata must be a text, an object or null.');
}

function readText(body: JsonObject, name: string): string | null {
  const value = body[name] ?? null;
  return value === null || typeof value === 'string' ? value : refuse(`${name} must be a string.`);
}
