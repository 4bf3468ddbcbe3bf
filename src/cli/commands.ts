/** The list of commands. A command's file is imported when it is called or its help is asked for, and not before. */

import { didYouMean } from '../config/suggest.js';
import { type Command, type CommandEntry, type CommandSpec, UsageError } from './command.js';

export const COMMANDS: readonly CommandEntry[] = [
  {
    name: 'start',
    summary: 'Runs a node (the default command)',
    load: async () => (await import('./start.js')).command,
  },
  {
    name: 'dev',
    summary: 'Runs a whole network on this machine, with funded accounts',
    load: async () => (await import('./dev.js')).command,
  },
  {
    name: 'faucet',
    summary: 'Pays an address from a dev network',
    load: async () => (await import('./faucet.js')).command,
  },
  {
    name: 'mine',
    summary: 'Makes blocks in a dev network',
    load: async () => (await import('./mine.js')).command,
  },
  {
    name: 'config',
    summary: 'Shows the configuration in effect, with sources',
    load: async () => (await import('./config.js')).command,
  },
  {
    name: 'wallet',
    summary: 'Shows and uses a wallet: keys, balance, payments',
    load: async () => (await import('./wallet.js')).command,
  },
  {
    name: 'tx',
    summary: 'Builds, signs (also offline) and sends transactions',
    load: async () => (await import('./tx.js')).command,
  },
  {
    name: 'trade',
    summary: 'Trades tokens and items with other wallets',
    load: async () => (await import('./trade.js')).command,
  },
  {
    name: 'genesis',
    summary: 'Creates or shows the genesis file of a network',
    load: async () => (await import('./genesis.js')).command,
  },
  {
    name: 'watch',
    summary: 'Prints the events of a node as they happen',
    load: async () => (await import('./watch.js')).command,
  },
  {
    name: 'call',
    summary: 'Calls an operation of a node and prints the answer',
    load: async () => (await import('./call.js')).command,
  },
  {
    name: 'verify',
    summary: 'Checks the data of a stopped node',
    load: async () => (await import('./verify.js')).command,
  },
  {
    name: 'backup',
    summary: 'Backs up the data of a node, running or stopped',
    load: async () => (await import('./backup.js')).command,
  },
  {
    name: 'restore',
    summary: 'Restores a backup into an empty folder',
    load: async () => (await import('./restore.js')).command,
  },
  {
    name: 'doctor',
    summary: 'Finds problems of a node and says what to do about them',
    load: async () => (await import('./doctor.js')).command,
  },
  {
    name: 'rebuild',
    summary: 'Rebuilds the data of a node from the chain',
    load: async () => (await import('./rebuild.js')).command,
  },
  {
    name: 'openapi',
    summary: 'Writes the OpenAPI documents of the API',
    load: async () => (await import('./openapi.js')).command,
  },
  {
    name: 'completion',
    summary: 'Prints the completion script for a shell',
    load: async () => (await import('./completion.js')).completionCommand(COMMANDS),
  },
  {
    name: 'help',
    summary: 'Explains a command, or the options of the configuration',
    async load() {
      const { helpCommand } = await import('./help-command.js');
      return helpCommand({ entries: COMMANDS, find: pageOf });
    },
  },
];

/**
 * The command that the words begin with (`wallet`, `pay`), and the words after it. Throws `UsageError`, with the nearest
 * name, for an unknown one.
 */
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

/** The page of the command, or of what the words after it name. */
async function pageOf(words: readonly string[]): Promise<CommandSpec> {
  const { command, rest } = await findCommand(words);
  return command.page?.(rest) ?? command.spec;
}

/** The command of that name. Throws `UsageError` with the nearest name. */
export async function loadCommand(name: string): Promise<Command> {
  return (await findCommand([name])).command;
}
