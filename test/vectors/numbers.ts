/** Vectors about token amounts and about the constants of the chain (docs/chain.md#constants). */

import * as constants from '../../src/chain/constants.js';
import { parseExactJson, stringifyExact } from '../../src/lib/json.js';
import { type Computed, isRecord } from './compare.js';
import { arrayOf, has, type Inputs, integerOf, textOf, UnknownShapeError } from './inputs.js';
import { saturatingAdd, saturatingDiv, saturatingMul, saturatingSub } from './reference-library.js';

const OPERATIONS: Readonly<Record<string, (a: bigint, b: bigint) => bigint>> = {
  '+': saturatingAdd,
  add: saturatingAdd,
  sum: saturatingAdd,
  '-': saturatingSub,
  sub: saturatingSub,
  '*': saturatingMul,
  mul: saturatingMul,
  '/': saturatingDiv,
  div: saturatingDiv,
};

/** The integer in the first of the members that is there. */
function operandOf(inputs: Inputs, ...names: string[]): bigint {
  const name = names.find((candidate) => has(inputs, candidate));
  if (name === undefined) throw new UnknownShapeError(`no ${names[0]}`);
  return integerOf(inputs, name);
}

/** Saturating arithmetic; `+=`, `add_assign` and their like compute the same as `+`. `sum` folds a list. */
export function amountVector(inputs: Inputs): Computed {
  const result = () => {
    const list = ['values_u64', 'values', 'amounts'].find((name) => has(inputs, name));
    const op = list !== undefined && !has(inputs, 'op') ? 'sum' : textOf(inputs, 'op').replace(/=$|_assign$/, '');
    if (list !== undefined) {
      if (op !== 'sum') throw new UnknownShapeError('a list can only be summed');
      return arrayOf(inputs, list)
        .map((value) => integerOf({ value }, 'value'))
        .reduce(saturatingAdd, 0n);
    }
    const compute = Object.hasOwn(OPERATIONS, op) ? OPERATIONS[op] : undefined;
    if (compute === undefined) throw new UnknownShapeError('no such operation');
    return compute(operandOf(inputs, 'lhs_u64', 'lhs', 'a'), operandOf(inputs, 'rhs_u64', 'rhs', 'b'));
  };
  return { whole: result, members: { u64: result, result, value: result } };
}

const NUMBER_NAMES = [
  ...['ZERO', 'ONE', 'TWO', 'THREE', 'FOUR', 'FIVE', 'SIX', 'SEVEN', 'EIGHT'],
  ...['NINE', 'TEN', 'ELEVEN', 'TWELVE', 'THIRTEEN', 'FOURTEEN', 'FIFTEEN', 'SIXTEEN'],
];

/** Constants by the reference's names, which win over our own: a version 0 address counts bytes there. */
const CONSTANTS: Readonly<Record<string, bigint | number | string>> = {
  ...constants,
  TX_PREPEND: constants.TX_PREFIX,
  BLOCK_PREPEND: constants.BLOCK_PREFIX,
  P2SH_PREPEND: constants.P2SH_PREFIX,
  ITEM_DEFAULT_DRS_TX_HASH: constants.DEFAULT_GENESIS_HASH,
  ITEM_ACCEPT_VAL: 'PAYMENT_ACCEPT',
  V0_ADDRESS_LENGTH: constants.V0_ADDRESS_LENGTH / 2,
  NETWORK_VERSION_SERIALIZED: String(constants.NETWORK_VERSION),
  NETWORK_VERSION_V0: constants.ADDRESS_VERSION_V0,
  NETWORK_VERSION_TEMP: constants.ADDRESS_VERSION_TEMP,
  D_DISPLAY_PLACES: constants.DISPLAY_UNIT,
  D_DISPLAY_PLACES_U64: constants.DISPLAY_UNIT,
  REWARD_ISSUANCE_VAL: constants.REWARD_ISSUANCE_SHIFT,
  REWARD_SMOOTHING_VAL: constants.REWARD_SMOOTHING / constants.DISPLAY_UNIT,
  ED25519_PUBLIC_KEY_LEN: 32,
  ED25519_SIGNATURE_LEN: 64,
  ...Object.fromEntries(NUMBER_NAMES.map((name, value) => [name, value])),
};

/** Numbers as bigints, which may be written as a number or as text. */
function constantOf(name: string): bigint | string {
  const value = Object.hasOwn(CONSTANTS, name) ? CONSTANTS[name] : undefined;
  if (value === undefined) throw new UnknownShapeError(`no constant ${name}`);
  return typeof value === 'number' ? BigInt(value) : value;
}

/**
 * Constants by name, or one that the inputs name; `example_issued` is only a large integer that must come through JSON
 * unharmed.
 */
export function constantsVector(inputs: Inputs, expected: unknown): Computed {
  const members = Object.fromEntries(Object.keys(CONSTANTS).map((name) => [name, () => constantOf(name)]));
  const example = isRecord(expected) ? expected.example_issued : undefined;
  const issued = () => parseExactJson(stringifyExact(BigInt(String(example))));
  const named = has(inputs, 'name') ? 'name' : 'constant';
  if (!has(inputs, named)) return { members: { ...members, example_issued: issued } };
  const value = () => constantOf(textOf(inputs, named));
  return { whole: value, members: { ...members, value } };
}
