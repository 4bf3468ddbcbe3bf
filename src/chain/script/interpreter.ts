/**
 * Runs scripts (docs/chain.md#script-machine). A true script alone proves nothing: `validation.ts` says what may spend an output. An opcode whose
 * effect (docs/chain.md#opcodes) is false fails the script; of two operands, the second is on top.
 */

import { PUBLIC_KEY_LENGTH, SIGNATURE_LENGTH, verifySignature } from '../../crypto/ed25519.js';
import { sha3Hex } from '../../crypto/sha3.js';
import { readUtf8, utf8, utf8Length } from '../../lib/bytes.js';
import { addressOf } from '../address.js';
import {
  MAX_OPS_PER_SCRIPT,
  MAX_PUB_KEYS_PER_MULTISIG,
  MAX_SCRIPT_ITEM_SIZE,
  MAX_SCRIPT_SIZE,
  MAX_STACK_SIZE,
  U64_MAX,
} from '../constants.js';
import type { AddressVersion, Script, StackEntry } from '../types.js';
import { equalEntries, isTruthy, Machine } from './machine.js';
import { OP, OPCODES } from './opcodes.js';

export type Operation = (machine: Machine) => boolean;

/** Shifts look at the low 32 bits of their distance. */
const SHIFT_MASK = 0xffff_ffffn;
const WORD_BITS = 64n;

const nothing: Operation = () => true;

function unary(compute: (n: bigint) => bigint | undefined): Operation {
  return (machine) => {
    const n = machine.popNum();
    return n === undefined ? false : pushInRange(machine, compute(n));
  };
}

function binary(compute: (n1: bigint, n2: bigint) => bigint | undefined): Operation {
  return (machine) => {
    const n2 = machine.popNum();
    const n1 = machine.popNum();
    return n1 === undefined || n2 === undefined ? false : pushInRange(machine, compute(n1, n2));
  };
}

function comparison(compute: (n1: bigint, n2: bigint) => boolean): Operation {
  return binary((n1, n2) => (compute(n1, n2) ? 1n : 0n));
}

/** Pushes a result; fails when it is missing, negative or beyond 2^64-1. */
function pushInRange(machine: Machine, result: bigint | undefined): boolean {
  return result === undefined || result < 0n || result > U64_MAX ? false : machine.pushNum(result);
}

function shift(compute: (n: bigint, distance: bigint) => bigint): Operation {
  return binary((n, by) => {
    const distance = by & SHIFT_MASK;
    return distance >= WORD_BITS ? undefined : BigInt.asUintN(64, compute(n, distance));
  });
}

/** Replaces the top `count` entries by those at the given positions among them, 0 being the deepest. */
function rearrange(count: number, positions: readonly number[]): Operation {
  return ({ main }) => {
    if (main.length < count) return false;
    const taken = main.splice(main.length - count, count);
    for (const position of positions) {
      const entry = taken[position];
      if (entry !== undefined) main.push(entry);
    }
    return true;
  };
}

/** The operation of `OP_PICK`, which copies, or `OP_ROLL`, which moves, the entry that many below the top. */
function fetch(remove: boolean): Operation {
  return (machine) => {
    const depth = machine.popNum();
    const { main } = machine;
    if (depth === undefined || depth >= BigInt(main.length)) return false;
    const index = main.length - 1 - Number(depth);
    const entry = remove ? main.splice(index, 1)[0] : main[index];
    return entry === undefined ? false : machine.push(entry);
  };
}

function condition(isTrue: (n: bigint) => boolean): Operation {
  return (machine) => {
    if (!machine.active) {
      machine.pushCondition(false);
      return true;
    }
    const n = machine.popNum();
    if (n === undefined) return false;
    machine.pushCondition(isTrue(n));
    return true;
  };
}

function equality(machine: Machine): boolean | undefined {
  const b = machine.main.pop();
  const a = machine.main.pop();
  return a === undefined || b === undefined ? undefined : equalEntries(a, b);
}

function equal(machine: Machine): boolean {
  const same = equality(machine);
  return same === undefined ? false : machine.pushFlag(same);
}

function verify(machine: Machine): boolean {
  const entry = machine.main.pop();
  return entry !== undefined && isTruthy(entry);
}

function toAlt({ main, alt }: Machine): boolean {
  const entry = main.pop();
  if (entry === undefined) return false;
  alt.push(entry);
  return true;
}

function fromAlt({ main, alt }: Machine): boolean {
  const entry = alt.pop();
  if (entry === undefined) return false;
  main.push(entry);
  return true;
}

function duplicateIfTrue({ main }: Machine): boolean {
  const top = main.at(-1);
  if (top === undefined) return false;
  if (isTruthy(top)) main.push(top);
  return true;
}

function numEqualVerify(machine: Machine): boolean {
  const n2 = machine.popNum();
  const n1 = machine.popNum();
  return n1 !== undefined && n1 === n2;
}

function within(machine: Machine): boolean {
  const n3 = machine.popNum();
  const n2 = machine.popNum();
  const n1 = machine.popNum();
  if (n1 === undefined || n2 === undefined || n3 === undefined) return false;
  return machine.pushFlag(n2 <= n1 && n1 < n3);
}

const BY_NAME: Readonly<Record<string, Operation>> = {
  OP_NOP: nothing,
  OP_IF: condition((n) => n !== 0n),
  OP_NOTIF: condition((n) => n === 0n),
  OP_ELSE: (machine) => machine.toggleCondition(),
  OP_ENDIF: (machine) => machine.popCondition(),
  OP_VERIFY: verify,
  OP_BURN: () => false,
  OP_TOALTSTACK: toAlt,
  OP_FROMALTSTACK: fromAlt,
  OP_2DROP: rearrange(2, []),
  OP_2DUP: rearrange(2, [0, 1, 0, 1]),
  OP_3DUP: rearrange(3, [0, 1, 2, 0, 1, 2]),
  OP_2OVER: rearrange(4, [0, 1, 2, 3, 0, 1]),
  OP_2ROT: rearrange(6, [2, 3, 4, 5, 0, 1]),
  OP_2SWAP: rearrange(4, [2, 3, 0, 1]),
  OP_IFDUP: duplicateIfTrue,
  OP_DEPTH: (machine) => machine.pushNum(BigInt(machine.main.length)),
  OP_DROP: rearrange(1, []),
  OP_DUP: rearrange(1, [0, 0]),
  OP_NIP: rearrange(2, [1]),
  OP_OVER: rearrange(2, [0, 1, 0]),
  OP_PICK: fetch(false),
  OP_ROLL: fetch(true),
  OP_ROT: rearrange(3, [1, 2, 0]),
  OP_SWAP: rearrange(2, [1, 0]),
  OP_TUCK: rearrange(2, [1, 0, 1]),
  OP_CAT: concatenate,
  OP_SUBSTR: substring,
  OP_LEFT: left,
  OP_RIGHT: right,
  OP_SIZE: size,
  OP_INVERT: unary((n) => U64_MAX - n),
  OP_AND: binary((n1, n2) => n1 & n2),
  OP_OR: binary((n1, n2) => n1 | n2),
  OP_XOR: binary((n1, n2) => n1 ^ n2),
  OP_EQUAL: equal,
  OP_EQUALVERIFY: (machine) => equality(machine) === true,
  OP_1ADD: unary((n) => n + 1n),
  OP_1SUB: unary((n) => n - 1n),
  OP_2MUL: unary((n) => n * 2n),
  OP_2DIV: unary((n) => n / 2n),
  OP_NOT: unary((n) => (n === 0n ? 1n : 0n)),
  OP_0NOTEQUAL: unary((n) => (n === 0n ? 0n : 1n)),
  OP_ADD: binary((n1, n2) => n1 + n2),
  OP_SUB: binary((n1, n2) => n1 - n2),
  OP_MUL: binary((n1, n2) => n1 * n2),
  OP_DIV: binary((n1, n2) => (n2 === 0n ? undefined : n1 / n2)),
  OP_MOD: binary((n1, n2) => (n2 === 0n ? undefined : n1 % n2)),
  OP_LSHIFT: shift((n, distance) => n << distance),
  OP_RSHIFT: shift((n, distance) => n >> distance),
  OP_BOOLAND: comparison((n1, n2) => n1 !== 0n && n2 !== 0n),
  OP_BOOLOR: comparison((n1, n2) => n1 !== 0n || n2 !== 0n),
  OP_NUMEQUAL: comparison((n1, n2) => n1 === n2),
  OP_NUMEQUALVERIFY: numEqualVerify,
  OP_NUMNOTEQUAL: comparison((n1, n2) => n1 !== n2),
  OP_LESSTHAN: comparison((n1, n2) => n1 < n2),
  OP_GREATERTHAN: comparison((n1, n2) => n1 > n2),
  OP_LESSTHANOREQUAL: comparison((n1, n2) => n1 <= n2),
  OP_GREATERTHANOREQUAL: comparison((n1, n2) => n1 >= n2),
  OP_MIN: binary((n1, n2) => (n1 < n2 ? n1 : n2)),
  OP_MAX: binary((n1, n2) => (n1 > n2 ? n1 : n2)),
  OP_WITHIN: within,
  OP_SHA3: hashTop,
  OP_HASH256: pushAddress(null),
  OP_HASH256_V0: pushAddress(0),
  OP_HASH256_TEMP: pushAddress(99_999),
  OP_CHECKSIG: (machine) => pushVerdict(machine, checkSignature(machine)),
  OP_CHECKSIGVERIFY: (machine) => checkSignature(machine) === true,
  OP_CHECKMULTISIG: (machine) => pushVerdict(machine, checkMultiSignature(machine)),
  OP_CHECKMULTISIGVERIFY: (machine) => checkMultiSignature(machine) === true,
  OP_CREATE: nothing,
};

function pushVerdict(machine: Machine, verdict: boolean | undefined): boolean {
  return verdict === undefined ? false : machine.pushFlag(verdict);
}

function operationOf(index: number, name: string): Operation {
  if (index <= OP.OP_16) return (machine) => machine.pushNum(BigInt(index));
  // Only OP_NOP1 to OP_NOP10 are missing in the table; a test compares it with the list of opcodes.
  return BY_NAME[name] ?? nothing;
}

/** The operations by opcode index. */
export const OPERATIONS: readonly Operation[] = OPCODES.map(({ index, name }) => operationOf(index, name));

/** `OP_SHA3`: the hex text of the hash of a text, key or signature. */
function hashTop(machine: Machine): boolean {
  const entry = machine.main.pop();
  if (entry === undefined || entry.kind === 'num' || entry.kind === 'op') return false;
  return machine.pushText(sha3Hex(entry.kind === 'bytes' ? entry.text : entry.bytes));
}

/** `OP_HASH256` and its two siblings: the address of a public key. */
function pushAddress(version: AddressVersion): (machine: Machine) => boolean {
  return (machine) => {
    const publicKey = machine.popPublicKey();
    return publicKey === undefined ? false : machine.pushText(addressOf(publicKey, version));
  };
}

/** `OP_CHECKSIG`: message, signature, key -> whether it verifies over the UTF-8 bytes of the message. */
function checkSignature(machine: Machine): boolean | undefined {
  const publicKey = machine.popPublicKey();
  const signature = machine.popSignature();
  const message = machine.popText();
  if (publicKey === undefined || signature === undefined || message === undefined) return undefined;
  return verifySignature(publicKey, message, signature);
}

/** `OP_CHECKMULTISIG`: message, signatures, m, keys, n -> whether each signature has a key of its own. */
function checkMultiSignature(machine: Machine): boolean | undefined {
  const n = machine.popNum();
  if (n === undefined || n > MAX_PUB_KEYS_PER_MULTISIG) return undefined;
  const publicKeys = machine.popAll('pubkey');
  if (BigInt(publicKeys.length) !== n) return undefined;
  const m = machine.popNum();
  if (m === undefined || m > n) return undefined;
  const signatures = machine.popAll('signature');
  if (BigInt(signatures.length) !== m) return undefined;
  const message = machine.popText();
  if (message === undefined) return undefined;
  return signatures.every((signature) => {
    const index = publicKeys.findIndex((publicKey) => verifySignature(publicKey, message, signature));
    if (index === -1) return false;
    publicKeys.splice(index, 1);
    return true;
  });
}

const CONTINUATION_MASK = 0xc0;
const CONTINUATION = 0x80;

/** `OP_CAT`: s1 s2 -> s1s2, at most 520 bytes. */
function concatenate(machine: Machine): boolean {
  const s2 = machine.popText();
  const s1 = machine.popText();
  if (s1 === undefined || s2 === undefined || utf8Length(s1) + utf8Length(s2) > MAX_SCRIPT_ITEM_SIZE) return false;
  return machine.pushText(s1 + s2);
}

/** `OP_SUBSTR`: s n1 n2 -> n2 bytes of s from n1 on; both ends must lie inside, and n1 before the end. */
function substring(machine: Machine): boolean {
  const n2 = machine.popNum();
  const n1 = machine.popNum();
  const text = machine.popText();
  if (n1 === undefined || n2 === undefined || text === undefined) return false;
  const bytes = utf8(text);
  if (n1 >= bytes.length || n1 + n2 > bytes.length) return false;
  return pushSlice(machine, bytes, Number(n1), Number(n1 + n2));
}

/** `OP_LEFT`: s n -> the first n bytes, or all. */
function left(machine: Machine): boolean {
  const n = machine.popNum();
  const text = machine.popText();
  if (n === undefined || text === undefined) return false;
  const bytes = utf8(text);
  return n >= bytes.length ? machine.pushText(text) : pushSlice(machine, bytes, 0, Number(n));
}

/** `OP_RIGHT`: s n -> what follows the first n bytes, or nothing. */
function right(machine: Machine): boolean {
  const n = machine.popNum();
  const text = machine.popText();
  if (n === undefined || text === undefined) return false;
  const bytes = utf8(text);
  return n >= bytes.length ? machine.pushText('') : pushSlice(machine, bytes, Number(n), bytes.length);
}

/** `OP_SIZE`: s -> s and its number of bytes. */
function size(machine: Machine): boolean {
  const top = machine.main.at(-1);
  return top?.kind === 'bytes' ? machine.pushNum(BigInt(utf8Length(top.text))) : false;
}

function pushSlice(machine: Machine, bytes: Uint8Array, start: number, end: number): boolean {
  if (!isBoundary(bytes, start) || !isBoundary(bytes, end)) return false;
  const slice = readUtf8(bytes, start, end);
  return slice !== undefined && machine.pushText(slice);
}

function isBoundary(bytes: Uint8Array, at: number): boolean {
  return at >= bytes.length || ((bytes[at] ?? 0) & CONTINUATION_MASK) !== CONTINUATION;
}

const OP_SIZE = 1;
const NUM_SIZE = 8;

/** Called with each entry of a script: whether its branch is taken, and the stack after it. */
export type OnStep = (entry: StackEntry, isTaken: boolean, stack: readonly StackEntry[]) => void;

/** True when the script is within its limits, no entry fails, every condition is closed and the top is not the number 0. */
export function interpret(script: Script): boolean {
  return scriptFault(script) === null;
}

/** The reason why the script is not true; null when it is. */
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
