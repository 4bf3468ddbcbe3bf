/** The index of the table of unspent outputs by itself, under hashes that are as bad as can be. */

import { describe, expect, it } from 'vitest';
import { SlotIndex } from '../../src/ledger/utxo/slot-index.js';
import { mix } from '../../src/lib/set-digest.js';
import { fc, test } from '../support/property.js';

/** Hashes of slots 1 to n: the index asks for them again when it moves an entry. */
type HashOf = (slot: number) => number;

const spread: HashOf = (slot) => mix(7, slot);
/** Entries beyond which a bucket is split. */
const FULL_BUCKET = 3_277;

const HASHES: Record<string, HashOf> = {
  spread,
  'alike in their upper bits': (slot) => spread(slot) & 0x0007_ffff,
  'alike in their lower bits': (slot) => spread(slot) & ~0x1fff,
  'of few values': (slot) => spread(slot & 63),
};

const SLOTS = Array.from({ length: 2_000 }, (_, i) => i + 1);

const has = (index: SlotIndex, hashOf: HashOf, slot: number): boolean =>
  index.find(hashOf(slot), (other) => other === slot) === slot;

describe('an index of slots', () => {
  test.prop(
    [
      fc.constantFrom(...Object.values(HASHES)),
      fc.constantFrom(0, 600, 3_000, 3_277, 7_000),
      fc.array(fc.tuple(fc.nat(600), fc.boolean()), { maxLength: 1_000 }),
    ],
    { numRuns: 30 },
  )('holds what a set holds, whatever is added and removed', (hashOf, preloaded, steps) => {
    const index = new SlotIndex(hashOf);
    const model = new Set<number>();
    const add = (slot: number): void => {
      if (model.has(slot)) return;
      model.add(slot);
      index.add(hashOf(slot), slot);
    };
    for (let slot = 601; slot < 601 + preloaded; slot++) add(slot);
    for (const [number, isAdded] of steps) {
      if (isAdded) add(number + 1);
      else if (model.delete(number + 1)) index.remove(hashOf(number + 1), number + 1);
    }
    expect(index.size).toBe(model.size);
    const wrong = SLOTS.filter((slot) => has(index, hashOf, slot) !== model.has(slot));
    expect(wrong).toEqual([]);
  });

  it('puts another slot in the place of one, also one that leaves no room for a tag', () => {
    const numbers = new Map<number, number>();
    const hashOf: HashOf = (slot) => spread(numbers.get(slot) ?? slot);
    const index = new SlotIndex(hashOf);
    for (const slot of SLOTS) index.add(hashOf(slot), slot);
    const others = SLOTS.map((slot) => (slot === 999 ? 2 ** 29 + slot : 10_000 + slot));
    for (const [i, slot] of SLOTS.entries()) {
      const other = others[i] ?? 0;
      numbers.set(other, slot);
      index.replace(spread(slot), slot, other);
    }
    expect(index.size).toBe(SLOTS.length);
    expect(others.filter((slot) => !has(index, hashOf, slot))).toEqual([]);
    expect(SLOTS.filter((slot) => has(index, spread, slot))).toEqual([]);
  });

  it('stops with an error when a slot is not there, and goes on as it was', () => {
    const index = new SlotIndex(spread);
    for (const slot of SLOTS) index.add(spread(slot), slot);
    const absent = 'broken invariant: slot 5000 is not in the index';
    expect(() => index.remove(spread(5_000), 5_000)).toThrow(absent);
    expect(() => index.replace(spread(5_000), 5_000, 6_000)).toThrow(absent);
    // The right slot under the hash of another.
    expect(() => index.remove(spread(1), 2)).toThrow('broken invariant: slot 2 is not in the index');
    expect(index.size).toBe(SLOTS.length);
    expect(SLOTS.filter((slot) => !has(index, spread, slot))).toEqual([]);
  });

  it('is the same through all its splits, and while it empties', () => {
    const COUNT = 60_000;
    const index = new SlotIndex(spread);
    const wrong = (isThere: (slot: number) => boolean): number => {
      let count = 0;
      for (let slot = 1; slot <= COUNT; slot++) if (has(index, spread, slot) !== isThere(slot)) count++;
      return count;
    };
    for (let slot = 1; slot <= COUNT; slot++) index.add(spread(slot), slot);
    expect(wrong(() => true)).toBe(0);
    for (let slot = 3; slot <= COUNT; slot += 3) index.remove(spread(slot), slot);
    expect(wrong((slot) => slot % 3 !== 0)).toBe(0);
    for (let slot = 3; slot <= COUNT; slot += 3) index.add(spread(slot), slot);
    expect(wrong(() => true)).toBe(0);
    expect(index.size).toBe(COUNT);
    expect(index.bytes / COUNT).toBeLessThan(10.5);
  });

  it('moves no more than one bucket at a time, however large it is (docs/adr/small-decisions.md#0029)', () => {
    let asked = 0;
    const index = new SlotIndex((slot) => {
      asked++;
      return spread(slot);
    });
    let most = 0;
    for (let slot = 1; slot <= 300_000; slot++) {
      asked = 0;
      index.add(spread(slot), slot);
      most = Math.max(most, asked);
    }
    expect(most).toBeGreaterThan(1_000);
    expect(most).toBeLessThanOrEqual(FULL_BUCKET);
  });

  it('takes any number of entries of one hash', () => {
    const ALIKE = ~0xffff;
    const alike: HashOf = () => ALIKE;
    const index = new SlotIndex(alike);
    for (let slot = 1; slot <= 4_000; slot++) index.add(ALIKE, slot);
    for (const slot of [1, 2_000, 4_000]) expect(has(index, alike, slot)).toBe(true);
    expect(index.longestRun).toBe(4_000);
    expect(index.find(5, () => false)).toBe(0);
  });
});
