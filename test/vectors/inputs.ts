/**
 * Reads the inputs of vectors. Vectors write scripts, keys and large integers in several spellings; this file turns them
 * into the structures of the chain. What is not understood throws, and the vector fails.
 */

import { addressVersionOf } from '../../src/chain/address.js';
import { parseOutPoint, parseScript, parseTransaction, parseTxOut } from '../../src/chain/json-read.js';
import { pay2pkhScript } from '../../src/chain/script/builders.js';
import type { AddressVersion, Script, Transaction, TxIn, TxOut } from '../../src/chain/types.js';
import { type KeyPair, parseSecretKey } from '../../src/crypto/ed25519.js';
import { fromHex } from '../../src/lib/bytes.js';
import { parseExactJson } from '../../src/lib/json.js';
import { isRecord } from './compare.js';

export type Inputs = Readonly<Record<string, unknown>>;

/** Thrown when no way of computing a vector fits its inputs. */
export class UnknownShapeError extends Error {
  constructor(what: string) {
    super(`unknown input shape: ${what}`);
    this.name = 'UnknownShapeError';
  }
}

const DECIMAL = /^\d+$/;
/** Members that hold integers which vectors may write as decimal text. */
const INTEGER_MEMBERS = new Set(['Num', 'Token', 'amount', 'locktime', 'version', 'participants', 'tokens']);

/** True when all the members are there (null counts). */
export function has(inputs: Inputs, ...names: string[]): boolean {
  return names.every((name) => inputs[name] !== undefined);
}

export function textOf(inputs: Inputs, name: string): string {
  const value = inputs[name];
  if (typeof value !== 'string') throw new UnknownShapeError(`${name} must be a string`);
  return value;
}

export function hexOf(inputs: Inputs, name: string): Uint8Array {
  return fromHex(textOf(inputs, name));
}

export function recordOf(inputs: Inputs, name: string): Record<string, unknown> {
  const value = inputs[name];
  if (!isRecord(value)) throw new UnknownShapeError(`${name} must be an object`);
  return value;
}

export function arrayOf(inputs: Inputs, name: string): readonly unknown[] {
  const value = inputs[name];
  if (!Array.isArray(value)) throw new UnknownShapeError(`${name} must be an array`);
  return value;
}

/** A whole number, bare or as decimal text. */
export function integerOf(inputs: Inputs, name: string): bigint {
  const value = inputs[name];
  if (typeof value === 'bigint') return value;
  if (typeof value === 'number' && Number.isSafeInteger(value)) return BigInt(value);
  if (typeof value === 'string' && DECIMAL.test(value)) return BigInt(value);
  throw new UnknownShapeError(`${name} must be an integer`);
}

export function versionOf(inputs: Inputs, name = 'address_version'): AddressVersion {
  const value = inputs[name];
  return value === null || value === undefined ? null : addressVersionOf(integerOf(inputs, name));
}

/** The key pair in any of the members that vectors use; undefined when there is none. */
export function keyOf(inputs: Inputs): KeyPair | undefined {
  for (const name of [
    'secret_key_hex',
    'secret_key_pkcs8_hex',
    'pkcs8_hex',
    'seed_hex',
    'secret_key',
    'senderSecretKey',
  ]) {
    if (has(inputs, name)) return parseSecretKey(hexOf(inputs, name));
  }
  return undefined;
}

export function requiredKeyOf(inputs: Inputs): KeyPair {
  const key = keyOf(inputs);
  if (key === undefined) throw new UnknownShapeError('no secret key');
  return key;
}

/** A value as serde would have it: members that hold integers as decimal text become bigints. */
export function exact(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(exact);
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => {
      const isInteger = INTEGER_MEMBERS.has(name) && typeof member === 'string' && DECIMAL.test(member);
      return [name, isInteger ? BigInt(member) : exact(member)];
    }),
  );
}

/** The structure in `name` (an object) or `name_json` (its text or an object); without a name it is `json`. */
export function structureOf(inputs: Inputs, name: string): unknown {
  const value = inputs[jsonName(name)] ?? inputs[name];
  return typeof value === 'string' ? parseExactJson(value) : exact(value);
}

export function hasStructure(inputs: Inputs, name: string): boolean {
  const value = inputs[jsonName(name)];
  return typeof value === 'string' || isRecord(value) || isRecord(inputs[name]);
}

function jsonName(name: string): string {
  return name === '' ? 'json' : `${name}_json`;
}

export function scriptOf(stack: unknown): Script {
  return parseScript({ stack: exact(stack) });
}

/** An input with its script as `stack`, `script_signature`, `pay2pkh` or `Pay2PkH`. */
export function txInOf(value: unknown): TxIn {
  if (!isRecord(value)) throw new UnknownShapeError('an input must be an object');
  const previousOut = value.previous_out ?? null;
  return { previousOut: previousOut === null ? null : parseOutPoint(previousOut), script: scriptOfInput(value) };
}

function scriptOfInput(value: Record<string, unknown>): Script {
  if (value.stack !== undefined) return scriptOf(value.stack);
  if (isRecord(value.pay2pkh)) {
    const parts = value.pay2pkh;
    const key = hexOf(parts, 'public_key_hex');
    return pay2pkhScript(textOf(parts, 'check_data'), hexOf(parts, 'signature_hex'), key, versionOf(parts));
  }
  const script = recordOf(value, 'script_signature');
  if (script.stack !== undefined) return scriptOf(script.stack);
  const parts = recordOf(script, 'Pay2PkH');
  const data = parts.signable_data === null ? '' : textOf(parts, 'signable_data');
  return pay2pkhScript(data, hexOf(parts, 'signature'), hexOf(parts, 'public_key'), versionOf(parts));
}

/** A transaction in the chain's JSON, or in the form that clients submit. */
export function transactionOf(value: unknown): Transaction {
  if (!isRecord(value)) throw new UnknownShapeError('a transaction must be an object');
  const rest = parseTransaction({ ...value, inputs: [], fees: value.fees ?? [] });
  return { ...rest, inputs: arrayOf(value, 'inputs').map(txInOf) };
}

/** Outputs as an array, or as `outputs_json`: their JSON texts one after the other, or an array. */
export function outputsOf(inputs: Inputs): TxOut[] {
  const text = inputs.outputs_json;
  if (typeof text !== 'string') return arrayOf(inputs, 'outputs').map((output) => parseTxOut(exact(output)));
  const list = parseExactJson(text.startsWith('[') ? text : `[${text.replaceAll('}{"value"', '},{"value"')}]`);
  return arrayOf({ list }, 'list').map((output) => parseTxOut(output));
}
