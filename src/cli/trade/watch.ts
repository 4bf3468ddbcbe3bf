/** `tessera trade watch`: shows how a trade goes on, until its end. */

import { getTrade } from '../../api/routes/wallet/trade-operations.js';
import { errorMessage, isTesseraError } from '../../lib/errors.js';
import { stringifyExact } from '../../lib/json.js';
import { printable } from '../../lib/printable.js';
import { ExitError, type OwnCommand } from '../command.js';
import { lookUntil } from '../look-again.js';
import { connect, NODE_EXITS, NODE_FLAGS } from '../wallet/connection.js';
import { UNKNOWN } from '../writes.js';
import type { Trade } from './shown.js';

const ENDS: ReadonlySet<string> = new Set(['done', 'cancelled', 'expired', 'failed']);

export const command: OwnCommand = {
  spec: {
    description: [
      'Prints each state of the trade until it ends. The status is 0 if it took place, and 1 if it was cancelled, ' +
        'expired or failed. If the node restarts meanwhile, the command asks it again.',
    ],
    arguments: [{ name: 'ID', required: true, description: 'Its ID, as `tessera trade list` shows it.' }],
    flags: [...NODE_FLAGS],
    examples: [{ line: 'tessera trade watch ID', does: 'Waits for the end of the trade.' }],
    exits: {
      ...NODE_EXITS,
      1: 'the trade did not take place, or the node cannot be reached',
      [UNKNOWN]: 'the node has not answered for ten minutes: the result of the trade is not known',
    },
  },
  async run(args, context) {
    const [id = ''] = args.positionals;
    const client = connect(args, context);
    let before = '';
    const look = async () => {
      const trade = await client.call(getTrade, { params: { trade_id: id } });
      if (trade.state !== before) {
        before = trade.state;
        context.stdout.write(args.has('json') ? `${stringifyExact(trade)}\n` : line(trade));
      }
      return ENDS.has(trade.state) ? trade.state : undefined;
    };
    // A node that is not there from the start may not come.
    const end =
      (await look()) ??
      (await lookUntil(look, context).catch((error) => {
        if (!isTesseraError(error)) throw error;
        throw new ExitError(
          UNKNOWN,
          error.code,
          `${errorMessage(error)}; the result of the trade is not known: look again later`,
        );
      }));
    return end === 'done' ? 0 : 1;
  },
};

function line({ state, reason }: Trade): string {
  return reason === null ? `${state}\n` : `${state}: ${printable(reason)}\n`;
}
