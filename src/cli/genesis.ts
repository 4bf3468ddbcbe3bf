/** `tessera genesis …`: the genesis file of a network. */

import { type Command, type CommandEntry, UsageError } from './command.js';

const COMMANDS: readonly CommandEntry[] = [
  {
    name: 'new',
    summary: 'Makes a genesis file, and keys for its owners',
    load: async () => (await import('./genesis/new.js')).command,
  },
  {
    name: 'show',
    summary: 'Checks a genesis file and shows what it says',
    load: async () => (await import('./genesis/show.js')).command,
  },
];

export const command: Command = {
  spec: {
    name: 'genesis',
    summary: 'Makes or shows the genesis file of a network',
    description: [
      'The genesis file says who owns what in block 0, and what is issued later in addition to mining rewards. Every node ' +
        'of a network needs the same one, named by network.genesis_file; it cannot be changed once there is a block. ' +
        '`tessera help genesis COMMAND` is the page of a command.',
    ],
    commands: COMMANDS,
    flags: [],
    examples: [
      {
        line: 'tessera genesis new genesis.json --new-owner 1000000 --keys genesis-keys.json',
        does: 'A network whose first million display units belong to a new key.',
      },
      { line: 'tessera genesis show genesis.json', does: 'Its fingerprint, which must be the same on every node.' },
    ],
  },
  commands: COMMANDS,
  async run() {
    throw new UsageError(`name a command: tessera genesis ${COMMANDS.map(({ name }) => name).join('|')}`);
  },
};
