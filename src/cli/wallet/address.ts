/** `tessera wallet address`: a new address for payments. */

import { createWalletAddress } from '../../api/routes/wallet/operations.js';
import { stringifyExact } from '../../lib/json.js';
import type { Command } from '../command.js';
import { connect, JSON_FLAG, NODE_EXITS, NODE_FLAGS } from './connection.js';

export const command: Command = {
  spec: {
    name: 'wallet address',
    summary: 'Makes a new address for payments',
    description: [
      'Asks the node for a new address and prints it. The wallet keeps every address for ever. Use a new one for ' +
        'each payer.',
    ],
    flags: [...NODE_FLAGS, JSON_FLAG],
    examples: [{ line: 'tessera wallet address', does: 'Prints a new address of the user node on this machine.' }],
    again: 'run the command again: the wallet keeps every address that it makes',
    exits: NODE_EXITS,
  },
  async run(args, context) {
    const answer = await connect(args, context).call(createWalletAddress);
    context.stdout.write(args.has('json') ? `${stringifyExact(answer)}\n` : `${answer.address}\n`);
    return 0;
  },
};
