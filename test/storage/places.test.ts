import { expect, it } from 'vitest';
import { readTransactionPlace } from '../../src/storage/archive/places.js';

const HASH = `g${'1'.repeat(31)}`;
const FACTS = { height: 500, txNum: 1_999, offset: 0x0fff_ffff, length: 260, sum: undefined };

it('a place of an earlier version, of four numbers of 4 bytes, is read as it was', () => {
  const record = Buffer.alloc(16);
  [500, 0x8000_0000 + 1_999, 0x0fff_ffff, 260].map((number, i) => record.writeUInt32BE(number, 4 * i));
  expect(readTransactionPlace(HASH, record)).toEqual({ ...FACTS, isOriginal: true });
});

it('a place takes as many bytes as its numbers need', () => {
  const record = Buffer.from('f4039e1fffffff7f8402', 'hex');
  expect(readTransactionPlace(HASH, record)).toEqual({ ...FACTS, isOriginal: false });
});
