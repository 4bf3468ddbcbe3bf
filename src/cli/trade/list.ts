/** `tessera trade list`: the trades of the wallet. */

import { getTrades } from '../../api/routes/wallet/trade-operations.js';
import { stringifyExact } from '../../lib/json.js';
import type { Command } from '../command.js';
import { connect, JSON_FLAG, NODE_EXITS, NODE_FLAGS } from '../wallet/connection.js';
import { table } from '../wallet/table.js';
import { showAsset } from './shown.js';

export const command: Command = {
  spec: {
    name: 'trade list',
    summary: 'Lists the trades of the wallet, and received offers',
    description: [
      'Newest first. Offers from other nodes are `received`: nothing is reserved for them before you accept them.',
    ],
    flags: [...NODE_FLAGS, JSON_FLAG],
    examples: [{ line: 'tessera trade list', does: 'Shows all open trades, and the last closed ones.' }],
    exits: NODE_EXITS,
  },
  async run(args, context) {
    const client = connect(args, context);
    const { trades } = await client.call(getTrades, {});
    if (args.has('json')) context.stdout.write(`${stringifyExact({ trades })}\n`);
    else {
      const rows = trades.map((one) => [one.trade_id, one.state, showAsset(one.give), showAsset(one.get)]);
      const columns = ['TRADE', 'STATE', 'GIVES', 'GETS'].map((title) => ({ title }));
      context.stdout.write(rows.length === 0 ? 'no trades\n' : table(columns, rows));
    }
    return 0;
  },
};
