/** Texts that outputs refer to by number, as strangers choose them. */

import { expect, it } from 'vitest';
import type { TxOut } from '../../src/chain/types.js';
import { KeyedHash } from '../../src/ledger/utxo/keyed-hash.js';
import { TextPool } from '../../src/ledger/utxo/text-pool.js';
import { UtxoTable } from '../../src/ledger/utxo/utxo-table.js';
import { fc, test } from '../support/property.js';

const KEY = new Uint8Array(8).fill(9);
const text = fc.oneof(
  fc.constantFrom('', 'a', 'aa', 'a\0', 'é', '\ud800'),
  fc.string({ unit: 'binary', maxLength: 40 }),
);

test.prop([fc.array(fc.tuple(text, fc.boolean()), { maxLength: 400 })])(
  'each text has one number as long as it is used, and no other has it',
  (steps) => {
    const pool = new TextPool(new KeyedHash(KEY));
    const numbers = new Map<string, { readonly number: number; uses: number }>();
    for (const [name, isAdded] of steps) {
      const known = numbers.get(name);
      expect(pool.find(name)).toBe(known?.number);
      if (isAdded) {
        const number = pool.add(name);
        expect(number).toBe(known?.number ?? number);
        if (known === undefined) numbers.set(name, { number, uses: 1 });
        else known.uses++;
      } else if (known !== undefined) {
        pool.release(known.number);
        if (--known.uses === 0) numbers.delete(name);
      }
    }
    expect(new Set([...numbers.values()].map(({ number }) => number)).size).toBe(numbers.size);
    for (const [name, { number }] of numbers) expect(pool.text(number)).toBe(name);
  },
);

it('outputs of one item keep what it is once, and give it back when the last is spent', () => {
  const table = new UtxoTable(KEY);
  const COUNT = 2_000;
  const metadata = 'm'.repeat(800);
  // Strings of their own, as a decoder makes them.
  const out = (n: number): TxOut => ({
    value: {
      kind: 'item',
      amount: 1n,
      genesisHash: `g${'1'.repeat(31)}`,
      metadata: `${metadata}${n % 2}`.slice(0, -1),
    },
    locktime: 0n,
    scriptPublicKey: 'a'.repeat(64),
  });
  for (let n = 0; n < COUNT; n++) table.insert({ tHash: '000000', n }, out(n));
  const slot = table.find({ tHash: '000000', n: 77 });
  expect(table.output(slot)).toEqual(out(77));
  for (let n = 0; n < COUNT; n++) table.remove(table.find({ tHash: '000000', n }));
  expect(table.size).toBe(0);
});
