/** `tessera wallet …`: keys, balance and payments of a node's wallet, over its API. */

import { group, type OwnCommand } from './command.js';

export const command: OwnCommand = group(
  'wallet',
  [
    ['new', 'Creates the wallet of a node before its first start', () => import('./wallet/new.js')],
    ['restore', 'Restores a wallet from its recovery words', () => import('./wallet/restore.js')],
    ['words', 'Shows the recovery words of a wallet', () => import('./wallet/words.js')],
    ['address', 'Makes a new address for payments', () => import('./wallet/address.js')],
    ['balance', 'Shows what the wallet holds', () => import('./wallet/balance.js')],
    ['items', 'Lists the items of the wallet, with their metadata', () => import('./wallet/items.js')],
    ['pay', 'Pays an address or another node', () => import('./wallet/pay.js')],
    ['abandon', 'Gives up a payment that was never admitted', () => import('./wallet/abandon.js')],
    ['history', 'Lists the payments of the wallet, in and out', () => import('./wallet/history.js')],
    ['donations', 'Lists the answers of peers that were asked for a donation', () => import('./wallet/donations.js')],
    ['label', 'Shows the labels of addresses and transactions, or sets one', () => import('./wallet/label.js')],
    ['export', 'Writes the key pairs, private keys included, to a file', () => import('./wallet/export.js')],
    ['import', 'Adds key pairs from a file', () => import('./wallet/import.js')],
    ['backup', 'Writes words, imported keys and labels to an encrypted file', () => import('./wallet/backup.js')],
    ['sweep', 'Moves funds to addresses that the words can restore', () => import('./wallet/sweep.js')],
    ['passphrase', 'Changes the passphrase', () => import('./wallet/passphrase.js')],
  ],
  {
    description: [
      'Uses the wallet of a running user or miner node, over its API and with its API key. `new`, `restore`, `words` and, ' +
        'without --online, `sweep` work on the folder of a node. `tessera help wallet COMMAND` explains a command.',
      'Amounts are shown in display units and in raw units; a display unit is 72072000 raw units. Secrets are never ' +
        'taken from the command line. Commands that spend or show private keys ask first; without a terminal they ' +
        'need --yes.',
    ],
    examples: {
      'tessera wallet balance': 'Shows what the wallet of the user node on this machine holds.',
      'tessera wallet pay ADDRESS 1.5': 'Asks, then pays one and a half display units.',
    },
  },
);
