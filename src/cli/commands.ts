/** The list of commands. A command's file is imported when it is called or its help is asked for, and not before. */

import { didYouMean } from '../config/suggest.js';
import { type Command, type CommandEntry, type CommandSpec, commandList, UsageError } from './command.js';

export const COMMANDS: readonly CommandEntry[] = commandList([
  ['start', 'Runs a node (the default command)', () => import('./start.js')],
  ['dev', 'Runs a whole network on this machine, with funded accounts', () => import('./dev.js')],
  [
    'faucet',
    'Pays an address from a dev network',
    async () => ({ command: (await import('./dev-command.js')).faucet }),
  ],
  ['mine', 'Makes blocks in a dev network', async () => ({ command: (await import('./dev-command.js')).mine })],
  ['config', 'Shows the configuration in effect, with sources', () => import('./config.js')],
  ['wallet', 'Shows and uses a wallet: keys, balance, payments', () => import('./wallet.js')],
  ['tx', 'Builds, signs (also offline) and sends transactions', () => import('./tx.js')],
  ['trade', 'Trades tokens and items with other wallets', () => import('./trade.js')],
  ['genesis', 'Creates or shows the genesis file of a network', () => import('./genesis.js')],
  ['watch', 'Prints the events of a node as they happen', () => import('./watch.js')],
  ['call', 'Calls an operation of a node and prints the answer', () => import('./call.js')],
  ['verify', 'Checks the data of a stopped node', () => import('./verify.js')],
  ['backup', 'Backs up the data of a node, running or stopped', () => import('./backup.js')],
  ['restore', 'Restores a backup into an empty folder', () => import('./restore.js')],
  ['doctor', 'Finds problems of a node and says what to do about them', () => import('./doctor.js')],
  ['rebuild', 'Rebuilds the data of a node from the chain', () => import('./rebuild.js')],
  ['import', 'Brings a chain of original nodes into a storage node', () => import('./import.js')],
  ['takeover', 'Lets nodes go on with an imported chain', () => import('./takeover.js')],
  ['openapi', 'Writes the OpenAPI documents of the API', () => import('./openapi.js')],
  [
    'completion',
    'Prints the completion script for a shell',
    async () => ({ command: (await import('./completion.js')).completionCommand(COMMANDS) }),
  ],
  [
    'help',
    'Explains a command, or the options of the configuration',
    async () => ({ command: (await import('./help-command.js')).helpCommand({ entries: COMMANDS, find: pageOf }) }),
  ],
]);

/** The command that the words begin with (`wallet`, `pay`), and the words after it. Throws `UsageError` with the nearest name. */
export async function findCommand(
  words: readonly string[],
  entries: readonly CommandEntry[] = COMMANDS,
  group = '',
): Promise<{ readonly command: Command; readonly rest: readonly string[] }> {
  const [name = '', ...rest] = words;
  const entry = entries.find((candidate) => candidate.name === name);
  if (entry === undefined) {
    const known = entries.map((candidate) => candidate.name);
    throw new UsageError(
      `${group}${name} is not a command${didYouMean(name, known) || `; known are ${known.join(', ')}`}`,
    );
  }
  const command = await entry.load();
  const isGroup = command.commands !== undefined && rest[0] !== undefined && !rest[0].startsWith('-');
  return isGroup ? findCommand(rest, command.commands, `${group}${name} `) : { command, rest };
}

async function pageOf(words: readonly string[]): Promise<CommandSpec> {
  const { command, rest } = await findCommand(words);
  return command.page?.(rest, command.spec) ?? command.spec;
}
