/** `tessera tx …`: transactions in files: made, signed where the keys are, and sent. */

import { type Command, type CommandEntry, UsageError } from './command.js';

const COMMANDS: readonly CommandEntry[] = [
  {
    name: 'build',
    summary: 'Makes a transaction that is not signed yet',
    load: async () => (await import('./tx/build.js')).command,
  },
  {
    name: 'show',
    summary: 'Checks a transaction and says what it does',
    load: async () => (await import('./tx/show.js')).command,
  },
  {
    name: 'sign',
    summary: 'Signs a transaction, without a network',
    load: async () => (await import('./tx/sign.js')).command,
  },
  {
    name: 'send',
    summary: 'Sends signed transactions to a mempool node',
    load: async () => (await import('./tx/send.js')).command,
  },
];

export const command: Command = {
  spec: {
    name: 'tx',
    summary: 'Builds, signs and sends transactions, keys apart from nodes',
    description: [
      'A transaction is a file of JSON that goes from one command to the next, through pipes or on a stick: `build` asks a mempool ' +
        'node what is unspent, `sign` needs keys and no network, `send` needs a network and no keys. Each says on the error stream ' +
        'what the transaction does.',
      'Wherever an address is taken, dev:1 to dev:10, dev:user and dev:miner are those of the accounts that `tessera dev` prints.',
    ],
    commands: COMMANDS,
    flags: [],
    examples: [
      {
        line: 'tessera tx build --from dev:1 --to dev:2=5 | tessera tx sign --dev-account 1 | tessera tx send',
        does: 'On a network of `tessera dev`: account 1 pays account 2 five display units.',
      },
    ],
  },
  commands: COMMANDS,
  async run() {
    throw new UsageError(`name a command: tessera tx ${COMMANDS.map(({ name }) => name).join('|')}`);
  },
};
