/** `tessera trade …`: trades of a node's wallet with other wallets, over its API. */

import { group, type OwnCommand } from './command.js';

export const command: OwnCommand = group(
  'trade',
  [
    ['offer', 'Offers tokens or items in exchange for others', () => import('./trade/offer.js')],
    ['accept', 'Accepts an offer', () => import('./trade/accept.js')],
    ['complete', 'Continues a trade with the file of the other party', () => import('./trade/complete.js')],
    ['list', 'Lists the trades of the wallet, and received offers', () => import('./trade/list.js')],
    ['watch', 'Shows the progress of a trade, until its end', () => import('./trade/watch.js')],
    ['cancel', 'Cancels a trade', () => import('./trade/cancel.js')],
  ],
  {
    description: [
      'Two wallets exchange tokens or items in one step: a block has both halves or neither. One wallet makes an ' +
        'offer, the other accepts it, the first confirms. Offer, acceptance and confirmation are files. Nodes that ' +
        'can reach each other exchange them over a link.',
      'Give or want an amount of tokens in display units, such as 1.5, or a number of items of a class: 3@GENESIS_HASH.',
    ],
    examples: [
      {
        line: 'tessera trade offer --give 1.5 --want 3@GENESIS_HASH --out offer.json',
        does: 'Offers one and a half display units for three items.',
      },
      { line: 'tessera trade accept offer.json', does: 'Asks, then accepts it.' },
    ],
  },
);
