/**
 * The opcodes that work on texts (docs/chain.md#opcodes). Positions and lengths are UTF-8 bytes; a cut inside a character
 * aborts the reference and fails the script here (decision B8).
 */

import { readUtf8, utf8, utf8Length } from '../../lib/bytes.js';
import { MAX_SCRIPT_ITEM_SIZE } from '../constants.js';
import type { Machine } from './machine.js';

const CONTINUATION_MASK = 0xc0;
const CONTINUATION = 0x80;

/** `OP_CAT`: s1 s2 -> s1s2, at most 520 bytes. */
export function concatenate(machine: Machine): boolean {
  const s2 = machine.popText();
  const s1 = machine.popText();
  if (s1 === undefined || s2 === undefined || utf8Length(s1) + utf8Length(s2) > MAX_SCRIPT_ITEM_SIZE) return false;
  return machine.pushText(s1 + s2);
}

/** `OP_SUBSTR`: s n1 n2 -> n2 bytes of s from n1 on; both ends must lie inside, and n1 before the end. */
export function substring(machine: Machine): boolean {
  const n2 = machine.popNum();
  const n1 = machine.popNum();
  const text = machine.popText();
  if (n1 === undefined || n2 === undefined || text === undefined) return false;
  const bytes = utf8(text);
  if (n1 >= bytes.length || n1 + n2 > bytes.length) return false;
  return pushSlice(machine, bytes, Number(n1), Number(n1 + n2));
}

/** `OP_LEFT`: s n -> the first n bytes, or all. */
export function left(machine: Machine): boolean {
  const n = machine.popNum();
  const text = machine.popText();
  if (n === undefined || text === undefined) return false;
  const bytes = utf8(text);
  return n >= bytes.length ? machine.pushText(text) : pushSlice(machine, bytes, 0, Number(n));
}

/** `OP_RIGHT`: s n -> what follows the first n bytes, or nothing. */
export function right(machine: Machine): boolean {
  const n = machine.popNum();
  const text = machine.popText();
  if (n === undefined || text === undefined) return false;
  const bytes = utf8(text);
  return n >= bytes.length ? machine.pushText('') : pushSlice(machine, bytes, Number(n), bytes.length);
}

/** `OP_SIZE`: s -> s and its number of bytes. */
export function size(machine: Machine): boolean {
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
