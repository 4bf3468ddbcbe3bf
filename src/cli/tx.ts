/** `tessera tx …`: transactions in files: made, signed where the keys are, and sent. */

import { type Command, type CommandEntry, UsageError } from './command.js';

const COMMANDS: readonly CommandEntry[] = [
  {
    name: 'build',
    summary: 'Builds an unsigned transaction',
    load: async () => (await import('./tx/build.js')).command,
  },
  {
    name: 'show',
    summary: 'Checks a transaction and shows what it does',
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
    summary: 'Builds, signs (also offline) and sends transactions',
    description: [
      'A transaction is a JSON file that goes from one command to the next, through pipes or on a USB stick. `build` ' +
        'asks a mempool node for unspent outputs, `sign` needs keys but no network, `send` needs a network but no ' +
        'keys. Each command shows on the error stream what the transaction does.',
      'dev:1 to dev:10, dev:user and dev:miner stand for the addresses of the accounts that `tessera dev` prints.',
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
