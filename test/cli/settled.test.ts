/** `tessera wallet pay --wait` finds its payment, and asks for it alone from then on. */

import { expect, it } from 'vitest';
import { settled } from '../../src/cli/wallet/pay.js';
import type { NodeClient } from '../../src/client/client.js';
import { NoAnswer } from '../../src/client/transport.js';
import { createContext } from '../support/cli-context.js';

it('finds a payment behind thousands of later ones, and waits for its end over a node that does not answer', async () => {
  const asked: { readonly limit: number; readonly cursor?: number }[] = [];
  /** The payment is number 7 of 2,500, and confirmed at the fifth question. */
  const movementAt = (number: number) => ({
    number,
    tx_hash: number === 7 ? 'ours' : `other ${number}`,
    kind: 'payment',
    state: asked.length < 6 ? 'sent' : 'confirmed',
  });
  const call = async (_: unknown, { query }: { readonly query: (typeof asked)[number] }) => {
    asked.push(query);
    if (asked.length === 5) throw new NoAnswer('http://a.node', new Error('it starts again'));
    const { limit, cursor = 2_499 } = query;
    const count = Math.min(limit, cursor + 1);
    const movements = Array.from({ length: count }, (_, i) => movementAt(cursor - i));
    return { movements, next: cursor - count < 0 ? null : cursor - count };
  };
  const found = await settled('ours', { call } as unknown as Pick<NodeClient, 'call'>, createContext());
  expect(found).toMatchObject({ number: 7, state: 'confirmed' });
  const page = { limit: 1_000 };
  const alone = { limit: 1, cursor: 7 };
  expect(asked).toEqual([page, { ...page, cursor: 1_499 }, { ...page, cursor: 499 }, alone, alone, alone]);
});
