/** The checker of histories finds what is wrong, and nothing in what is right. */

import { describe, expect, it } from 'vitest';
import { Chance } from '../reliability/chance.js';
import { fc, test } from '../support/property.js';
import { type RuleName, violationsOf } from './check-history.js';
import type { End, Operation, Post } from './history.js';
import { type MadeHistory, madeHistory } from './made-history.js';
import { WRONGS } from './violations.js';

const rulesBroken = ({ operations, end }: MadeHistory): RuleName[] =>
  violationsOf(operations, end).map(({ rule }) => rule);
const seed = fc.integer({ min: 0, max: 2 ** 31 });

test.prop([seed, fc.integer({ min: 0, max: 200 })])('nothing is wrong with a right history', (chosen, steps) => {
  const { operations, end } = madeHistory(chosen, steps);
  expect(violationsOf(operations, end)).toEqual([]);
});

describe.each(WRONGS)('$name', ({ rule, make }) => {
  it('is found in a history of some hundred operations', () => {
    const wrong = make(madeHistory(7, 300), new Chance(7));
    expect(wrong && rulesBroken(wrong)).toContain(rule);
  });

  test.prop([seed, fc.integer({ min: 30, max: 150 })], { numRuns: 50 })('is found in any', (chosen, steps) => {
    const wrong = make(madeHistory(chosen, steps), new Chance(chosen));
    fc.pre(wrong !== undefined);
    expect(rulesBroken(wrong)).toContain(rule);
  });
});

describe('a history by hand', () => {
  const block = { height: 0, hash: 'b0', previousHash: null };
  const endWith = (...transactions: readonly string[]): End => ({
    chains: new Map([['storage', [{ ...block, transactions }]]]),
    states: [{ node: 'one', digest: 'd', held: 5n, issued: 5n }],
  });
  const post = (hash: string, more: Partial<Post> = {}): Post => ({
    kind: 'post',
    client: 'a',
    node: 'one',
    began: 10,
    ended: 20,
    hash,
    spends: ['coin:0'],
    parents: [],
    answer: 'accepted',
    code: '',
    ...more,
  });
  const read = (began: number, status: 'absent' | 'Pending', node = 'one'): Operation => ({
    kind: 'status',
    client: 'b',
    node,
    began,
    ended: began + 5,
    hash: 't',
    status,
    height: null,
  });
  const broken = (operations: readonly Operation[], end = endWith('t')): string[] =>
    violationsOf(operations, end).map(({ detail }) => detail);

  it('may leave open what became of a request without an answer', () => {
    const unknown = post('t', { answer: 'unknown', code: 'node_unreachable' });
    expect(broken([unknown])).toEqual([]);
    expect(broken([unknown], endWith())).toEqual([]);
  });

  it('names what was lost, who had accepted it and when', () => {
    expect(broken([post('t')], endWith())).toEqual(['t, accepted by one at 20 ms, is in no block']);
  });

  it('lets a read that began before the acceptance ended miss it, and another node be behind', () => {
    expect(broken([post('t'), read(19, 'absent'), read(30, 'absent', 'two')])).toEqual([]);
    expect(broken([post('t'), read(20, 'absent')])).toHaveLength(1);
  });

  it('lets overlapping reads see different things, and not one after the other', () => {
    expect(broken([read(30, 'Pending'), read(34, 'absent')])).toEqual([]);
    expect(broken([read(30, 'Pending'), read(35, 'absent')])).toEqual([
      't at one: Pending at 35 ms, and absent at 35 ms',
    ]);
  });

  it('takes a rival of unknown fate for a reason to refuse, and none that was refused itself', () => {
    const refused = post('t', { answer: 'refused', code: 'double_spend' });
    const rival = (answer: Post['answer']): Post => post('rival', { answer, code: 'double_spend' });
    expect(broken([refused, rival('unknown')], endWith())).toEqual([]);
    expect(broken([refused, rival('refused')], endWith())).toHaveLength(1);
  });

  it('lets a node refuse what spends an output that nobody has accepted yet', () => {
    const child = post('child', { answer: 'refused', code: 'unknown_input', spends: ['t:0'], parents: ['t'] });
    expect(broken([post('t', { ended: 11 }), child])).toEqual([]);
    expect(broken([post('t', { ended: 10 }), child])).toHaveLength(1);
  });

  it('tells three violations of a rule and counts the others', () => {
    const lost = ['a', 'b', 'c', 'd', 'e'].map((hash) => post(hash, { spends: [hash] }));
    expect(broken(lost, endWith())).toEqual([expect.stringMatching(/^a, .*; b, .*; c, .*; and 2 more$/)]);
  });
});
