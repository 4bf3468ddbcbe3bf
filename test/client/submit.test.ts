/** Sending transactions: what is made of answers that do not come, and of refusals after them. */

import { describe, expect, it } from 'vitest';
import { submit, UnknownOutcome } from '../../src/client/repeat.js';
import { NoAnswer } from '../../src/client/transport.js';
import { TesseraError } from '../../src/lib/errors.js';
import { ManualClock } from '../support/manual-clock.js';

const HASH = 'g0';
const lost = new NoAnswer('http://node', new Error('socket hang up'));
const away = new NoAnswer('http://node', Object.assign(new Error('away'), { code: 'ECONNREFUSED' }));
const busy = new TesseraError('overloaded', 'later');
const refused = new TesseraError('double_spend', 'spent already');

/** A node that answers attempts and look-ups so; the last answer stands. An error is thrown, a text is a status. */
function sendTo(
  attempts: readonly (Error | null)[],
  lookUps: readonly (Error | string)[],
  refusals: 'passing' | 'all' = 'passing',
) {
  const clock = new ManualClock();
  const next = <T>(list: T[]): T | undefined => (list.length > 1 ? list.shift() : list[0]);
  const [sent, asked] = [[...attempts], [...lookUps]];
  return submit([HASH], {
    send: async () => {
      const answer = next(sent);
      if (answer instanceof Error) throw answer;
    },
    ask: async () => {
      const answer = next(asked);
      if (answer instanceof Error) throw answer;
      return answer === undefined ? {} : { [HASH]: { status: answer } };
    },
    refusals,
    until: () => clock.monotonic() + 10_000,
    clock,
    pause: async (ms) => clock.advance(ms),
  });
}

describe('sending transactions', () => {
  it('believes a refusal of what was not sent before', async () => {
    await expect(sendTo([refused], ['Confirmed'])).rejects.toBe(refused);
  });

  it('asks after a lost answer what became of them, before it believes a refusal', async () => {
    await expect(sendTo([lost, refused], ['Confirmed'])).resolves.toBeUndefined();
    await expect(sendTo([lost, refused], ['Rejected'])).rejects.toBe(refused);
  });

  it('believes no refusal while nobody says what became of them', async () => {
    await expect(sendTo([lost, refused], [lost, 'Confirmed'])).resolves.toBeUndefined();
    await expect(sendTo([lost, refused], [lost])).rejects.toThrow(UnknownOutcome);
  });

  it('goes on while the node is busy, and while one that was there starts again', async () => {
    await expect(sendTo([busy, null], [])).resolves.toBeUndefined();
    await expect(sendTo([busy], [])).rejects.toBe(busy);
    await expect(sendTo([lost, away, null], [away])).resolves.toBeUndefined();
    await expect(sendTo([lost, away], [away])).rejects.toThrow(UnknownOutcome);
  });

  it('waits for a node that was never there only where that is wanted', async () => {
    await expect(sendTo([away, null], [])).rejects.toBe(away);
    await expect(sendTo([away, null], [], 'all')).resolves.toBeUndefined();
  });
});
