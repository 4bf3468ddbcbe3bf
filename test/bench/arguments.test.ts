/** What `npm run bench` makes of its arguments. */

import { describe, expect, test } from 'vitest';
import { readArguments } from '../../bench/arguments.js';

const NAMES = ['signatures', 'api', 'utxo'];
const read = (...args: readonly string[]) => readArguments(args, NAMES);

describe('arguments of the benchmarks', () => {
  test('all run without any, and those named', () => {
    expect(read()).toMatchObject({ wanted: NAMES, short: false, json: 'bench.json' });
    expect(read('utxo', 'api')).toMatchObject({ wanted: ['utxo', 'api'] });
  });

  test('those with a short form run with --short alone', () => {
    expect(read('--short')).toMatchObject({ wanted: ['signatures', 'api'], short: true });
    expect(read('--short', 'utxo')).toMatchObject({ wanted: ['utxo'], short: true });
  });

  test('--help names the benchmarks and every option', () => {
    const said = read('--help', 'utxo');
    expect(said).toMatchObject({ status: 0 });
    for (const word of [...NAMES, '--short', '--sizes', '--json', '--compare', '--against', '--original']) {
      expect(said).toHaveProperty('text', expect.stringContaining(word));
    }
  });

  test.each([
    [['--fast'], "'--fast'"],
    [['--json'], "'--json <value>'"],
    [['nothing'], 'No benchmark nothing; there are signatures, api, utxo.'],
    [['utxo', '--sizes', 'many'], 'not many'],
  ])('%j is told in a sentence, with status 2', (args, fault) => {
    const said = read(...args);
    expect(said).toMatchObject({ status: 2, text: expect.stringContaining(fault) });
    expect(said).toHaveProperty('text', expect.not.stringContaining('    at '));
  });
});
