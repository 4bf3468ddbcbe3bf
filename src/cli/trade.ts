/** `tessera trade …`: trades of a node's wallet with other wallets, over its API. */

import { type Command, type CommandEntry, UsageError } from './command.js';

const COMMANDS: readonly CommandEntry[] = [
  {
    name: 'offer',
    summary: 'Offers tokens or items in exchange for others',
    load: async () => (await import('./trade/offer.js')).command,
  },
  {
    name: 'accept',
    summary: 'Accepts an offer',
    load: async () => (await import('./trade/accept.js')).command,
  },
  {
    name: 'complete',
    summary: 'Continues a trade with the file of the other party',
    load: async () => (await import('./trade/complete.js')).command,
  },
  {
    name: 'list',
    summary: 'Lists the trades of the wallet, and received offers',
    load: async () => (await import('./trade/list.js')).command,
  },
  {
    name: 'watch',
    summary: 'Shows the progress of a trade, until its end',
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
      'Two wallets exchange tokens or items in one step: a block has both halves or neither. One wallet makes an ' +
        'offer, the other accepts it, the first confirms. Offer, acceptance and confirmation are files. Nodes that ' +
        'can reach each other exchange them over a link.',
      'Give or want an amount of tokens in display units, such as 1.5, or a number of items of a class: 3@GENESIS_HASH.',
    ],
    commands: COMMANDS,
    flags: [],
    examples: [
      {
        line: 'tessera trade offer --give 1.5 --want 3@GENESIS_HASH --out offer.json',
        does: 'Offers one and a half display units for three items.',
      },
      { line: 'tessera trade accept offer.json', does: 'Asks, then accepts it.' },
    ],
  },
  commands: COMMANDS,
  async run() {
    throw new UsageError(`name a command: tessera trade ${COMMANDS.map(({ name }) => name).join('|')}`);
  },
};
