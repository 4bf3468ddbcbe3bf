import { describe, expect, it } from 'vitest';
import { withFixedHash } from '../../src/chain/assets.js';
import type { OutPoint, TxOut } from '../../src/chain/types.js';
import { KeyedHash } from '../../src/ledger/utxo/keyed-hash.js';
import { UtxoTable } from '../../src/ledger/utxo/utxo-table.js';
import { balancesOf } from '../../src/mempool/balances.js';
import { MAX_LISTED_OUTPUTS } from '../../src/mempool/service.js';
import { fc, test } from '../support/property.js';

const HEX = '0123456789abcdef';
const hex = (length: number): fc.Arbitrary<string> =>
  fc.string({ unit: fc.constantFrom(...HEX), minLength: length, maxLength: length });

const tHash = fc.oneof(
  { weight: 5, arbitrary: fc.nat(200).map((i) => `g${i.toString(16).padStart(31, '0')}`) },
  fc.constantFrom('000000', '000001', `g${'A'.repeat(31)}`, 'g', ''),
);
const outPoint: fc.Arbitrary<OutPoint> = fc.record({ tHash, n: fc.constantFrom(0, 1, 2, -1, 2 ** 31 - 1) });
const address = fc.oneof(
  fc.constantFrom('a'.repeat(64), 'b'.repeat(64), 'c'.repeat(32), `H${'d'.repeat(63)}`),
  fc.constantFrom('Z'.repeat(64), 'é'.repeat(16), 'A'.repeat(32)),
  fc.constant(null),
  hex(64),
);
const u64 = fc.oneof(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), fc.constantFrom(0n, 2n ** 32n - 1n, 2n ** 64n - 1n));
const txOut: fc.Arbitrary<TxOut> = fc.record({
  value: fc.oneof(
    fc.record({ kind: fc.constant('token' as const), amount: u64 }),
    fc.record({
      kind: fc.constant('item' as const),
      amount: u64,
      genesisHash: fc.option(fc.string()),
      metadata: fc.option(fc.string()),
    }),
  ),
  locktime: u64,
  scriptPublicKey: address,
});

const keyOf = ({ tHash: hash, n }: OutPoint): string => `${n}-${hash}`;
const hashKey = (seed: number): Uint8Array => new Uint8Array(8).fill(seed);
const insertAll = (entries: Iterable<readonly [OutPoint, TxOut]>, seed = 7): UtxoTable => {
  const table = new UtxoTable(hashKey(seed));
  for (const [point, out] of entries) table.insert(point, out);
  return table;
};

describe('the table of unspent outputs', () => {
  test.prop([fc.array(fc.tuple(outPoint, txOut, fc.boolean()), { maxLength: 300 })])(
    'answers like a map of objects, whatever is inserted and removed',
    (steps) => {
      const table = new UtxoTable(hashKey(1));
      const model = new Map<string, readonly [OutPoint, TxOut]>();
      for (const [point, out, remove] of steps) {
        const slot = table.find(point);
        expect(slot !== 0).toBe(model.has(keyOf(point)));
        if (slot === 0) {
          table.insert(point, out);
          model.set(keyOf(point), [point, out]);
        } else if (remove) {
          table.remove(slot);
          model.delete(keyOf(point));
        }
      }
      expect(table.size).toBe(model.size);
      const addresses = new Map<string, Set<string>>();
      for (const [point, out] of model.values()) {
        const slot = table.find(point);
        expect(table.output(slot)).toEqual(out);
        expect(table.outPoint(slot)).toEqual(point);
        if (out.scriptPublicKey === null) continue;
        const keys = addresses.get(out.scriptPublicKey) ?? new Set();
        addresses.set(out.scriptPublicKey, keys.add(keyOf(point)));
      }
      for (const [text, keys] of addresses) {
        expect(new Set([...table.slotsOf(text)].map((slot) => keyOf(table.outPoint(slot))))).toEqual(keys);
      }
      expect([...table.slots()].length).toBe(model.size);
      const asked = steps.map(([point]) => point);
      expect(table.outputs(asked)).toEqual(asked.map((point) => model.get(keyOf(point))?.[1]));
    },
  );

  it('finds the outputs of a long list, those that are there', () => {
    const point = (i: number): OutPoint => ({
      tHash: i % 9 === 0 ? `odd ${i}` : `g${i.toString(16).padStart(31, '0')}`,
      n: 0,
    });
    const out = (i: number): TxOut => ({
      value: { kind: 'token', amount: BigInt(i) },
      locktime: 0n,
      scriptPublicKey: i % 7 === 0 ? null : `${i % 50}`.padStart(64, '0'),
    });
    const table = insertAll(Array.from({ length: 2_000 }, (_, i) => [point(2 * i), out(2 * i)]));
    const asked = Array.from({ length: 4_000 }, (_, i) => i);
    expect(table.outputs(asked.map(point))).toEqual(asked.map((i) => (i % 2 === 0 ? out(i) : undefined)));
  });

  test.prop([fc.uniqueArray(fc.tuple(outPoint, txOut), { selector: ([point]) => keyOf(point), maxLength: 40 })])(
    'has a digest that depends on its content alone, not on order or hash key',
    (entries) => {
      const table = insertAll(entries);
      expect(insertAll([...entries].reverse(), 99).digest).toEqual(table.digest);
      const [first] = entries;
      if (first === undefined) return;
      const slot = table.find(first[0]);
      table.remove(slot);
      expect(table.digest).not.toEqual(insertAll(entries).digest);
      table.insert(first[0], { ...first[1], locktime: first[1].locktime ^ 1n });
      expect(table.digest).not.toEqual(insertAll(entries).digest);
    },
  );

  it('refuses an outpoint that is there already', () => {
    const point = { tHash: `g${'0'.repeat(31)}`, n: 0 };
    const out: TxOut = { value: { kind: 'token', amount: 1n }, locktime: 0n, scriptPublicKey: null };
    const table = insertAll([[point, out]]);
    expect(() => table.insert(point, out)).toThrow('is there already');
  });

  it('keeps claims until the output is removed', () => {
    const point = { tHash: '000000', n: 3 };
    const table = insertAll([
      [point, { value: { kind: 'token', amount: 1n }, locktime: 0n, scriptPublicKey: 'a'.repeat(64) }],
    ]);
    const slot = table.find(point);
    table.setClaimed(slot, true);
    expect(table.isClaimed(slot)).toBe(true);
    expect(table.output(slot).scriptPublicKey).toBe('a'.repeat(64));
    table.remove(slot);
    table.insert(point, { value: { kind: 'token', amount: 1n }, locktime: 0n, scriptPublicKey: null });
    expect(table.isClaimed(table.find(point))).toBe(false);
  });

  it('takes less than 100 bytes an output when every output has its own address', () => {
    const count = 50_000;
    const table = new UtxoTable(hashKey(3));
    for (let i = 0; i < count; i++) {
      const text = Math.imul(i + 1, 0x9e37_79b1) >>> 0;
      const digits = text.toString(16).padStart(8, '0').repeat(8);
      const value = { kind: 'token' as const, amount: BigInt(i) };
      table.insert({ tHash: `g${digits.slice(0, 31)}`, n: i & 3 }, { value, locktime: 0n, scriptPublicKey: digits });
    }
    expect(table.bytes / count).toBeLessThan(110);
  });
});

describe('the indexes of the table', () => {
  const COUNT = 4_000;
  const value = { kind: 'token' as const, amount: 1n };
  const digits = (i: number, length: number): string => i.toString(16).padStart(length, '0');
  /** Two words whose differences cancel out in a hash that stirs one word after the other without a key. */
  const cancelling = (i: number, bit: number): string =>
    ((i >>> bit) & 1) === 1 ? '8000000080010000' : '0000000000000000';

  // The text of an address is free, whoever pays; a hash of a transaction costs its finder work for each digit.
  const CRAFTED: [name: string, craft: (i: number) => { hash: string; address: string }][] = [
    ['addresses that begin alike', (i) => ({ hash: `g${digits(i, 31)}`, address: 'd'.repeat(32) + digits(i, 32) })],
    ['addresses that end alike', (i) => ({ hash: `g${digits(i, 31)}`, address: digits(i, 8) + 'd'.repeat(56) })],
    [
      'addresses whose differences cancel out',
      (i) => ({
        hash: `g${digits(i, 31)}`,
        address: [0, 1, 2].map((bit) => cancelling(i, bit)).join('') + digits(i >>> 3, 16),
      }),
    ],
    [
      'transaction hashes that begin alike',
      (i) => ({ hash: `g${'7'.repeat(16)}${digits(i, 15)}`, address: 'a'.repeat(64) }),
    ],
    [
      'transaction hashes that end alike',
      (i) => ({ hash: `g${digits(i, 8)}${'7'.repeat(23)}`, address: 'a'.repeat(64) }),
    ],
  ];

  it.each(CRAFTED)('stay fast under %s (rule P6)', (_, craft) => {
    const table = new UtxoTable(hashKey(5));
    for (let i = 0; i < COUNT; i++) {
      const { hash, address } = craft(i);
      table.insert({ tHash: hash, n: 0 }, { value, locktime: 0n, scriptPublicKey: address });
    }
    expect(table.size).toBe(COUNT);
    // At most 80 of 100 places are taken: rows of more than some dozens are made, not met.
    expect(table.longestRun).toBeLessThan(300);
  });

  it('lie differently under another key, so that nobody can prepare', () => {
    const place = (seed: number): number =>
      new KeyedHash(hashKey(seed)).of(Uint32Array.of(1, 2, 3, 4), 0, 4, 5) & 0xffff;
    expect(new Set(Array.from({ length: 64 }, (_, seed) => place(seed))).size).toBeGreaterThan(60);
  });
});

describe('a copy of what pays an address', () => {
  const entries = fc.uniqueArray(fc.tuple(outPoint, txOut), { maxLength: 60, selector: ([point]) => keyOf(point) });

  test.prop([entries])('holds the outputs in the order of hash and index, and stays while the table changes', (all) => {
    const table = insertAll(all);
    const addresses = new Set(all.flatMap(([, { scriptPublicKey }]) => scriptPublicKey ?? []));
    for (const paid of addresses) {
      const expected = all
        .filter(([, { scriptPublicKey }]) => scriptPublicKey === paid)
        .sort(([a], [b]) => Buffer.compare(Buffer.from(a.tHash), Buffer.from(b.tHash)) || a.n - b.n)
        .map(([point, { value, locktime }]) => ({ outPoint: point, value: withFixedHash(value, point), locktime }));
      const copy = table.copyOf(paid, 60);
      for (const slot of [...table.slotsOf(paid)]) table.remove(slot);
      expect([...copy]).toEqual(expected);
      expect([...copy]).toEqual(expected);
      expect(copy.count).toBe(expected.length);
      expect(copy.isWhole).toBe(true);
      const tokens = expected.filter(({ value }) => value.kind === 'token');
      expect(copy.tokens).toBe(tokens.reduce((sum, { value }) => sum + value.amount, 0n));
      const items = [...copy.items.values()].reduce((sum, amount) => sum + amount, 0n);
      const held = expected.filter(({ value }) => value.kind === 'item');
      expect(items).toBe(held.reduce((sum, { value }) => sum + value.amount, 0n));
    }
  });

  it('says when the address has more than was asked for', () => {
    const out = { value: { kind: 'token', amount: 1n }, locktime: 0n, scriptPublicKey: 'a'.repeat(64) } as const;
    const table = insertAll([0, 1, 2].map((n) => [{ tHash: '000000', n }, out]));
    expect(table.copyOf('a'.repeat(64), 3)).toMatchObject({ count: 3, isWhole: true });
    expect(table.copyOf('a'.repeat(64), 2)).toMatchObject({ count: 2, isWhole: false });
  });

  it('more outputs than an answer lists are refused, not cut', () => {
    const out = { value: { kind: 'token', amount: 1n }, locktime: 0n, scriptPublicKey: 'a'.repeat(64) } as const;
    const table = new UtxoTable(hashKey(1));
    for (let n = 0; n < MAX_LISTED_OUTPUTS; n++) table.insert({ tHash: '000000', n }, out);
    expect(balancesOf(table, ['a'.repeat(64)]).tokens).toBe(BigInt(MAX_LISTED_OUTPUTS));
    table.insert({ tHash: '000001', n: 0 }, { ...out, scriptPublicKey: 'b'.repeat(64) });
    expect(() => balancesOf(table, ['a'.repeat(64), 'b'.repeat(64)])).toThrow(
      expect.objectContaining({ code: 'too_many_outputs' }),
    );
  });
});
