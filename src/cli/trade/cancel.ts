/** `tessera trade cancel`: ends a trade that has not taken place. */

import { cancelTrade } from '../../api/routes/wallet/trade-operations.js';
import { systemClock } from '../../lib/clock.js';
import { stringifyExact } from '../../lib/json.js';
import type { Command } from '../command.js';
import { orInterrupted, UNKNOWN } from '../once.js';
import { connect, JSON_FLAG, NODE_EXITS, NODE_FLAGS, YES_FLAG } from '../wallet/connection.js';
import { confirm, DECLINED, INTERRUPTED } from '../wallet/prompt.js';
import { whileWaiting } from '../wallet/waiting.js';

const ADVICE = 'look at it with tessera trade list, and run the command again if need be';

export const command: Command = {
  spec: {
    name: 'trade cancel',
    summary: 'Cancels a trade',
    description: [
      'Ends a trade, and frees what was kept aside. When the half of this wallet is out, its inputs are paid back to the wallet first: the trade is ' +
        '`cancelling` until a block has that, and may still take place before.',
    ],
    arguments: [{ name: 'ID', required: true, description: 'Its name, as `tessera trade list` shows it.' }],
    flags: [...NODE_FLAGS, YES_FLAG, JSON_FLAG],
    examples: [{ line: 'tessera trade cancel ID', does: 'Asks, then cancels.' }],
    exits: {
      ...NODE_EXITS,
      [UNKNOWN]: 'interrupted while the request was out; the message says how to go on',
      [DECLINED]: 'the answer to the question was no',
      [INTERRUPTED]: 'interrupted at a question',
    },
  },
  async run(args, context) {
    const [id = ''] = args.positionals;
    const client = connect(args, context);
    if (!args.has('yes')) await confirm(`Cancel the trade ${id}?`, context);
    const cancelling = client.call(cancelTrade, { params: { trade_id: id } });
    const trade = await whileWaiting('cancelling', orInterrupted(cancelling, context, ADVICE), context, systemClock);
    context.stdout.write(args.has('json') ? `${stringifyExact(trade)}\n` : `${id} ${trade.state}\n`);
    return 0;
  },
};
