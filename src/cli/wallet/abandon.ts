/** `tessera wallet abandon`: gives up a payment that no mempool node has admitted. */

import { abandonPayment } from '../../api/routes/wallet/operations.js';
import { type OwnCommand, printed } from '../command.js';
import { ASKING_NODE_EXITS, connect, NODE_FLAGS, YES_FLAG } from './connection.js';
import { confirm } from './prompt.js';

export const command: OwnCommand = {
  spec: {
    description: [
      'Gives up a queued payment that no mempool node has admitted. It becomes rejected, and so do payments that ' +
        'spend its change; their funds are back in the wallet.',
      'A payment that may still get into a block is refused, because paying again could pay twice. Asks first; without a ' +
        'terminal it needs --yes.',
    ],
    arguments: [{ name: 'HASH', required: true, description: 'Hash of the payment, as the history shows it.' }],
    flags: [...NODE_FLAGS, YES_FLAG],
    examples: {
      'tessera wallet abandon HASH': 'Asks, then gives the payment up.',
    },
    again: 'look at tessera wallet history, or run the same command again',
    exits: ASKING_NODE_EXITS,
  },
  async run(args, context) {
    const [hash = ''] = args.positionals;
    const client = connect(args, context);
    if (!args.has('yes')) await confirm(`Give up the payment ${hash}?`, context);
    await client.call(abandonPayment, { params: { tx_hash: hash } });
    return printed(args, context, { abandoned: true }, `${hash} abandoned`);
  },
};
