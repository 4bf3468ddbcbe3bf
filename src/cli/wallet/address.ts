/** `tessera wallet address`: a new address for payments. */

import { createWalletAddress } from '../../api/routes/wallet/operations.js';
import { type OwnCommand, printed } from '../command.js';
import { connect, NODE_EXITS, NODE_FLAGS } from './connection.js';

export const command: OwnCommand = {
  spec: {
    description: [
      'Asks the node for a new address and prints it. The wallet keeps every address for ever. Use a new one for ' +
        'each payer.',
    ],
    flags: NODE_FLAGS,
    examples: {
      'tessera wallet address': 'Prints a new address of the user node on this machine.',
    },
    again: 'run the command again: the wallet keeps every address that it makes',
    exits: NODE_EXITS,
  },
  async run(args, context) {
    const answer = await connect(args, context).call(createWalletAddress);
    return printed(args, context, answer, answer.address);
  },
};
