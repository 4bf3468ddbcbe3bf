/** Reads the numbers and byte strings of LevelDB's formats. Throws a `RangeError` where there are none. */
export class VarintReader {
  readonly #bytes: Uint8Array;
  at: number;

  constructor(bytes: Uint8Array, at = 0) {
    this.#bytes = bytes;
    this.at = at;
  }

  get isAtEnd(): boolean {
    return this.at >= this.#bytes.length;
  }

  byte(): number {
    const byte = this.#bytes[this.at++];
    if (byte === undefined) throw new RangeError('cut');
    return byte;
  }

  varint(): number {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = this.byte();
      if (scale > Number.MAX_SAFE_INTEGER / 256) throw new RangeError('no varint');
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
    }
  }

  take(length: number): Uint8Array {
    const end = this.at + length;
    if (end > this.#bytes.length) throw new RangeError('cut');
    const bytes = this.#bytes.subarray(this.at, end);
    this.at = end;
    return bytes;
  }

  /** A length and that many bytes. */
  slice(): Uint8Array {
    return this.take(this.varint());
  }
}

/** The bytes of a number. */
export function varint(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) | 0x80);
  return [...bytes, rest];
}

/** A length and that many bytes. */
export function encodeSlice(bytes: Uint8Array): number[] {
  return [...varint(bytes.length), ...bytes];
}
