/**
 * Runs golden vectors: finds the family of each by its category, computes, and compares. There is no skipping: a category,
 * a shape of inputs or an expected member that nothing here knows is a failure.
 */

import { errorMessage } from '../../lib/errors.js';
import { type Computed, differences, isRecord } from './compare.js';
import * as encodings from './encodings.js';
import type { Inputs } from './inputs.js';
import * as keys from './keys.js';
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
  constants: encodings.constantsVector,
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
  token_amount: encodings.amountVector,
  twoway: tradeVector,
  tx_hash: encodings.transactionHashVector,
  tx_ins_address: encodings.txInsVector,
  tx_serialization: encodings.transactionVector,
  tx_validation: validationVector,
  valence_auth: keys.relayVector,
};

/**
 * A vector of this status records what an older layout gave (the legend of the file), so what must not happen is that it
 * comes out again.
 */
const STALE = 'stale';

/** What is wrong with one vector; empty when it passes. Never throws. */
export function runVector(vector: Vector): string[] {
  const family = Object.hasOwn(FAMILIES, vector.category) ? FAMILIES[vector.category] : undefined;
  if (family === undefined) return [`unknown category ${vector.category}`];
  try {
    const problems = differences(vector.expected, family(vector.inputs, vector.expected, vector.name));
    if (vector.status !== STALE) return problems;
    return problems.length > 0 ? [] : ['the value of an older layout came out'];
  } catch (error) {
    return [errorMessage(error)];
  }
}

/** Runs all of them. */
export function runVectors(vectors: readonly Vector[]): Report {
  const failures = vectors
    .map((vector) => ({ id: vector.id, problems: runVector(vector) }))
    .filter(({ problems }) => problems.length > 0);
  return { passed: vectors.length - failures.length, failures };
}

/** The vectors in a parsed file, `{"vectors": [...]}` or the list itself. Throws an Error that says what is wrong. */
export function readVectors(file: unknown): Vector[] {
  const list = isRecord(file) ? file.vectors : file;
  if (!Array.isArray(list)) throw new Error('the file holds no list of vectors');
  return list.map((entry: unknown, index) => {
    if (!isRecord(entry)) throw new Error(`vector ${index} is not an object`);
    const { id, name, category, status, inputs, expected } = entry;
    if (typeof id !== 'string' || typeof category !== 'string')
      throw new Error(`vector ${index} has no id or category`);
    return {
      id,
      name: typeof name === 'string' ? name : '',
      category,
      status: typeof status === 'string' ? status : '',
      inputs: isRecord(inputs) ? inputs : {},
      expected,
    };
  });
}
