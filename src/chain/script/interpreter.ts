/** Runs scripts (docs/chain.md#script-machine). That one is true proves nothing: `validation.ts` says what may spend an output. */

import { PUBLIC_KEY_LENGTH, SIGNATURE_LENGTH } from '../../crypto/ed25519.js';
import { utf8Length } from '../../lib/bytes.js';
import { MAX_OPS_PER_SCRIPT, MAX_SCRIPT_SIZE, MAX_STACK_SIZE } from '../constants.js';
import type { Script, StackEntry } from '../types.js';
import { isTruthy, Machine } from './machine.js';
import { OP } from './opcodes.js';
import { OPERATIONS } from './operations.js';

const OP_SIZE = 1;
const NUM_SIZE = 8;

/** Hears of each entry: whether its branch is taken, and the stack after it. */
export type OnStep = (entry: StackEntry, isTaken: boolean, stack: readonly StackEntry[]) => void;

/** True when the script is within its limits, no entry fails, every condition is closed and the top is not the number 0. */
export function interpret(script: Script): boolean {
  return scriptFault(script) === null;
}

/** Why the script is not true; null when it is. */
export function scriptFault(script: Script, onStep?: OnStep): string | null {
  if (!isWithinLimits(script)) return `it has more than ${MAX_SCRIPT_SIZE} bytes or ${MAX_OPS_PER_SCRIPT} opcodes`;
  const machine = new Machine();
  for (const [i, entry] of script.entries()) {
    const isTaken = machine.active || (entry.kind === 'op' && isConditional(entry.op));
    const isDone = !isTaken || (entry.kind === 'op' ? executeOp(machine, entry.op) : machine.push(entry));
    onStep?.(entry, isTaken, machine.main);
    if (!isDone) return `entry ${i} fails`;
    if (machine.main.length + machine.alt.length > MAX_STACK_SIZE)
      return `more than ${MAX_STACK_SIZE} entries are on its stacks`;
  }
  const top = machine.main.at(-1);
  if (machine.conditions > 0) return `${machine.conditions} conditions are not closed by OP_ENDIF`;
  return top === undefined || isTruthy(top) ? null : 'the number 0 is left on the stack';
}

/** Executes one opcode; false when it fails. The caller skips ops in a branch that is not taken. */
export function executeOp(machine: Machine, op: number): boolean {
  return OPERATIONS[op]?.(machine) ?? false;
}

/** The limits before a script runs: 10,000 bytes, 201 opcodes, skipped ones included (docs/chain.md#script-machine). */
function isWithinLimits(script: Script): boolean {
  let size = 0;
  let ops = 0;
  for (const entry of script) {
    size += entrySize(entry);
    if (entry.kind === 'op') ops += 1;
  }
  return size <= MAX_SCRIPT_SIZE && ops <= MAX_OPS_PER_SCRIPT;
}

function entrySize(entry: StackEntry): number {
  switch (entry.kind) {
    case 'op':
      return OP_SIZE;
    case 'signature':
      return SIGNATURE_LENGTH;
    case 'pubkey':
      return PUBLIC_KEY_LENGTH;
    case 'num':
      return NUM_SIZE;
    case 'bytes':
      return utf8Length(entry.text);
  }
}

function isConditional(op: number): boolean {
  return op >= OP.IF && op <= OP.ENDIF;
}
