/** Nodes with different rules do not share a journal. */

import { describe, expect, it } from 'vitest';
import { joinRules } from '../../src/journal/etcd/marks.js';

const RULES = { 'mining.partition_size': '10', 'network.genesis_file': 'abc def' };
const TEXT = 'mining.partition_size 10\nnetwork.genesis_file abc def\n';

describe('the rules beside a journal', () => {
  it('are written by the first node, and not again by the next', () => {
    expect(joinRules(undefined, RULES)).toBe(TEXT);
    expect(joinRules(TEXT, RULES)).toBeUndefined();
  });

  it('refuse a node with another one, by its name', () => {
    expect(() => joinRules(TEXT, { ...RULES, 'network.genesis_file': 'abc' })).toThrow(
      expect.objectContaining({
        code: 'invalid_config',
        message: expect.stringContaining('network.genesis_file is "abc" here and "abc def" there'),
      }),
    );
  });

  it('take in what another version adds, and keep what it does not know', () => {
    const added = joinRules(TEXT, { ...RULES, 'a.new_rule': '1' });
    expect(added).toBe(`a.new_rule 1\n${TEXT}`);
    expect(joinRules(added, RULES)).toBeUndefined();
    expect(() => joinRules(added, { 'a.new_rule': '2' })).toThrow(/a\.new_rule/);
  });
});
