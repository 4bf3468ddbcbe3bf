/**
 * Runs golden vectors: finds the family of each by its category, computes, and compares. There is no skipping: a category,
 * a shape of inputs or an expected member that nothing here knows is a failure.
 */

import { errorMessage } from '../../src/lib/errors.js';
import { type Computed, differences, isRecord } from './compare.js';
import * as encodings from './encodings.js';
import type { Inputs } from './inputs.js';
import * as keys from './keys.js';
import { amountVector, constantsVector } from './numbers.js';
import { paymentVector, tradeVector } from './payments.js';
import * as scripts from './scripts.js';
import { signableVector } from './signables.js';
import { validationVector } from './validations.js';

/** One line of a vector file. */
export interface Vector {
  readonly id: string;
  readonly name: string;
  readonly category: string;
  readonly status: string;
  readonly inputs: Inputs;
  readonly expected: unknown;
  /** What is wrong with the entry itself; it fails without being run. */
  readonly fault?: string;
}

export interface Failure {
  readonly id: string;
  readonly problems: readonly string[];
}

export interface Report {
  readonly passed: number;
  readonly failures: readonly Failure[];
}

type Family = (inputs: Inputs, expected: unknown, name: string) => Computed;

const FAMILIES: Readonly<Record<string, Family>> = {
  address: keys.addressVector,
  block_hash: encodings.blockVector,
  constants: constantsVector,
  item_payload: keys.itemPayloadVector,
  json_shape: encodings.jsonVector,
  key: keys.keyVector,
  keystore: keys.keystoreVector,
  merkle: encodings.merkleVector,
  mnemonic: keys.mnemonicVector,
  opcode_table: scripts.opcodeTableVector,
  payment: paymentVector,
  script_bincode: scripts.scriptVector,
  script_interpret: scripts.scriptVector,
  script_limits: scripts.scriptVector,
  script_op: (inputs, _expected, name) => scripts.opVector(inputs, name),
  signable: signableVector,
  signature: keys.signatureVector,
  struct_bincode: encodings.structVector,
  token_amount: amountVector,
  twoway: tradeVector,
  tx_hash: encodings.transactionHashVector,
  tx_ins_address: encodings.txInsVector,
  tx_serialization: encodings.transactionVector,
  tx_validation: validationVector,
  valence_auth: keys.relayVector,
};

/**
 * A vector of this status records what an older layout gave (the legend of the file), so what must not happen is that it
 * comes out again. Inputs in a form that cannot be read any more cannot bring it out either.
 */
const STALE = 'stale';

/** What is wrong with one vector; empty when it passes. Never throws. */
export function runVector(vector: Vector): string[] {
  if (vector.fault !== undefined) return [vector.fault];
  const family = Object.hasOwn(FAMILIES, vector.category) ? FAMILIES[vector.category] : undefined;
  if (family === undefined) return [`unknown category ${vector.category}`];
  try {
    const problems = differences(vector.expected, family(vector.inputs, vector.expected, vector.name));
    if (vector.status !== STALE) return problems;
    return problems.length > 0 ? [] : ['the value of an older layout came out'];
  } catch (error) {
    return vector.status === STALE ? [] : [errorMessage(error)];
  }
}

/** Runs all of them. */
export function runVectors(vectors: readonly Vector[]): Report {
  const failures = vectors
    .map((vector) => ({ id: vector.id, problems: runVector(vector) }))
    .filter(({ problems }) => problems.length > 0);
  return { passed: vectors.length - failures.length, failures };
}

/**
 * The vectors in a parsed file, `{"vectors": [...]}` or the list itself. An entry that is no vector becomes one with a
 * fault, named by its index. Throws an Error when there is no list.
 */
export function readVectors(file: unknown): Vector[] {
  const list = isRecord(file) ? file.vectors : file;
  if (!Array.isArray(list)) throw new Error('the file holds no list of vectors');
  return list.map(readVector);
}

function readVector(entry: unknown, index: number): Vector {
  const { id, name, category, status, inputs = null, expected } = isRecord(entry) ? entry : {};
  const textOr = (value: unknown, other: string) => (typeof value === 'string' && value !== '' ? value : other);
  const fault = faultOf(entry);
  return {
    id: textOr(id, `vector ${index}`),
    name: textOr(name, ''),
    category: textOr(category, ''),
    status: textOr(status, ''),
    inputs: isRecord(inputs) ? inputs : {},
    expected,
    ...(fault === undefined ? {} : { fault }),
  };
}

function faultOf(entry: unknown): string | undefined {
  if (!isRecord(entry)) return 'not an object';
  const { id, category, inputs = null, expected } = entry;
  if (typeof id !== 'string' || id === '') return 'no id';
  if (typeof category !== 'string' || category === '') return 'no category';
  if (inputs !== null && !isRecord(inputs)) return 'inputs must be an object';
  return expected === undefined ? 'no expected value' : undefined;
}
