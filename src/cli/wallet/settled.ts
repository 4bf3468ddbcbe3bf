/** Waits until a payment is confirmed or rejected, however many come after it. */

import type { Result } from '../../api/operation.js';
import { getWalletMovements } from '../../api/routes/wallet/history-operations.js';
import type { NodeClient } from '../../client/client.js';
import { NoAnswer } from '../../client/transport.js';

/** Movements of one answer while the payment is looked for. */
const PAGE = 1_000;
/** Milliseconds between polls of the state of a payment. */
const LOOK_EVERY = 250;

type Movement = Result<typeof getWalletMovements>['movements'][number];

/** Resolves with the payment as the history has it. A node that restarts meanwhile is asked again. */
export async function settled(hash: string, client: Pick<NodeClient, 'call'>): Promise<Movement> {
  let known: Movement | undefined;
  for (;;) {
    known = await look(hash, client, known);
    if (known?.state === 'confirmed' || known?.state === 'rejected') return known;
    // Not with a `Clock`, whose timers do not keep the process alive.
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY));
  }
}

/** Where it was before, or else from the newest on: its number in the history does not change. */
async function look(
  hash: string,
  client: Pick<NodeClient, 'call'>,
  known: Movement | undefined,
): Promise<Movement | undefined> {
  try {
    let query = known === undefined ? { limit: PAGE } : { limit: 1, cursor: known.number };
    for (;;) {
      const { movements, next } = await client.call(getWalletMovements, { query });
      const found = movements.find(
        ({ tx_hash, kind }) => tx_hash === hash && kind !== 'import' && kind !== 'unexplained',
      );
      if (found !== undefined || next === null || known !== undefined) return found;
      query = { limit: PAGE, cursor: next };
    }
  } catch (error) {
    if (error instanceof NoAnswer) return known;
    throw error;
  }
}
