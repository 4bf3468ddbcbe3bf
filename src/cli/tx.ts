/** `tessera tx …`: transactions in files: made, signed where the keys are, and sent. */

import { group, type OwnCommand } from './command.js';

export const command: OwnCommand = group(
  'tx',
  [
    ['build', 'Builds an unsigned transaction', () => import('./tx/build.js')],
    ['show', 'Checks a transaction and shows what it does', () => import('./tx/show.js')],
    ['sign', 'Signs a transaction, without a network', () => import('./tx/sign.js')],
    ['send', 'Sends signed transactions to a mempool node', () => import('./tx/send.js')],
  ],
  {
    description: [
      'A transaction is a JSON file that goes from one command to the next, through pipes or on a USB stick. `build` ' +
        'asks a mempool node for unspent outputs, `sign` needs keys but no network, `send` needs a network but no ' +
        'keys. Each command shows on the error stream what the transaction does.',
      'dev:1 to dev:10, dev:user and dev:miner stand for the addresses of the accounts that `tessera dev` prints.',
    ],
    examples: {
      'tessera tx build --from dev:1 --to dev:2=5 | tessera tx sign --dev-account 1 | tessera tx send':
        'On a network of `tessera dev`: account 1 pays account 2 five display units.',
    },
  },
);
