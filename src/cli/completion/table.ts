/** The table of commands as completion sees it: which words, flags and values may follow. */

import type { ArgumentSpec, CommandEntry, Completion, FlagSpec } from '../command.js';
import { PROGRAM } from '../help.js';

const MAX_DESCRIPTION = 70;

export interface CompletedFlag {
  readonly name: string;
  readonly short: string | undefined;
  /** Name of the value; undefined for a flag without one. */
  readonly value: string | undefined;
  readonly isRepeatable: boolean;
  readonly completes: Completion | undefined;
  readonly description: string;
}

export interface CompletedArgument {
  readonly name: string;
  readonly isRest: boolean;
  readonly completes: Completion | undefined;
}

export interface CompletedCommand {
  /** The words after the program: '', `wallet`, `wallet pay`. */
  readonly words: string;
  /** The commands of a group; without commands it does something itself. */
  readonly commands: readonly { readonly name: string; readonly summary: string }[];
  readonly flags: readonly CompletedFlag[];
  readonly arguments: readonly CompletedArgument[];
}

export const PROGRAMS = [PROGRAM, 'tessera-node'] as const;

const BY_VALUE: Readonly<Record<string, Completion>> = { FILE: 'files', DIR: 'folders', FOLDER: 'folders' };

const HELP: FlagSpec = { name: 'help', short: 'h', description: 'Prints the page of the command.' };
const VERSION: FlagSpec = {
  name: 'version',
  short: 'v',
  description: 'Prints the version of the program and of Node.js.',
};

export async function completedCommands(entries: readonly CommandEntry[]): Promise<readonly CompletedCommand[]> {
  const root: CompletedCommand = {
    words: '',
    commands: entries,
    flags: [HELP, VERSION].map(completedFlag),
    arguments: [],
  };
  return [root, ...(await commandsBelow(entries, ''))];
}

async function commandsBelow(entries: readonly CommandEntry[], group: string): Promise<CompletedCommand[]> {
  const found: CompletedCommand[] = [];
  for (const entry of entries) {
    const { spec, commands = [] } = await entry.load();
    const words = `${group}${entry.name}`;
    found.push({
      words,
      commands,
      flags: [...spec.flags, HELP].map(completedFlag),
      arguments: (spec.arguments ?? []).map(completedArgument),
    });
    found.push(...(await commandsBelow(commands, `${words} `)));
  }
  return found;
}

function completedFlag(flag: FlagSpec): CompletedFlag {
  const { name, short, value, repeatable = false, description, completes = BY_VALUE[value ?? ''] } = flag;
  return { name, short, value, isRepeatable: repeatable, completes, description: shortened(description) };
}

function completedArgument({ name, rest = false, completes }: ArgumentSpec): CompletedArgument {
  return { name, isRest: rest, completes: completes ?? BY_VALUE[name] };
}

/** The first sentence, or as much of it as fits. */
function shortened(description: string): string {
  const [sentence = ''] = description.split(/(?<=[^.])[.:;](?: |$)/);
  if (sentence.length <= MAX_DESCRIPTION) return sentence;
  return `${sentence.slice(0, MAX_DESCRIPTION - 1).trimEnd()}…`;
}
