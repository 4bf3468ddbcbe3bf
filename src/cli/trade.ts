/** `tessera trade …`: trades of a node's wallet with other wallets, over its API. */

import { type Command, type CommandEntry, UsageError } from './command.js';

const COMMANDS: readonly CommandEntry[] = [
  {
    name: 'offer',
    summary: 'Offers tokens or items for others',
    load: async () => (await import('./trade/offer.js')).command,
  },
  {
    name: 'accept',
    summary: 'Accepts an offer',
    load: async () => (await import('./trade/accept.js')).command,
  },
  {
    name: 'complete',
    summary: 'Goes on with a trade by the file of the other party',
    load: async () => (await import('./trade/complete.js')).command,
  },
  {
    name: 'list',
    summary: 'Lists the trades of the wallet, and offers that came to it',
    load: async () => (await import('./trade/list.js')).command,
  },
  {
    name: 'watch',
    summary: 'Shows how a trade goes on, until its end',
    load: async () => (await import('./trade/watch.js')).command,
  },
  {
    name: 'cancel',
    summary: 'Cancels a trade',
    load: async () => (await import('./trade/cancel.js')).command,
  },
];

export const command: Command = {
  spec: {
    name: 'trade',
    summary: 'Trades tokens and items with other wallets',
    description: [
      'Two wallets give each other tokens or items, both or neither: a block has the halves of both. One makes an offer, the other ' +
        'accepts it, the first confirms. Offer, acceptance and confirmation are files; when the nodes can reach each other, ' +
        'they exchange them over a link.',
      'What is given or wanted is an amount of tokens in display units, such as 1.5, or a number of items of a class: 3@GENESIS_HASH.',
    ],
    commands: COMMANDS,
    flags: [],
    examples: [
      {
        line: 'tessera trade offer --give 1.5 --want 3@GENESIS_HASH --out offer.json',
        does: 'Offers one and a half display units for three items.',
      },
      { line: 'tessera trade accept offer.json', does: 'Accepts it, after a question.' },
    ],
  },
  commands: COMMANDS,
  async run() {
    throw new UsageError(`name a command: tessera trade ${COMMANDS.map(({ name }) => name).join('|')}`);
  },
};
