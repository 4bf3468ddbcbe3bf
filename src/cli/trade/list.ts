/** `tessera trade list`: the trades of the wallet. */

import { getTrades } from '../../api/routes/wallet/trade-operations.js';
import { type OwnCommand, printed } from '../command.js';
import { connect, NODE_EXITS, NODE_FLAGS } from '../wallet/connection.js';
import { table } from '../wallet/table.js';
import { showAsset } from './shown.js';

export const command: OwnCommand = {
  spec: {
    description: [
      'Newest first. Offers from other nodes are `received`: nothing is reserved for them before you accept them.',
    ],
    flags: [...NODE_FLAGS],
    examples: [{ line: 'tessera trade list', does: 'Shows all open trades, and the last closed ones.' }],
    exits: NODE_EXITS,
  },
  async run(args, context) {
    const client = connect(args, context);
    const { trades } = await client.call(getTrades, {});
    const rows = trades.map((one) => [one.trade_id, one.state, showAsset(one.give), showAsset(one.get)]);
    const columns = ['TRADE', 'STATE', 'GIVES', 'GETS'];
    return printed(args, context, { trades }, rows.length === 0 ? 'no trades' : table(columns, rows));
  },
};
