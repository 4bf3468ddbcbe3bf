/** Snappy, decoding only: what is needed to read the index of a LevelDB table. A `RangeError` says that it is damaged. */

const LITERAL = 0;
const COPY_1 = 1;
const COPY_2 = 2;
/** Lengths of literals from here on are written in the bytes that follow. */
const LONG_LITERAL = 60;
/** Largest index that is believed. */
const MAX_LENGTH = 64 * 1024 * 1024;

export function snappyDecode(input: Uint8Array): Uint8Array {
  let at = 0;
  const byte = (): number => {
    const value = input[at++];
    if (value === undefined) throw new RangeError('cut');
    return value;
  };
  const littleEndian = (count: number): number => {
    let value = 0;
    for (let i = 0; i < count; i++) value += byte() * 256 ** i;
    return value;
  };
  let length = 0;
  for (let scale = 1; ; scale *= 128) {
    const part = byte();
    length += (part & 0x7f) * scale;
    if (part < 0x80) break;
  }
  if (length > MAX_LENGTH) throw new RangeError('too long');

  const output = new Uint8Array(length);
  let written = 0;
  while (at < input.length) {
    const tag = byte();
    const kind = tag & 3;
    if (kind === LITERAL) {
      const short = tag >> 2;
      const size = 1 + (short < LONG_LITERAL ? short : littleEndian(short - LONG_LITERAL + 1));
      if (at + size > input.length) throw new RangeError('cut');
      output.set(input.subarray(at, at + size), written);
      at += size;
      written += size;
      continue;
    }
    const size = kind === COPY_1 ? 4 + ((tag >> 2) & 7) : 1 + (tag >> 2);
    const offset = kind === COPY_1 ? ((tag >> 5) << 8) + byte() : littleEndian(kind === COPY_2 ? 2 : 4);
    if (offset === 0 || offset > written || written + size > length) throw new RangeError('copy from outside');
    // A copy may overlap what it writes: byte by byte.
    for (let i = 0; i < size; i++, written++) output[written] = output[written - offset] ?? 0;
  }
  if (written !== length) throw new RangeError('wrong length');
  return output;
}
