/** When a request with an idempotency key is repeated, and when its outcome stays unknown. */

import { describe, expect, it } from 'vitest';
import type { Operation } from '../../src/api/operation.js';
import { createPayment } from '../../src/api/routes/wallet/operations.js';
import { callOnce } from '../../src/client/call-once.js';
import type { NodeClient } from '../../src/client/client.js';
import { UnknownOutcome } from '../../src/client/repeat.js';
import { NoAnswer } from '../../src/client/transport.js';
import { type ErrorCode, TesseraError } from '../../src/lib/errors.js';
import { ManualClock } from '../support/manual-clock.js';

const PAID = { to_address: 'a', amount: { kind: 'token', amount: 1 }, tx_hash: 'g0' };
const BODY = { kind: 'address', address: 'a', amount: 1, passphrase: '' } as const;
const TAKES_KEYS = { paths: { '/v1/payments': { post: { parameters: [{ name: 'Idempotency-Key' }] } } } };
const TAKES_NONE = { paths: { '/v1/payments': { post: {} } } };

const lost = (): NoAnswer => new NoAnswer('http://node', new Error('socket hang up'));
const away = (): NoAnswer => new NoAnswer('http://node', Object.assign(new Error('away'), { code: 'ECONNREFUSED' }));
const refusal = (code: ErrorCode): TesseraError => new TesseraError(code, 'as the test wants');

/** A client whose payments meet these ends, the last one for ever. */
async function pay(ends: readonly (TesseraError | 'paid')[], document: unknown = TAKES_KEYS) {
  const clock = new ManualClock();
  const keys: (string | undefined)[] = [];
  const call = async ({ id }: Operation, _: unknown, options: { idempotencyKey?: string }) => {
    if (id === 'getOpenApi') return document;
    keys.push(options.idempotencyKey);
    const end = ends[Math.min(keys.length, ends.length) - 1];
    if (end === 'paid') return PAID;
    throw end;
  };
  const client = { call } as unknown as NodeClient;
  const pause = async (ms: number): Promise<void> => clock.advance(ms);
  const options = { key: 'k', limitMs: 60_000, clock, pause };
  const [result] = await Promise.allSettled([callOnce(client, createPayment, { body: BODY }, options)]);
  expect(keys.every((key) => key === 'k')).toBe(true);
  return { result, attempts: keys.length };
}

describe('a request with an idempotency key', () => {
  it.each<readonly [string, readonly (TesseraError | 'paid')[]]>([
    ['a lost answer', [lost(), 'paid']],
    ['an answer that is not the node’s', [new TesseraError('node_unreachable', 'status 502'), 'paid']],
    ['a node that broke over it', [refusal('internal_error'), 'paid']],
    ['a node that does not know what became of it', [refusal('outcome_unknown'), 'paid']],
    ['a lost answer, a node that starts, and one that is busy', [lost(), away(), refusal('overloaded'), 'paid']],
  ])('is repeated after %s', async (_, ends) => {
    const { result, attempts } = await pay(ends);
    expect(result).toEqual({ status: 'fulfilled', value: PAID });
    expect(attempts).toBe(ends.length);
  });

  it.each<readonly [string, TesseraError]>([
    ['never came to the node', away()],
    ['was refused', refusal('insufficient_funds')],
    ['came to a busy node', refusal('overloaded')],
  ])('is not repeated when the first %s', async (_, error) => {
    const { result, attempts } = await pay([error]);
    expect(result).toEqual({ status: 'rejected', reason: error });
    expect(attempts).toBe(1);
  });

  it('was not done when the node says so after a lost answer', async () => {
    const error = refusal('insufficient_funds');
    expect((await pay([lost(), error])).result).toEqual({ status: 'rejected', reason: error });
  });

  it.each<readonly [string, readonly TesseraError[], unknown]>([
    ['nothing more is heard', [lost()], TAKES_KEYS],
    ['the passphrase is another meanwhile', [lost(), refusal('wrong_passphrase')], TAKES_KEYS],
    ['the API key is gone meanwhile', [lost(), refusal('invalid_api_key')], TAKES_KEYS],
    ['the node takes no keys', [lost()], TAKES_NONE],
    ['the node does not say whether it takes keys', [lost()], null],
  ])('has an unknown outcome when %s', async (_, ends, document) => {
    const { result, attempts } = await pay(ends, document);
    expect(result.status === 'rejected' && result.reason).toBeInstanceOf(UnknownOutcome);
    // A node that takes no keys would pay again.
    if (document !== TAKES_KEYS) expect(attempts).toBe(1);
  });
});
