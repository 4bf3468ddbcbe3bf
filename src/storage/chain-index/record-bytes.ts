/** Records of the index as bytes: numbers in as many bytes as they need (7 bits in each, the low ones first), texts behind their length. */

import { TesseraError } from '../../lib/errors.js';
import type { Place } from './layout.js';
import { TRANSACTION_KINDS, type TransactionKind } from './service.js';

const NO_TEXT = 0;
const MAX_NUMBER = BigInt(Number.MAX_SAFE_INTEGER);
const MORE = 0x80;
const SEVEN = 0x7f;

export interface Party {
  readonly address: string;
  readonly amount: bigint;
}

/** Record read by `how`, which must read all bytes. */
export function readRecord<T>(bytes: Uint8Array, how: (from: RecordReader) => T): T {
  try {
    return how(new RecordReader(bytes));
  } catch (cause) {
    throw new TesseraError('data_corrupt', 'a record of the index of the chain cannot be read', { cause });
  }
}

// One buffer serves all records, which are encoded one at a time: the bytes that an encoder returns are valid until the next
// encoder is called. A batch copies them.
let scratch = Buffer.allocUnsafe(4_096);

export class RecordWriter {
  #at = 0;

  uint(value: number | bigint): this {
    return typeof value === 'number' ? this.#number(value) : this.#big(value);
  }

  text(text: string): this {
    const length = Buffer.byteLength(text);
    this.#number(length);
    this.#reserve(length);
    this.#at += scratch.write(text, this.#at, 'utf8');
    return this;
  }

  optional(text: string | null): this {
    if (text === null) return this.#number(NO_TEXT);
    return this.#number(NO_TEXT + 1).text(text);
  }

  raw(bytes: Uint8Array): this {
    this.#reserve(bytes.length);
    scratch.set(bytes, this.#at);
    this.#at += bytes.length;
    return this;
  }

  place({ height, txNum }: Place): this {
    return this.#number(height).#number(txNum);
  }

  kind(kind: TransactionKind): this {
    return this.#number(TRANSACTION_KINDS.indexOf(kind));
  }

  parties(parties: readonly Party[]): this {
    this.#number(parties.length);
    for (const { address, amount } of parties) this.text(address).uint(amount);
    return this;
  }

  bytes(): Uint8Array {
    return scratch.subarray(0, this.#at);
  }

  #big(value: bigint): this {
    if (value <= Number.MAX_SAFE_INTEGER) return this.#number(Number(value));
    let rest = value;
    this.#reserve(32);
    for (; rest > SEVEN; rest >>= 7n) scratch[this.#at++] = Number(rest & 0x7fn) | MORE;
    scratch[this.#at++] = Number(rest);
    return this;
  }

  #number(value: number): this {
    let rest = value;
    this.#reserve(8);
    for (; rest > SEVEN; rest = Math.floor(rest / MORE)) scratch[this.#at++] = (rest % MORE) | MORE;
    scratch[this.#at++] = rest;
    return this;
  }

  #reserve(bytes: number): void {
    if (this.#at + bytes <= scratch.length) return;
    const grown = Buffer.allocUnsafe(2 * (this.#at + bytes));
    scratch.copy(grown, 0, 0, this.#at);
    scratch = grown;
  }
}

export class RecordReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length;
  }

  uint(): bigint {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = this.#byte();
      value |= BigInt(byte & SEVEN) << shift;
      if (byte < MORE) return value;
    }
  }

  number(): number {
    const value = this.uint();
    if (value > MAX_NUMBER) throw new RangeError('a number is too large');
    return Number(value);
  }

  text(): string {
    return this.raw(this.number()).toString('utf8');
  }

  optional(): string | null {
    return this.number() === NO_TEXT ? null : this.text();
  }

  raw(length: number): Buffer {
    const end = this.#at + length;
    if (end > this.#bytes.length) throw new RangeError('the record is cut');
    const part = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return part;
  }

  place(): Place {
    return { height: this.number(), txNum: this.number() };
  }

  kind(): TransactionKind {
    const kind = TRANSACTION_KINDS[this.number()];
    if (kind === undefined) throw new RangeError('no such kind');
    return kind;
  }

  list<T>(one: () => T): T[] {
    const count = this.number();
    const all: T[] = [];
    for (let i = 0; i < count; i++) all.push(one());
    return all;
  }

  parties(): Party[] {
    return this.list(() => ({ address: this.text(), amount: this.uint() }));
  }

  #byte(): number {
    const byte = this.#bytes[this.#at++];
    if (byte === undefined) throw new RangeError('the record is cut');
    return byte;
  }
}
