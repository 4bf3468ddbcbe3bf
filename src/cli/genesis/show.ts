/** `tessera genesis show`: checks a genesis file as a node does and shows what it says. */

import type { OwnCommand } from '../command.js';
import { factsJson, factsText, readGenesisFile } from './facts.js';

export const command: OwnCommand = {
  spec: {
    description: [
      'Reads the file as a node does when it starts, and prints its fingerprint, the outputs of block 0 and later ' +
        'issuances. Files with the same fingerprint start the same chain; nodes compare it when they link.',
    ],
    arguments: [{ name: 'FILE', required: true, description: 'The genesis file.' }],
    examples: [
      { line: 'tessera genesis show /etc/tessera/genesis.json', does: 'Shows the fingerprint and the first owners.' },
    ],
    exits: { 1: 'the file cannot be read, or a node would refuse it' },
  },
  async run(args, context) {
    const [file = ''] = args.positionals;
    const genesis = readGenesisFile(file);
    context.stdout.write(args.has('json') ? factsJson(file, genesis) : factsText(file, genesis));
    return 0;
  },
};
