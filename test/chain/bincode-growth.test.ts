import { describe, expect, it } from 'vitest';
import { BincodeReader, BincodeWriter } from '../../src/chain/bincode.js';

describe('the writer', () => {
  it.each([
    ['u8', (writer: BincodeWriter) => writer.u8(7), (reader: BincodeReader) => reader.u8() === 7],
    ['u32', (writer: BincodeWriter) => writer.u32(7), (reader: BincodeReader) => reader.u32() === 7],
    ['i32', (writer: BincodeWriter) => writer.i32(-7), (reader: BincodeReader) => reader.i32() === -7],
    ['u64', (writer: BincodeWriter) => writer.u64(7n), (reader: BincodeReader) => reader.u64() === 7n],
    ['i64', (writer: BincodeWriter) => writer.i64(-7n), (reader: BincodeReader) => reader.i64() === -7n],
    ['string', (writer: BincodeWriter) => writer.string('7'), (reader: BincodeReader) => reader.string() === '7'],
    [
      'bytes',
      (writer: BincodeWriter) => writer.bytes(Uint8Array.of(7)),
      (reader: BincodeReader) => reader.bytes()[0] === 7,
    ],
  ] as const)('grows in the middle of a value of kind %s, wherever its buffer ends', (_kind, write, isSame) => {
    const writer = new BincodeWriter();
    for (let i = 0; i < 5_000; i++) write(writer);
    const reader = new BincodeReader(writer.toBytes());
    for (let i = 0; i < 5_000; i++) expect(isSame(reader)).toBe(true);
    reader.end();
  });
});
