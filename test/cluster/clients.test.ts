/** What clients take an error for, and how long a cluster stood still. */

import { expect, it } from 'vitest';
import { NoAnswer, RefusedCall } from '../../src/client/transport.js';
import type { ErrorCode } from '../../src/lib/errors.js';
import { answerOf } from './clients.js';
import { gapsOf } from './gaps.js';
import type { Operation } from './history.js';

const refusal = (code: ErrorCode): RefusedCall => new RefusedCall(code, '', new Response(null, { status: 500 }));
const noAnswer = (code: string): NoAnswer =>
  new NoAnswer('http://127.0.0.1:1', new Error('', { cause: Object.assign(new Error(code), { code }) }));

it.each([
  ['a rule of the chain', refusal('double_spend'), 'refused'],
  ['a node with too much to do', refusal('overloaded'), 'turned away'],
  ['a journal that has not confirmed it', refusal('mempool_unreachable'), 'unknown'],
  ['a node that stops', refusal('shutting_down'), 'unknown'],
  ['a connection that could not be opened', noAnswer('ECONNREFUSED'), 'turned away'],
  ['a connection that broke', noAnswer('ECONNRESET'), 'unknown'],
  ['anything else', new Error('?'), 'unknown'],
])('%s is no acceptance, and a refusal only where a node says so', (_, error, answer) => {
  expect(answerOf(error)).toBe(answer);
});

it('the longest gaps count from the fault on, to the recovery', () => {
  const request = { client: 'a', node: 'one', began: 0 };
  const post = (ended: number, answer: 'accepted' | 'unknown'): Operation => {
    return { kind: 'post', ...request, ended, hash: `t${ended}`, spends: [], parents: [], answer, code: '' };
  };
  const height = (ended: number, value: bigint): Operation => {
    return { kind: 'count', ...request, ended, what: 'height', value };
  };
  const operations = [post(900, 'accepted'), post(4_000, 'unknown'), post(5_000, 'accepted'), post(9_000, 'accepted')];
  const heights = [height(1_500, 1n), height(6_000, 1n), height(7_500, 2n), height(8_000, 2n)];
  expect(gapsOf([...operations, ...heights], 1_000, 10_000)).toEqual({ posts: 4, blocks: 6 });
  expect(gapsOf([], 1_000, 3_000)).toEqual({ posts: 2, blocks: 2 });
});
