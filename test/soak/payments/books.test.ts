/** The judge of a run of payments finds what is wrong: payments that are missing, doubled, strange or booked wrongly. */

import { describe, expect, it } from 'vitest';
import { type BookedMovement, type Books, faultsOf } from './books.js';

const moved = (hash: string, net: bigint, more: Partial<BookedMovement> = {}): BookedMovement => ({
  hash,
  kind: 'payment',
  direction: net < 0n ? 'out' : 'in',
  state: 'confirmed',
  height: null,
  amount: net < 0n ? -net : net,
  net,
  ...more,
});
const mined = (hash: string, height: number, amount: bigint) => ({
  hash,
  height,
  outputs: [
    { address: 'payee', amount },
    { address: 'change', amount: 1_000n - amount },
  ],
});
const intent = (key: string, amount: bigint, ...answers: string[]) => {
  return { key, amount, address: 'payee', answers: new Set(answers) };
};

const SOUND: Books = {
  intents: [intent('first', 10n, 'a'), intent('second', 20n, 'b')],
  mined: [
    { hash: 'funds', height: 1, outputs: [{ address: 'payer', amount: 1_000n }] },
    mined('a', 2, 10n),
    mined('b', 3, 20n),
    { hash: 'joined', height: 4, outputs: [{ address: 'own', amount: 30n }] },
  ],
  funding: { hash: 'funds', amount: 1_000n },
  payer: {
    movements: [moved('funds', 1_000n, { height: 1 }), moved('a', -10n, { height: 2 }), moved('b', -20n)],
    running: 970n,
    available: 970n,
  },
  payee: {
    movements: [
      moved('a', 10n, { height: 2 }),
      moved('b', 20n),
      moved('joined', 0n, { kind: 'merge', direction: 'self' }),
    ],
    running: 30n,
    available: 30n,
  },
  held: 5_000n,
  issued: 5_000n,
  waiting: 0,
};

const payer = (movements: readonly BookedMovement[]): Partial<Books> => ({ payer: { ...SOUND.payer, movements } });
const [funds, first, second] = SOUND.payer.movements as [BookedMovement, BookedMovement, BookedMovement];

describe('the books of a run of payments', () => {
  it('are sound when each intent was paid once and all say so', () => {
    expect(faultsOf(SOUND)).toEqual([]);
  });

  it.each<[string, Partial<Books>, string]>([
    ['an intent that was not paid', { mined: SOUND.mined.slice(0, 2) }, 'the intent second of 20 was paid 0 times'],
    ['one that was paid twice', { mined: [...SOUND.mined, mined('c', 5, 10n)] }, 'was paid 2 times: a,c'],
    ['a transaction in two blocks', { mined: [...SOUND.mined, mined('a', 5, 1n)] }, 'a is in block 2 and in block 5'],
    ['a transaction of nobody', { mined: [...SOUND.mined, mined('c', 5, 1n)] }, 'c in block 5 was meant by nobody'],
    [
      'two answers to one key',
      { intents: [intent('first', 10n, 'a', 'z'), intent('second', 20n, 'b')] },
      'answered with 2',
    ],
    [
      'an answer that was not kept',
      { intents: [intent('first', 10n, 'z'), intent('second', 20n, 'b')] },
      'no answer has named',
    ],
    ['a movement that is missing', payer([funds, first]), 'b, of 20, is not there'],
    ['a movement that is there twice', payer([funds, first, second, second]), 'and nothing was meant'],
    ['a wrong amount', payer([funds, first, { ...second, amount: 21n }]), 'b is a payment out of 21, and 20 was meant'],
    ['a wrong block', payer([funds, { ...first, height: 9 }, second]), 'a is in block 9, and really in 2'],
    ['a payment that has not ended', payer([funds, first, { ...second, state: 'sent' }]), 'b is sent'],
    ['a sum that is not the balance', payer([funds, first, { ...second, net: -21n }]), 'it adds up to 969'],
    ['a balance that is wrong', { payer: { ...SOUND.payer, running: 980n } }, 'the payer has 980, 970 of it available'],
    ['coins that are gone', { held: 4_999n }, 'all coins together are 4999, and 5000 were issued'],
    ['a pool that is not empty', { waiting: 1 }, '1 transactions are still in the pool'],
  ])('name %s', (_what, wrong, fault) => {
    expect(faultsOf({ ...SOUND, ...wrong })).toEqual(expect.arrayContaining([expect.stringContaining(fault)]));
  });
});
