/**
 * Tools for byte arrays, pure, on Buffer, which is fastest on Node.js; `bytes.browser.ts` replaces this file in a
 * browser (docs/adr/0008-chain-in-a-browser.md).
 */

import { isUtf8 } from 'node:buffer';
import { TesseraError } from './errors.js';

const HEX = /^(?:[0-9a-fA-F]{2})*$/;
const NO_DIGIT = 0xff;
const HEX_DIGITS = new Uint8Array(0x80).fill(NO_DIGIT);
for (let digit = 0; digit < 16; digit++) {
  const text = digit.toString(16);
  for (const form of [text, text.toUpperCase()]) HEX_DIGITS[form.charCodeAt(0)] = digit;
}
const FIRST_SURROGATE = 0xd800;
/** Length up to which a loop finds out faster than a native call whether a text is ASCII. */
const LOOP_LIMIT = 96;
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Lower-case hex of the bytes. */
export function toHex(bytes: Uint8Array): string {
  return asBuffer(bytes).toString('hex');
}

/** The bytes of an even-length hex text of either case. Throws `invalid_request` on anything else. */
export function fromHex(hex: string): Uint8Array {
  if (!HEX.test(hex)) throw new TesseraError('invalid_request', 'not an even number of hexadecimal digits');
  return Buffer.from(hex, 'hex');
}

/** True when the text is an even number of hexadecimal digits (of `byteLength` bytes, if given). */
export function isHex(text: string, byteLength?: number): boolean {
  return (byteLength === undefined || text.length === byteLength * 2) && HEX.test(text);
}

/** The bytes of a hex text of either case, in memory of their own; undefined for other texts, or another length. */
export function parseHex(text: string, byteLength?: number): Uint8Array | undefined {
  const { length } = text;
  if (length % 2 !== 0 || (byteLength !== undefined && length !== byteLength * 2)) return undefined;
  // This loop takes half the time of a check and a Buffer, for keys and signatures.
  const bytes = new Uint8Array(length / 2);
  for (let i = 0; i < bytes.length; i++) {
    const high = HEX_DIGITS[text.charCodeAt(2 * i)] ?? NO_DIGIT;
    const low = HEX_DIGITS[text.charCodeAt(2 * i + 1)] ?? NO_DIGIT;
    if ((high | low) > 0x0f) return undefined;
    bytes[i] = (high << 4) | low;
  }
  return bytes;
}

/** A text with one character for each byte, as a key for look-ups. */
export function toLatin1(bytes: Uint8Array): string {
  return asBuffer(bytes).toString('latin1');
}

/** Standard base64 with padding. */
export function toBase64(bytes: Uint8Array): string {
  return asBuffer(bytes).toString('base64');
}

/** UTF-8 bytes of a text. Lone surrogates become U+FFFD: check with `isWellFormed` where text comes from outside. */
export function utf8(text: string): Uint8Array {
  return Buffer.from(text, 'utf8');
}

/** UTF-8 bytes of a text that is kept: small Buffers of Node.js would each keep a pool of 8 KiB alive. */
export function keptUtf8(text: string): Uint8Array {
  const bytes = Buffer.allocUnsafeSlow(utf8Length(text));
  bytes.write(text, 'utf8');
  return bytes;
}

/** A copy in memory of its own, for bytes that are kept for long: see `keptUtf8`. */
export function keptBytes(...parts: readonly Uint8Array[]): Uint8Array {
  const bytes = Buffer.allocUnsafeSlow(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

/** The text of UTF-8 bytes; throws `invalid_request` when they are not valid UTF-8. */
export function fromUtf8(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch (cause) {
    throw new TesseraError('invalid_request', 'not valid UTF-8', { cause });
  }
}

/** The bytes as a view, of the type on which `readUtf8` is fast. */
export function readable(bytes: Uint8Array): Uint8Array {
  return asBuffer(bytes);
}

/** The text of the bytes from `start` to `end`; undefined when they are not valid UTF-8. */
export function readUtf8(bytes: Uint8Array, start: number, end: number): string | undefined {
  if (end - start <= LOOP_LIMIT && isAscii(bytes, start, end)) return asBuffer(bytes).toString('latin1', start, end);
  const buffer = asBuffer(bytes);
  const slice = start === 0 && end === buffer.length ? buffer : buffer.subarray(start, end);
  return isUtf8(slice) ? slice.toString('utf8') : undefined;
}

function isAscii(bytes: Uint8Array, start: number, end: number): boolean {
  let bits = 0;
  for (let i = start; i < end; i++) bits |= bytes[i] ?? 0;
  return bits < 0x80;
}

/** Writes the UTF-8 bytes of a text, for which there must be room, and returns their number. */
export function writeUtf8(text: string, target: Uint8Array, at: number): number {
  return asBuffer(target).write(text, at, 'utf8');
}

/** Number of UTF-8 bytes of a text. */
export function utf8Length(text: string): number {
  return Buffer.byteLength(text, 'utf8');
}

/** All parts, one after the other, in a new array. */
export function concatBytes(...parts: readonly Uint8Array[]): Uint8Array {
  return Buffer.concat(parts);
}

/** Byte-wise order: negative, zero or positive. */
export function compareBytes(a: Uint8Array, b: Uint8Array): number {
  return Buffer.compare(a, b);
}

/** True when both hold the same bytes. Not constant-time: never for secrets. */
export function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && Buffer.compare(a, b) === 0;
}

/** Order of two texts by their UTF-8 bytes, the order of every map in the chain's formats. */
export function compareUtf8(a: string, b: string): number {
  if (a === b) return 0;
  const shared = Math.min(a.length, b.length);
  let at = 0;
  while (at < shared && a.charCodeAt(at) === b.charCodeAt(at)) at++;
  if (at === shared) return a.length - b.length;
  const left = a.charCodeAt(at);
  const right = b.charCodeAt(at);
  // UTF-16 and UTF-8 order differ only where there are surrogates.
  if (left < FIRST_SURROGATE && right < FIRST_SURROGATE) return left - right;
  return Buffer.compare(Buffer.from(a, 'utf8'), Buffer.from(b, 'utf8'));
}

/** A Buffer over the same memory. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
