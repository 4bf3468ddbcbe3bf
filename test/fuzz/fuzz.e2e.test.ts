/** The short form of `npm run fuzz -- TARGET`: the kept inputs, and some new ones of each target, the same each time. */

import { afterAll, describe, expect, it } from 'vitest';
import { readCorpus } from './corpus.js';
import { Coverage } from './coverage.js';
import { Dice } from './dice.js';
import { fuzz } from './fuzzer.js';
import { fuzzAndMeasure, MAX_GROWTH } from './heap-growth.js';
import { mutate } from './mutate.js';
import { TARGETS } from './targets/index.js';

const RUNS: Readonly<Record<string, number>> = {
  bincode: 320,
  scripts: 64,
  journal: 64,
  records: 64,
  peers: 32,
  certificates: 32,
  proofs: 32,
  keystore: 64,
  words: 16,
  backups: 12,
  answers: 12,
};
/** `LONG_TESTS=1` takes twice as many. */
const TIMES = process.env.LONG_TESTS === undefined ? 1 : 2;
const SEED = 9;

afterAll(async () => {
  Coverage.stop();
  for (const target of TARGETS) await target.close?.();
});

// First: what the targets leave in memory makes each look at it dearer.
describe('the fuzzer', () => {
  it('makes the same inputs of the same seed', () => {
    const inputs = (seed: number): string[] => {
      const dice = new Dice(seed);
      const base = dice.bytes(40);
      return Array.from({ length: 50 }, () => Buffer.from(mutate(base, base, dice)).toString('hex'));
    };
    expect(inputs(1)).toEqual(inputs(1));
    expect(inputs(1)).not.toEqual(inputs(2));
  });

  it('finds a hole, and makes the input that shows it small', async () => {
    const target = {
      name: 'a target with a hole',
      seed: (dice: Dice) => dice.bytes(40),
      run: (input: Uint8Array) => {
        if (input.length > 3 && input[1] === 0xff) throw new Error('the hole');
        return 'fine';
      },
    };
    await expect(fuzz(target, { runs: 5_000, seed: SEED })).rejects.toMatchObject({ input: { length: 4 } });
  });

  it('sees what a target holds of each input, and not what it lets go', async () => {
    const targetThat = (keeps: boolean) => {
      const kept: number[][] = [];
      const run = (): string => {
        if (!keeps) kept.length = 0;
        kept.push(new Array<number>(131_072).fill(1.5));
        return 'fine';
      };
      return { name: 'a target', seed: (dice: Dice) => dice.bytes(4), run };
    };
    const options = { runs: 32, seed: SEED };
    expect((await fuzzAndMeasure(targetThat(true), options)).growth).toBeGreaterThan(MAX_GROWTH);
    expect((await fuzzAndMeasure(targetThat(false), options)).growth).toBeLessThan(MAX_GROWTH);
  });
});

describe('bytes of others', () => {
  it.each(TARGETS.map((target) => [target.name, target] as const))(
    'are refused as documented, or read as they were written: %s',
    async (name, target) => {
      const report = await fuzz(target, { runs: TIMES * (RUNS[name] ?? 500), seed: SEED });
      expect(report.endings.size).toBeGreaterThan(1);
      expect(report.interesting).toBeGreaterThanOrEqual(readCorpus(name).length);
    },
  );
});
