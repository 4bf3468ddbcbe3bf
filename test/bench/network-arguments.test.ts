/** What `npm run bench:network` makes of its arguments. */

import { describe, expect, test } from 'vitest';
import { readNetworkArguments } from '../../bench/network/arguments.js';

const read = (...args: readonly string[]) => readNetworkArguments(args);

describe('arguments of the benchmark of a network', () => {
  test('have defaults, others with --short, and what is given counts', () => {
    expect(read()).toMatchObject({ seconds: 20, rounds: 2, transactions: 20_000, intervalMs: 5_000, apart: false });
    expect(read('--short', '--rounds', '3')).toMatchObject({ seconds: 3, rounds: 3, transactions: 500 });
  });

  test('beside the original, whose blocks have a size of their own, ours have the same', () => {
    expect(read('--original', 'node')).toMatchObject({ original: 'node', transactions: 2_000, intervalMs: 500 });
    expect(read('--original', 'node', '--interval', '900')).toMatchObject({ transactions: 2_000, intervalMs: 900 });
  });

  test.each([
    [['--fast'], "'--fast'"],
    [['--seconds', 'ten'], '--seconds takes a whole number from 1 on, not ten.'],
    [['--batch', '0'], '--batch takes a whole number from 1 on, not 0.'],
  ])('%j is told in a sentence, with status 2', (args, fault) => {
    const said = read(...args);
    expect(said).toMatchObject({ status: 2, text: expect.stringContaining(fault) });
  });

  test('--help shows the options', () => {
    expect(read('--help')).toMatchObject({ status: 0, text: expect.stringContaining('--original') });
  });
});
