/** Vectors about scripts: single opcodes, whole scripts, limits, bytes (docs/chain.md#script-machine). */

import { p2shAddress } from '../../src/chain/address.js';
import { decodeScript, encodeScript } from '../../src/chain/codec.js';
import { entryView } from '../../src/chain/json.js';
import { executeOp, interpret } from '../../src/chain/script/interpreter.js';
import { Machine } from '../../src/chain/script/machine.js';
import { OPCODES, opcodeIndex } from '../../src/chain/script/opcodes.js';
import type { Script, StackEntry } from '../../src/chain/types.js';
import { toHex } from '../../src/lib/bytes.js';
import { type Computed, isRecord } from './compare.js';
import { exact, has, hexOf, type Inputs, integerOf, scriptOf, textOf, UnknownShapeError } from './inputs.js';

/** What a vector expects of an opcode that fails. */
const FAIL = 'fail';

/** As vectors write stacks: keys and signatures as hex. */
function stackView(entries: readonly StackEntry[]): unknown[] {
  return entries.map((entry) => {
    if (entry.kind === 'signature') return { Signature: toHex(entry.bytes) };
    if (entry.kind === 'pubkey') return { PubKey: toHex(entry.bytes) };
    return entryView(entry);
  });
}

/** The opcode stands in the inputs, or as the first word of the vector's name. */
function opOf(inputs: Inputs, name: string): number {
  const text = inputs.op ?? inputs.opcode ?? name.split(' ')[0];
  const op = typeof text === 'string' ? opcodeIndex(text) : undefined;
  if (op === undefined) throw new UnknownShapeError('no opcode');
  return op;
}

function machineOf(inputs: Inputs): Machine {
  if (!has(inputs, 'main_stack') && !has(inputs, 'alt_stack') && !has(inputs, 'cond_stack'))
    throw new UnknownShapeError('no stack');
  const conditions = isRecord(inputs.cond_stack) ? inputs.cond_stack : { size: 0, first_false_pos: null };
  const position = conditions.first_false_pos ?? null;
  const machine = new Machine();
  machine.main.push(...scriptOf(inputs.main_stack ?? []));
  machine.alt.push(...scriptOf(inputs.alt_stack ?? []));
  machine.conditions = Number(integerOf(conditions, 'size'));
  machine.firstFalse = position === null ? null : Number(integerOf(conditions, 'first_false_pos'));
  return machine;
}

/** One opcode on a machine; an opcode that fails is `fail` as a whole and in every member. */
export function opVector(inputs: Inputs, name: string): Computed {
  const machine = machineOf(inputs);
  const succeeded = executeOp(machine, opOf(inputs, name));
  const unlessFailed = (value: () => unknown) => () => (succeeded ? value() : FAIL);
  return {
    whole: () => (succeeded ? { main_stack: stackView(machine.main) } : FAIL),
    members: {
      main_stack: unlessFailed(() => stackView(machine.main)),
      alt_stack: unlessFailed(() => stackView(machine.alt)),
      cond_stack: unlessFailed(() => ({ size: machine.conditions, first_false_pos: machine.firstFalse })),
    },
  };
}

function entryOf(inputs: Inputs): StackEntry {
  const kind = textOf(inputs, 'entry_kind');
  const { entry } = inputs;
  // A text is described by its length alone.
  const payload = kind === 'Bytes' && typeof entry === 'number' ? 'a'.repeat(entry) : entry;
  const [parsed] = scriptOf([{ [kind]: payload }]);
  if (parsed === undefined) throw new UnknownShapeError('no entry');
  return parsed;
}

function scriptOfInputs(inputs: Inputs): Script {
  if (has(inputs, 'stack')) return scriptOf(inputs.stack);
  if (has(inputs, 'script')) return isRecord(inputs.script) ? scriptOf(inputs.script.stack) : scriptOf(inputs.script);
  if (has(inputs, 'bincode_hex')) return decodeScript(hexOf(inputs, 'bincode_hex'));
  if (!has(inputs, 'entry_kind', 'repeat')) throw new UnknownShapeError('no script');
  return new Array<StackEntry>(Number(integerOf(inputs, 'repeat'))).fill(entryOf(inputs));
}

/** A whole script: its verdict, as a whole, its bytes and address. */
export function scriptVector(inputs: Inputs): Computed {
  const script = scriptOfInputs(inputs);
  const verdict = () => interpret(script);
  const bytes = () => reencoded(script);
  return {
    whole: verdict,
    members: {
      interpret: verdict,
      valid: verdict,
      is_valid: verdict,
      result: verdict,
      bincode_hex: bytes,
      length: () => bytes().length,
      p2sh_address: () => p2shAddress(script),
      stack: () => exact(stackView(script)),
    },
  };
}

/** The bytes, after a way through the decoder. */
function reencoded(script: Script): Uint8Array {
  return encodeScript(decodeScript(encodeScript(script)));
}

export function opcodeTableVector(): Computed {
  return {
    whole: () =>
      OPCODES.map(({ name, index, discriminant }) => ({
        name,
        bincode_index: index,
        discriminant_hex: `0x${discriminant.toString(16).padStart(2, '0')}`,
      })),
  };
}
