/** `tessera trade watch`: shows how a trade goes on, until its end. */

import { getTrade } from '../../api/routes/wallet/trade-operations.js';
import { NoAnswer } from '../../client/transport.js';
import { stringifyExact } from '../../lib/json.js';
import { printable } from '../../lib/printable.js';
import type { Command } from '../command.js';
import { connect, JSON_FLAG, NODE_EXITS, NODE_FLAGS } from '../wallet/connection.js';
import type { Trade } from './shown.js';

/** Milliseconds between two looks. */
const LOOK_EVERY = 250;
const ENDS: ReadonlySet<string> = new Set(['done', 'cancelled', 'expired', 'failed']);

export const command: Command = {
  spec: {
    name: 'trade watch',
    summary: 'Shows how a trade goes on, until its end',
    description: [
      'Prints each state of the trade, and ends with it: status 0 when it is done, 1 when it was cancelled, has expired or failed. A node that ' +
        'restarts meanwhile is asked again.',
    ],
    arguments: [{ name: 'ID', required: true, description: 'Its name, as `tessera trade list` shows it.' }],
    flags: [...NODE_FLAGS, JSON_FLAG],
    examples: [{ line: 'tessera trade watch ID', does: 'Waits for the end of the trade.' }],
    exits: { ...NODE_EXITS, 1: 'the trade did not take place, or the node cannot be reached' },
  },
  async run(args, context) {
    const [id = ''] = args.positionals;
    const client = connect(args, context);
    let before = '';
    for (let isFirst = true; ; isFirst = false) {
      try {
        const trade = await client.call(getTrade, { params: { trade_id: id } });
        if (trade.state !== before) {
          before = trade.state;
          context.stdout.write(args.has('json') ? `${stringifyExact(trade)}\n` : line(trade));
        }
        if (ENDS.has(trade.state)) return trade.state === 'done' ? 0 : 1;
      } catch (error) {
        if (isFirst || !(error instanceof NoAnswer)) throw error;
      }
      // Not with a `Clock`, whose timers do not keep the process alive.
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY));
    }
  },
};

function line({ state, reason }: Trade): string {
  return reason === null ? `${state}\n` : `${state}: ${printable(reason)}\n`;
}
