/** `tessera genesis …`: the genesis file of a network. */

import { group, type OwnCommand } from './command.js';

export const command: OwnCommand = group(
  'genesis',
  [
    ['new', 'Creates a genesis file, and keys for its owners', () => import('./genesis/new.js')],
    ['import', 'Makes a genesis file from the files of original nodes', () => import('./genesis/import.js')],
    ['show', 'Checks a genesis file and shows its contents', () => import('./genesis/show.js')],
  ],
  {
    description: [
      'The genesis file says who owns what in block 0, and what is issued later in addition to mining rewards. Every ' +
        'node of a network needs the same file (network.genesis_file). It cannot be changed after the first block. ' +
        '`tessera help genesis COMMAND` explains a command.',
    ],
    examples: {
      'tessera genesis new genesis.json --new-owner 1000000 --keys genesis-keys.json':
        'Gives a million display units to a new key.',
      'tessera genesis show genesis.json': 'Shows its fingerprint, which must be the same on every node.',
    },
  },
);
