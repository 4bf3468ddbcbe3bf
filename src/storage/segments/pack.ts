/**
 * A smaller form of encoded blocks and transactions, most of whose bytes are hex digits and zeros. It is a list of parts, each with a byte
 * that tells its kind and length: plain bytes, pairs of lowercase hex digits, or zeros. The same bytes always give the same form.
 */

/** First bytes of the kinds. Lengths are counted from the least that is worth a part. */
const HEX = 0x80;
const ZEROS = 0xc0;
const MIN_PAIRS = 4;
const MAX_PAIRS = MIN_PAIRS + ZEROS - HEX - 1;
const MIN_ZEROS = 3;
const MAX_ZEROS = MIN_ZEROS + 0xff - ZEROS;

/** Value of a hex digit by its character; 0xff for others. */
const VALUES = new Uint8Array(256).fill(0xff);
for (const [value, digit] of [...'0123456789abcdef'].entries()) VALUES[digit.charCodeAt(0)] = value;
/** Hex digits of each byte, high and low. */
const HIGH = Uint8Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0').charCodeAt(0));
const LOW = Uint8Array.from({ length: 256 }, (_, byte) => (byte & 15).toString(16).charCodeAt(0));

export function pack(bytes: Uint8Array): Buffer {
  // A literal needs one more byte for each 128; other parts are shorter than what they stand for.
  const packed = Buffer.allocUnsafe(bytes.length + (bytes.length >> 7) + 2);
  let to = 0;
  let literal = 0;
  const flush = (end: number): void => {
    while (literal < end) {
      const next = Math.min(end, literal + HEX);
      packed[to++] = next - literal - 1;
      while (literal < next) packed[to++] = bytes[literal++] ?? 0;
    }
  };
  for (let at = 0; at < bytes.length; ) {
    const zeros = bytes[at] === 0 ? zerosFrom(bytes, at) : 0;
    const pairs = zeros > 0 ? 0 : pairsFrom(bytes, at);
    if (zeros < MIN_ZEROS && pairs < MIN_PAIRS) {
      at += Math.max(zeros, 2 * pairs, 1);
      continue;
    }
    flush(at);
    packed[to++] = zeros > 0 ? ZEROS + zeros - MIN_ZEROS : HEX + pairs - MIN_PAIRS;
    for (let i = 0; i < pairs; i++) packed[to++] = (valueAt(bytes, at + 2 * i) << 4) | valueAt(bytes, at + 2 * i + 1);
    at += zeros + 2 * pairs;
    literal = at;
  }
  flush(bytes.length);
  return packed.subarray(0, to);
}

/** The unpacked bytes; throws a `RangeError` for bytes that `pack` does not give. Parts are too short for a call each. */
export function unpack(packed: Uint8Array): Buffer {
  const bytes = Buffer.from(new ArrayBuffer(unpackedLength(packed)));
  unpackInto(packed, bytes, 0);
  return bytes;
}

/** Unpacks to the offset `to` of bytes that are zeros from there on, and large enough; returns the end. */
export function unpackInto(packed: Uint8Array, bytes: Uint8Array, to: number): number {
  for (let at = 0; at < packed.length; ) {
    const kind = packed[at++] ?? 0;
    if (kind < HEX) {
      for (const end = at + kind + 1; at < end; at++) bytes[to++] = packed[at] ?? 0;
    } else if (kind < ZEROS) {
      for (const end = at + kind - HEX + MIN_PAIRS; at < end; at++) {
        const pair = packed[at] ?? 0;
        bytes[to++] = HIGH[pair] ?? 0;
        bytes[to++] = LOW[pair] ?? 0;
      }
    } else {
      to += kind - ZEROS + MIN_ZEROS;
    }
  }
  return to;
}

export function unpackedLength(packed: Uint8Array): number {
  let length = 0;
  let at = 0;
  while (at < packed.length) {
    const kind = packed[at++] ?? 0;
    const count = kind < HEX ? kind + 1 : kind < ZEROS ? kind - HEX + MIN_PAIRS : kind - ZEROS + MIN_ZEROS;
    length += kind >= HEX && kind < ZEROS ? 2 * count : count;
    if (kind < ZEROS) at += count;
  }
  if (at > packed.length) throw new RangeError('a packed part is cut');
  return length;
}

const valueAt = (bytes: Uint8Array, at: number): number => VALUES[bytes[at] ?? 0] ?? 0;

function zerosFrom(bytes: Uint8Array, from: number): number {
  let at = from;
  while (at < bytes.length && at - from < MAX_ZEROS && bytes[at] === 0) at++;
  return at - from;
}

function pairsFrom(bytes: Uint8Array, from: number): number {
  let at = from;
  const end = Math.min(bytes.length, from + 2 * MAX_PAIRS);
  while (at < end && valueAt(bytes, at) !== 0xff) at++;
  return (at - from) >> 1;
}
