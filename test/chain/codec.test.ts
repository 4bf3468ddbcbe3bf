import { describe, expect, it } from 'vitest';
import * as codec from '../../src/chain/codec.js';
import { blockHash, transactionHash, transactionHashOfBytes } from '../../src/chain/hash.js';
import type { Transaction } from '../../src/chain/types.js';
import { isTesseraError } from '../../src/lib/errors.js';
import { atOnce } from '../../src/lib/pieces.js';
import * as arb from '../support/arbitraries.js';
import * as parts from '../support/codec-parts.js';
import { decodeFullBlock, encodeFullBlock } from '../support/full-block.js';
import { fc, test } from '../support/property.js';

const DECODERS = {
  outPoint: parts.decodeOutPoint,
  asset: parts.decodeAsset,
  script: codec.decodeScript,
  txIn: parts.decodeTxIn,
  txOut: codec.decodeTxOut,
  druidInfo: parts.decodeDruidInfo,
  transaction: codec.decodeTransaction,
  header: codec.decodeHeader,
  block: codec.decodeBlock,
  fullBlock: decodeFullBlock,
};

/** The value, or undefined for the typed error; anything else thrown fails the test. */
function attempt<T>(decode: (bytes: Uint8Array) => T, bytes: Uint8Array): T | undefined {
  try {
    return decode(bytes);
  } catch (error) {
    if (isTesseraError(error, 'malformed_transaction')) return undefined;
    throw error;
  }
}

const EMPTY: Transaction = { inputs: [], outputs: [], version: 6n, fees: [], druidInfo: null };

describe('the binary encoding gives every structure back (docs/chain.md#encoding)', () => {
  test.prop([arb.outPoint])('outpoints', (value) => {
    expect(parts.decodeOutPoint(parts.encodeOutPoint(value))).toEqual(value);
  });
  test.prop([arb.asset])('assets', (value) => {
    expect(parts.decodeAsset(parts.encodeAsset(value))).toEqual(value);
  });
  test.prop([arb.script])('scripts', (value) => {
    expect(codec.decodeScript(codec.encodeScript(value))).toEqual(value);
  });
  test.prop([arb.druidInfo])('DRUID info', (value) => {
    expect(parts.decodeDruidInfo(parts.encodeDruidInfo(value))).toEqual(value);
  });
  test.prop([arb.transaction])('transactions', (value) => {
    const bytes = codec.encodeTransaction(value);
    expect(codec.decodeTransaction(bytes)).toEqual(value);
    expect(transactionHash(value)).toBe(transactionHashOfBytes(bytes));
  });
  test.prop([arb.header])('headers of all layouts, and who made the block', (value) => {
    const prime = { ...value, difficulty: new Uint8Array(0), layout: 'prime' as const };
    const oldest = { ...prime, timestamp: 0n, layout: 'oldest' as const };
    for (const header of [value, prime, oldest]) {
      expect(codec.decodeHeader(codec.encodeHeader(header))).toEqual(header);
      const original = { ...header, isOriginal: true as const };
      expect(codec.decodeHeader(codec.encodeHeader(original))).toEqual(original);
      expect(blockHash(original)).toBe(blockHash(header));
    }
  });
  test.prop([arb.block])('blocks', (value) => {
    expect(codec.decodeBlock(codec.encodeBlock(value))).toEqual(value);
  });
  test.prop([arb.fullBlock])('full blocks', (value) => {
    expect(decodeFullBlock(encodeFullBlock(value))).toEqual(value);
  });
});

describe('decoding bytes from outside', () => {
  test.prop([fc.uint8Array({ maxLength: 300 })])(
    'random bytes are a value or the typed error, never another throw',
    (bytes) => {
      for (const decode of Object.values(DECODERS)) attempt<unknown>(decode, bytes);
    },
  );

  test.prop([arb.transaction, fc.nat(), fc.integer({ min: 1, max: 255 })])(
    'a changed byte gives an error or another transaction',
    (value, position, change) => {
      const bytes = codec.encodeTransaction(value);
      const index = position % bytes.length;
      bytes[index] = (bytes[index] ?? 0) ^ change;
      const decoded = attempt(codec.decodeTransaction, bytes);
      if (decoded !== undefined) expect(codec.encodeTransaction(decoded)).toEqual(bytes);
    },
  );

  test.prop([arb.transaction, fc.nat()])('truncated bytes are refused', (value, length) => {
    const bytes = codec.encodeTransaction(value);
    expect(attempt(codec.decodeTransaction, bytes.subarray(0, length % bytes.length))).toBeUndefined();
  });

  test.prop([arb.transaction, fc.uint8Array({ minLength: 1, maxLength: 8 })])(
    'trailing bytes are refused (decision V17)',
    (value, tail) => {
      const bytes = Buffer.concat([codec.encodeTransaction(value), tail]);
      expect(attempt(codec.decodeTransaction, bytes)).toBeUndefined();
    },
  );

  it('refuses a length that the bytes cannot hold before it allocates (docs/chain.md#encoding)', () => {
    const bytes = Buffer.alloc(33);
    for (const length of [2n ** 64n - 1n, 2n ** 32n, 4n]) {
      bytes.writeBigUInt64LE(length, 0);
      expect(attempt(codec.decodeTransaction, bytes)).toBeUndefined();
    }
  });

  it.each([
    ['a text that is not UTF-8', '0200000000000000c3280000000000'],
    ['half a surrogate pair as CESU', '0300000000000000eda0800000000000'],
  ])('refuses %s', (_, hex) => {
    expect(attempt(parts.decodeOutPoint, Buffer.from(`${hex}00`.slice(0, 30), 'hex'))).toBeUndefined();
  });

  it.each([
    ['an unknown kind of asset', parts.decodeAsset, '020000000000000000000000'],
    ['an option tag of 2', parts.decodeTxIn, '020000000000000000'],
    ['an unknown opcode', codec.decodeScript, '01000000000000000000000062000000'],
    ['an unknown stack entry', codec.decodeScript, '010000000000000005000000000000000000'],
    ['a signature of 63 bytes', codec.decodeScript, `0100000000000000010000003f00000000000000${'00'.repeat(63)}`],
    ['a key of 33 bytes', codec.decodeScript, `0100000000000000020000002100000000000000${'00'.repeat(33)}`],
  ])('refuses %s (docs/chain.md#encoding)', (_, decode: (bytes: Uint8Array) => unknown, hex) => {
    expect(attempt(decode, Buffer.from(hex, 'hex'))).toBeUndefined();
  });

  it('reads the last opcode, index 97', () => {
    expect(codec.decodeScript(Buffer.from('01000000000000000000000061000000', 'hex'))).toEqual([
      { kind: 'op', op: 97 },
    ]);
  });
});

describe('encoding values that have no encoding', () => {
  it.each([-1n, 2n ** 64n])('refuses %s as a u64', (version) => {
    expect(() => codec.encodeTransaction({ ...EMPTY, version })).toThrow('is not a u64');
  });

  it('gives bytes that later encodings leave alone', () => {
    const first = codec.encodeTransaction(EMPTY);
    const copy = Buffer.from(first);
    codec.encodeTransaction({ ...EMPTY, version: 99n });
    expect(Buffer.from(first)).toEqual(copy);
  });

  it('grows its buffer over large values', () => {
    const big = 'ü'.repeat(100_000);
    const tx = {
      ...EMPTY,
      outputs: [{ value: { kind: 'token' as const, amount: 1n }, locktime: 0n, scriptPublicKey: big }],
    };
    expect(codec.decodeTransaction(codec.encodeTransaction(tx))).toEqual(tx);
  });
});

describe('joining a block', () => {
  it('takes more transactions than a call takes arguments', () => {
    const transactions = Array.from({ length: 300_000 }, (_, i) => Uint8Array.of(i & 0xff, i >>> 8));
    const joined = atOnce(codec.joinFullBlockPieces(Uint8Array.of(1), transactions, Uint8Array.of(2)));
    expect(joined.length).toBe(1 + 8 + 2 * transactions.length + 1);
    expect(Buffer.from(joined.subarray(0, 13)).toString('hex')).toBe('01e09304000000000000000100');
  });
});
