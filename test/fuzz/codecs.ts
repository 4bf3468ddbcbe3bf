/** A target made of codecs: an input is the number of one and bytes for it. */

import type { fc } from '../support/property.js';
import type { Dice } from './dice.js';
import { documented, type FuzzTarget, mustBe } from './target.js';

export interface Codec {
  readonly name: string;
  sample(dice: Dice): Uint8Array;
  /** Decodes and encodes again. */
  again(bytes: Uint8Array): Uint8Array | Promise<Uint8Array>;
}

export function codecOf<T>(
  name: string,
  arbitrary: fc.Arbitrary<T>,
  encode: (value: T) => Uint8Array,
  decode: (bytes: Uint8Array) => T,
  check: (value: T) => void = () => undefined,
): Codec {
  return {
    name,
    sample: (dice) => encode(dice.sample(arbitrary)),
    again(bytes) {
      const value = decode(bytes);
      check(value);
      return encode(value);
    },
  };
}

/** For records of JSON text, which has many forms of one value: what is read twice is the same. */
export function textCodecOf<T>(
  name: string,
  arbitrary: fc.Arbitrary<T>,
  encode: (value: T) => Uint8Array,
  decode: (bytes: Uint8Array) => T,
): Codec {
  return {
    name,
    sample: (dice) => encode(dice.sample(arbitrary)),
    again(bytes) {
      const once = encode(decode(bytes));
      mustBe(isEqual(encode(decode(once)), once), `${name}: the same value is read as another`);
      return bytes;
    },
  };
}

/** Bytes are refused with one of the codes, or they are exactly the encoding of what was read from them. */
export function codecTarget(name: string, codecs: readonly Codec[], codes: readonly string[]): FuzzTarget {
  return {
    name,
    seed(dice) {
      const number = dice.below(codecs.length);
      return Buffer.concat([Uint8Array.of(number), codecs[number]?.sample(dice) ?? new Uint8Array()]);
    },
    async run(input) {
      const codec = codecs[(input[0] ?? 0) % codecs.length];
      if (codec === undefined) throw new Error('no codec');
      const bytes = input.subarray(1);
      const result = await documented(() => codec.again(bytes), codes);
      if ('code' in result) return `${codec.name}: ${result.code}`;
      mustBe(isEqual(result.value, bytes), `${codec.name}: the same value has two encodings`);
      return `${codec.name}: read`;
    },
  };
}

export const isEqual = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) === 0;
