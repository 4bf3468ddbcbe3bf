/** `tessera wallet …`: keys, balance and payments of a node's wallet, over its API. */

import { type Command, type CommandEntry, UsageError } from './command.js';

const COMMANDS: readonly CommandEntry[] = [
  {
    name: 'new',
    summary: 'Creates the wallet of a node before its first start',
    load: async () => (await import('./wallet/new.js')).command,
  },
  {
    name: 'restore',
    summary: 'Restores a wallet from its recovery words',
    load: async () => (await import('./wallet/restore.js')).command,
  },
  {
    name: 'words',
    summary: 'Shows the recovery words of a wallet',
    load: async () => (await import('./wallet/words.js')).command,
  },
  {
    name: 'address',
    summary: 'Makes a new address for payments',
    load: async () => (await import('./wallet/address.js')).command,
  },
  {
    name: 'balance',
    summary: 'Shows what the wallet holds',
    load: async () => (await import('./wallet/balance.js')).command,
  },
  {
    name: 'items',
    summary: 'Lists the items of the wallet, with their metadata',
    load: async () => (await import('./wallet/items.js')).command,
  },
  {
    name: 'pay',
    summary: 'Pays an address or another node',
    load: async () => (await import('./wallet/pay.js')).command,
  },
  {
    name: 'abandon',
    summary: 'Gives up a payment that was never admitted',
    load: async () => (await import('./wallet/abandon.js')).command,
  },
  {
    name: 'history',
    summary: 'Lists the payments of the wallet, in and out',
    load: async () => (await import('./wallet/history.js')).command,
  },
  {
    name: 'donations',
    summary: 'Lists the answers of peers that were asked for a donation',
    load: async () => (await import('./wallet/donations.js')).command,
  },
  {
    name: 'label',
    summary: 'Shows the labels of addresses and transactions, or sets one',
    load: async () => (await import('./wallet/label.js')).command,
  },
  {
    name: 'export',
    summary: 'Writes the key pairs, private keys included, to a file',
    load: async () => (await import('./wallet/export.js')).command,
  },
  {
    name: 'import',
    summary: 'Adds key pairs from a file',
    load: async () => (await import('./wallet/import.js')).command,
  },
  {
    name: 'backup',
    summary: 'Writes words, imported keys and labels to an encrypted file',
    load: async () => (await import('./wallet/backup.js')).command,
  },
  {
    name: 'sweep',
    summary: 'Moves funds to addresses that the words can restore',
    load: async () => (await import('./wallet/sweep.js')).command,
  },
  {
    name: 'passphrase',
    summary: 'Changes the passphrase',
    load: async () => (await import('./wallet/passphrase.js')).command,
  },
];

export const command: Command = {
  spec: {
    name: 'wallet',
    summary: 'Shows and uses a wallet: keys, balance, payments',
    description: [
      'Uses the wallet of a running user or miner node, over its API and with its API key. `new`, `restore`, `words` and, ' +
        'without --online, `sweep` work on the folder of a node. `tessera help wallet COMMAND` explains a command.',
      'Amounts are shown in display units and in raw units; a display unit is 72072000 raw units. Secrets are never ' +
        'taken from the command line. Commands that spend or show private keys ask first; without a terminal they ' +
        'need --yes.',
    ],
    commands: COMMANDS,
    flags: [],
    examples: [
      { line: 'tessera wallet balance', does: 'Shows what the wallet of the user node on this machine holds.' },
      { line: 'tessera wallet pay ADDRESS 1.5', does: 'Asks, then pays one and a half display units.' },
    ],
  },
  commands: COMMANDS,
  async run() {
    throw new UsageError(`name a command: tessera wallet ${COMMANDS.map(({ name }) => name).join('|')}`);
  },
};
