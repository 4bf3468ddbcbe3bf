import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parseExactJson } from '../../src/lib/json.js';
import { readVectors, runVector, runVectors, type Vector } from './run.js';

const file = new URL('../fixtures/chain-vectors.json', import.meta.url);
const vectors = readVectors(parseExactJson(readFileSync(file, 'utf8')));

/** The same shape with another value at every leaf in turn. */
function* tampered(value: unknown): Generator<unknown> {
  if (Array.isArray(value)) {
    for (const [i, item] of value.entries()) for (const other of tampered(item)) yield value.with(i, other);
    yield [...value, 'more'];
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, member] of Object.entries(value))
      for (const other of tampered(member)) yield { ...value, [key]: other };
    yield { ...value, unheard_of: 1 };
  } else if (typeof value === 'string') {
    yield `${value}0`;
    yield null;
  } else if (typeof value === 'number') {
    yield value + 1;
  } else {
    yield typeof value === 'boolean' ? !value : 'not null';
  }
}

describe('golden vectors (docs/chain.md#vectors)', () => {
  it.each(vectors.map((vector) => [vector.id, vector] as const))('%s', (_, vector) => {
    expect(runVector(vector)).toEqual([]);
  });
});

describe('the runner', () => {
  const [first] = vectors;
  const vector = (change: Partial<Vector>): Vector => ({ ...(first as Vector), ...change });

  it('notices every single change of what is expected', () => {
    // The format of DRUID texts is itself a pattern and a length: a wider pattern holds as well.
    for (const original of vectors.filter(({ id }) => !['druid-format', 'supply-total'].includes(id))) {
      for (const expected of tampered(original.expected)) {
        const problems = runVector({ ...original, expected });
        expect(problems, `${original.id} with ${JSON.stringify(expected)}`).not.toEqual([]);
      }
    }
  });

  it('fails an unknown category, an unknown shape and an unknown member', () => {
    expect(runVector(vector({ category: 'weather' }))).toEqual(['unknown category weather']);
    expect(runVector(vector({ category: 'merkle', inputs: { trees: [] } }))).toEqual([
      'unknown input shape: no transactions',
    ]);
    expect(runVector(vector({ expected: { colour: 'red' } }))).toEqual(['colour: unknown expected member']);
    expect(runVector(vector({ expected: {} }))).not.toEqual([]);
  });

  it('wants a stale vector not to come out', () => {
    expect(runVector(vector({ status: 'stale' }))).toEqual(['the value of an older layout came out']);
    expect(runVector(vector({ status: 'stale', expected: 'older' }))).toEqual([]);
  });

  it('counts', () => {
    const report = runVectors([vector({}), vector({ id: 'x', expected: 'y' })]);
    expect(report.passed).toBe(1);
    expect(report.failures.map(({ id }) => id)).toEqual(['x']);
  });

  it('takes transaction hashes as a text and by name, from JSON and from bytes', () => {
    const source = vectors.find(({ id }) => id === 'd-tx-default');
    const expected = source?.expected as Record<string, unknown>;
    const hash = expected.tx_hash;
    const inputs = [
      source?.inputs ?? {},
      { transaction: JSON.parse(String(source?.inputs.transaction_json)) },
      { bincode_hex: expected.bincode_hex },
    ];
    for (const input of inputs) {
      expect(runVector(vector({ category: 'tx_hash', inputs: input, expected: hash }))).toEqual([]);
      expect(runVector(vector({ category: 'tx_hash', inputs: input, expected: { tx_hash: hash } }))).toEqual([]);
    }
  });
});
