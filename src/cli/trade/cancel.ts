/** `tessera trade cancel`: ends a trade that has not taken place. */

import { cancelTrade } from '../../api/routes/wallet/trade-operations.js';
import { type OwnCommand, printed } from '../command.js';
import { connect, NODE_EXITS, NODE_FLAGS, YES_FLAG } from '../wallet/connection.js';
import { ASKING_EXITS, confirm } from '../wallet/prompt.js';

export const command: OwnCommand = {
  spec: {
    description: [
      'Ends a trade, and releases what it reserved. If this wallet has already sent its half, its inputs are first ' +
        'paid back to the wallet. Until a block has that, the trade is `cancelling` and may still take place.',
    ],
    arguments: [{ name: 'ID', required: true, description: 'Its ID, as `tessera trade list` shows it.' }],
    flags: [...NODE_FLAGS, YES_FLAG],
    examples: [{ line: 'tessera trade cancel ID', does: 'Asks, then cancels.' }],
    again: 'look at it with tessera trade list, and run the command again if needed',
    exits: {
      ...NODE_EXITS,
      ...ASKING_EXITS,
    },
  },
  async run(args, context) {
    const [id = ''] = args.positionals;
    const client = connect(args, context);
    if (!args.has('yes')) await confirm(`Cancel the trade ${id}?`, context);
    const trade = await client.call(cancelTrade, { params: { trade_id: id } });
    return printed(args, context, trade, `${id} ${trade.state}`);
  },
};
