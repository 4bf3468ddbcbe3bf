/** `tessera faucet`: tokens for an address, from a dev network. */

import { payFromFaucet } from '../api/routes/dev/operations.js';
import { type OwnCommand, printed } from './command.js';
import { addressOrDev } from './dev-account.js';
import { DEV_FLAGS, devClient, onDevNetwork } from './dev-command.js';
import { parseAmount, showAmount } from './wallet/amounts.js';

export const command: OwnCommand = {
  spec: {
    description: [
      'Pays from the miner’s wallet in a network of `tessera dev`. If blocks are made on demand, the payment is in a ' +
        'block when the command ends.',
    ],
    arguments: [
      { name: 'ADDRESS', required: true, description: 'The receiver. dev:1 is account 1 of the network.' },
      { name: 'AMOUNT', description: 'Display units, or raw units with --raw. Default: 1000 display units.' },
    ],
    flags: [...DEV_FLAGS, { name: 'raw', description: 'AMOUNT is in raw units; 72,072,000 are one display unit.' }],
    again: 'check the balance of the address before you run the command again: it would pay once more',
    examples: [
      { line: 'tessera faucet "$(tessera wallet address)"', does: 'Pays 1,000 display units to the wallet of a node.' },
      { line: 'tessera faucet dev:3 2.5', does: 'Pays 2.5 display units to account 3.' },
    ],
  },
  async run(args, context) {
    const [named = '', text] = args.positionals;
    const amount = text === undefined ? undefined : parseAmount(text, args.has('raw'));
    const body = { address: addressOrDev(named), ...(amount === undefined ? {} : { amount }) };
    const client = devClient(args, context);
    const paid = await onDevNetwork(client, () => client.call(payFromFaucet, { body }));
    const where = paid.block_num === null ? 'waits for a block' : `in block ${paid.block_num}`;
    return printed(
      args,
      context,
      paid,
      `paid ${showAmount(BigInt(paid.amount))} to ${paid.to_address}\n${paid.tx_hash} ${where}`,
    );
  },
};
