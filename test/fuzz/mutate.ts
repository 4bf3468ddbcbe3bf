/** Changes to bytes that break formats: what lengths, tags, texts and ends are most often wrong about. */

import type { Dice } from './dice.js';

/** Numbers at which readers break, in the widths that they are written in. */
const NUMBERS: readonly bigint[] = [
  0n,
  1n,
  0x7fn,
  0x80n,
  0xffn,
  0x7fff_ffffn,
  0x8000_0000n,
  0xffff_ffffn,
  0x1_0000_0000n,
  2n ** 53n - 1n,
  2n ** 53n,
  2n ** 63n,
  2n ** 64n - 1n,
];
const WIDTHS = [1, 2, 4, 8] as const;
/** UTF-8 that is not well-formed, and characters that something treats in its own way. */
const TEXTS: readonly Uint8Array[] = [
  [0xff],
  [0xc0, 0x80],
  [0xed, 0xa0, 0x80],
  [0xf4, 0x90, 0x80, 0x80],
  [0xe2, 0x80, 0xa8],
  [0x00],
  [0x22],
  [0x5c],
  [0x1b, 0x5b],
].map((bytes) => Uint8Array.from(bytes));
/** Bytes of the largest input. */
const MAX_LENGTH = 16 * 1024;
const MAX_CHANGES = 6;
const MAX_PIECE = 64;

type Change = (bytes: Uint8Array, dice: Dice, other: Uint8Array) => Uint8Array;

const CHANGES: readonly Change[] = [
  flipBit,
  setByte,
  writeNumber,
  nudgeByte,
  cut,
  remove,
  repeat,
  insert,
  putText,
  splice,
];

/** One to six changes of `bytes`; `other` is a second input to take pieces from. */
export function mutate(bytes: Uint8Array, other: Uint8Array, dice: Dice): Uint8Array {
  let changed = Uint8Array.from(bytes);
  for (let changes = 1 + dice.below(MAX_CHANGES); changes > 0; changes--) {
    changed = Uint8Array.from(dice.pick(CHANGES)(changed, dice, other));
  }
  return changed.subarray(0, MAX_LENGTH);
}

function flipBit(bytes: Uint8Array, dice: Dice): Uint8Array {
  const at = dice.below(bytes.length);
  bytes[at] = (bytes[at] ?? 0) ^ (1 << dice.below(8));
  return bytes;
}

function setByte(bytes: Uint8Array, dice: Dice): Uint8Array {
  bytes[dice.below(bytes.length)] = dice.below(256);
  return bytes;
}

function nudgeByte(bytes: Uint8Array, dice: Dice): Uint8Array {
  const at = dice.below(bytes.length);
  bytes[at] = (bytes[at] ?? 0) + dice.pick([-1, 1]);
  return bytes;
}

function writeNumber(bytes: Uint8Array, dice: Dice): Uint8Array {
  const width = dice.pick(WIDTHS);
  if (bytes.length < width) return bytes;
  const at = dice.below(bytes.length - width + 1);
  let rest = dice.pick(NUMBERS);
  for (let i = 0; i < width; i++) {
    bytes[at + i] = Number(rest & 0xffn);
    rest >>= 8n;
  }
  return bytes;
}

function cut(bytes: Uint8Array, dice: Dice): Uint8Array {
  // Most inputs shall stay long enough to get somewhere.
  return dice.oneIn(3) ? bytes.subarray(0, dice.below(bytes.length + 1)) : bytes;
}

function remove(bytes: Uint8Array, dice: Dice): Uint8Array {
  const [from, to] = piece(bytes, dice);
  return join(bytes.subarray(0, from), bytes.subarray(to));
}

function repeat(bytes: Uint8Array, dice: Dice): Uint8Array {
  const [from, to] = piece(bytes, dice);
  return join(bytes.subarray(0, to), bytes.subarray(from));
}

function insert(bytes: Uint8Array, dice: Dice): Uint8Array {
  const at = dice.below(bytes.length + 1);
  return join(bytes.subarray(0, at), dice.bytes(1 + dice.below(16)), bytes.subarray(at));
}

function putText(bytes: Uint8Array, dice: Dice): Uint8Array {
  const text = dice.pick(TEXTS);
  const at = dice.below(bytes.length + 1);
  return join(bytes.subarray(0, at), text, bytes.subarray(at + text.length));
}

function splice(bytes: Uint8Array, dice: Dice, other: Uint8Array): Uint8Array {
  const [from, to] = piece(other, dice);
  const at = dice.below(bytes.length + 1);
  return join(bytes.subarray(0, at), other.subarray(from, to), bytes.subarray(dice.oneIn(2) ? at : at + to - from));
}

function piece(bytes: Uint8Array, dice: Dice): [from: number, to: number] {
  const from = dice.below(bytes.length + 1);
  return [from, Math.min(bytes.length, from + dice.below(MAX_PIECE))];
}

function join(...parts: readonly Uint8Array[]): Uint8Array {
  return Buffer.concat(parts);
}
