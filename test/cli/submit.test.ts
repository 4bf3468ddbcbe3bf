/** `tessera tx send`: what it makes of answers that do not come, and of refusals after them. */

import { describe, expect, it } from 'vitest';
import type { Transaction } from '../../src/chain/types.js';
import { submit } from '../../src/cli/tx/submit.js';
import type { NodeClient } from '../../src/client/client.js';
import { NoAnswer } from '../../src/client/transport.js';
import { TesseraError } from '../../src/lib/errors.js';
import { ManualClock } from '../support/manual-clock.js';

const transaction: Transaction = { inputs: [], outputs: [], version: 6n, fees: [], druidInfo: null };
const lost = new NoAnswer('http://node', new Error('socket hang up'));
const refused = new TesseraError('double_spend', 'spent already');

/** A node that answers attempts and look-ups so; the last answer stands. An error is thrown, a text is a status. */
function sendTo(attempts: readonly (Error | null)[], lookUps: readonly (Error | string)[]) {
  const clock = new ManualClock();
  const [sent, asked] = [[...attempts], [...lookUps]];
  const client = {
    async call({ id }: { readonly id: string }, { body }: { readonly body: { readonly hashes?: readonly string[] } }) {
      // So that the time in which it is sent again ends.
      clock.advance(45_000);
      const list = id === 'createTransactions' ? sent : asked;
      const answer = list.length > 1 ? list.shift() : list[0];
      if (answer instanceof Error) throw answer;
      return Object.fromEntries((body.hashes ?? []).map((hash) => [hash, { status: answer }]));
    },
  };
  return submit([transaction], client as unknown as NodeClient, { clock, stderr: { write: () => undefined } });
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
    await expect(sendTo([lost, refused], [lost])).rejects.toThrow('it is not known whether the node has taken it');
  });
});
