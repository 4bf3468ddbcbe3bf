/** The tools of `bytes.ts` without Buffer, for a browser. */

import { bytesToHex, concatBytes as concat, hexToBytes } from '@noble/hashes/utils.js';
import { TesseraError } from './errors.js';

const HEX = /^(?:[0-9a-fA-F]{2})*$/;
const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export function toHex(bytes: Uint8Array): string {
  return bytesToHex(bytes);
}

export function fromHex(hex: string): Uint8Array {
  const bytes = parseHex(hex);
  if (bytes === undefined) throw new TesseraError('invalid_request', 'not an even number of hexadecimal digits');
  return bytes;
}

export function isHex(text: string, byteLength?: number): boolean {
  return (byteLength === undefined || text.length === byteLength * 2) && HEX.test(text);
}

export function parseHex(text: string, byteLength?: number): Uint8Array | undefined {
  return isHex(text, byteLength) ? hexToBytes(text) : undefined;
}

export function toBase64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes));
}

export function utf8(text: string): Uint8Array {
  return encoder.encode(text);
}

export function fromUtf8(bytes: Uint8Array): string {
  const text = readUtf8(bytes, 0, bytes.length);
  if (text === undefined) throw new TesseraError('invalid_request', 'not valid UTF-8');
  return text;
}

export function readable(bytes: Uint8Array): Uint8Array {
  return bytes;
}

export function readUtf8(bytes: Uint8Array, start: number, end: number): string | undefined {
  try {
    return decoder.decode(bytes.subarray(start, end));
  } catch {
    return undefined;
  }
}

export function writeUtf8(text: string, target: Uint8Array, at: number): number {
  return encoder.encodeInto(text, target.subarray(at)).written;
}

export function utf8Length(text: string): number {
  return encoder.encode(text).length;
}

export function concatBytes(...parts: readonly Uint8Array[]): Uint8Array {
  return concat(...parts);
}

export function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const shared = Math.min(a.length, b.length);
  for (let i = 0; i < shared; i++) {
    const difference = (a[i] ?? 0) - (b[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

export function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  return compareBytes(a, b) === 0;
}

export function compareUtf8(a: string, b: string): number {
  return compareBytes(utf8(a), utf8(b));
}
