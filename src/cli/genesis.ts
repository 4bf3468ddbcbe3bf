/** `tessera genesis …`: the genesis file of a network. */

import { type Command, type CommandEntry, UsageError } from './command.js';

const COMMANDS: readonly CommandEntry[] = [
  {
    name: 'new',
    summary: 'Creates a genesis file, and keys for its owners',
    load: async () => (await import('./genesis/new.js')).command,
  },
  {
    name: 'show',
    summary: 'Checks a genesis file and shows its contents',
    load: async () => (await import('./genesis/show.js')).command,
  },
];

export const command: Command = {
  spec: {
    name: 'genesis',
    summary: 'Creates or shows the genesis file of a network',
    description: [
      'The genesis file says who owns what in block 0, and what is issued later in addition to mining rewards. Every ' +
        'node of a network needs the same file (network.genesis_file). It cannot be changed after the first block. ' +
        '`tessera help genesis COMMAND` explains a command.',
    ],
    commands: COMMANDS,
    flags: [],
    examples: [
      {
        line: 'tessera genesis new genesis.json --new-owner 1000000 --keys genesis-keys.json',
        does: 'Gives a million display units to a new key.',
      },
      {
        line: 'tessera genesis show genesis.json',
        does: 'Shows its fingerprint, which must be the same on every node.',
      },
    ],
  },
  commands: COMMANDS,
  async run() {
    throw new UsageError(`name a command: tessera genesis ${COMMANDS.map(({ name }) => name).join('|')}`);
  },
};
