/** Waits until a payment is confirmed or rejected, however many come after it. */

import type { Result } from '../../api/operation.js';
import { getWalletMovements } from '../../api/routes/wallet/history-operations.js';
import type { NodeClient } from '../../client/client.js';
import type { CliProcess } from '../command.js';
import { lookUntil } from '../look-again.js';

/** Movements of one answer while the payment is looked for. */
const PAGE = 1_000;

type Movement = Result<typeof getWalletMovements>['movements'][number];

/** Resolves with the payment as the history has it. A node that cannot answer for a while is asked again. */
export async function settled(
  hash: string,
  client: Pick<NodeClient, 'call'>,
  context: Pick<CliProcess, 'stderr'>,
): Promise<Movement> {
  let known: Movement | undefined;
  return lookUntil(async () => {
    known = await look(hash, client, known);
    return known?.state === 'confirmed' || known?.state === 'rejected' ? known : undefined;
  }, context);
}

/** Looks at the movement's old place, or else from the newest on: its number in the history does not change. */
async function look(
  hash: string,
  client: Pick<NodeClient, 'call'>,
  known: Movement | undefined,
): Promise<Movement | undefined> {
  let query = known === undefined ? { limit: PAGE } : { limit: 1, cursor: known.number };
  for (;;) {
    const { movements, next } = await client.call(getWalletMovements, { query });
    const found = movements.find(
      ({ tx_hash, kind }) => tx_hash === hash && kind !== 'import' && kind !== 'unexplained',
    );
    if (found !== undefined || next === null || known !== undefined) return found;
    query = { limit: PAGE, cursor: next };
  }
}
