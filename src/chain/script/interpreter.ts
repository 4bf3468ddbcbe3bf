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

/** True when the script is within its limits, no entry fails, every condition is closed and the top is not the number 0. */
export function interpret(script: Script): boolean {
  if (!isWithinLimits(script)) return false;
  const machine = new Machine();
  for (const entry of script) {
    if (entry.kind === 'op') {
      if (!machine.active && !isConditional(entry.op)) continue;
      if (!executeOp(machine, entry.op)) return false;
    } else if (machine.active && !machine.push(entry)) {
      return false;
    }
    if (machine.main.length + machine.alt.length > MAX_STACK_SIZE) return false;
  }
  const top = machine.main.at(-1);
  return machine.conditions === 0 && (top === undefined || isTruthy(top));
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
