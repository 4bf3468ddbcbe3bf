/** Completion for fish 3 and newer. */

import type { Completion } from '../command.js';
import { type CompletedArgument, type CompletedCommand, type CompletedFlag, PROGRAMS } from './table.js';

const [PROGRAM, ...OTHERS] = PROGRAMS;

const quoted = (text: string): string => `'${text.replaceAll(/['\\]/g, (character) => `\\${character}`)}'`;

/** Flags of `complete` that say what a value may be; `isRequired` when a word must follow. */
function values(completes: Completion | undefined): string {
  if (completes === 'files') return '-F';
  if (completes === 'folders') return "-x -a '(__fish_complete_directories)'";
  return completes === undefined ? '-x' : `-x -a ${quoted(completes.join(' '))}`;
}

const inCommand = (words: string): string => `-n '__tessera_is ${words}'`.replace(/ '$/, "'");

function flagLine(words: string, { name, short, value, completes, description }: CompletedFlag): string {
  const names = `-l ${name}${short === undefined ? '' : ` -s ${short}`}`;
  const takes = value === undefined ? '' : ` -r ${values(completes)}`;
  return `complete -c ${PROGRAM} ${inCommand(words)} ${names}${takes} -d ${quoted(description)}`;
}

function argumentLine(words: string, { completes }: CompletedArgument): string[] {
  if (completes === undefined) return [];
  return [`complete -c ${PROGRAM} ${inCommand(words)} ${values(completes).replace('-x ', '')}`];
}

function commandLines({ words, commands, flags, arguments: list }: CompletedCommand): string[] {
  return [
    ...commands.map(
      ({ name, summary }) => `complete -c ${PROGRAM} ${inCommand(words)} -a ${name} -d ${quoted(summary)}`,
    ),
    ...flags.map((flag) => flagLine(words, flag)),
    ...new Set(list.flatMap((argument) => argumentLine(words, argument))),
  ];
}

export function fishCompletion(commands: readonly CompletedCommand[]): string {
  const groups = commands.filter(({ words, commands: list }) => words !== '' && list.length > 0);
  const start = commands.find(({ words }) => words === 'start')?.flags ?? [];
  return `# Completion of tessera for fish, made by: tessera completion fish

# The command that is typed: flags alone are those of start.
function __tessera_command
    set -l typed (commandline -opc)[2..-1]
    test (count $typed) -eq 0; and return
    if string match -q -- '-*' $typed[1]
        echo start
    else if contains -- $typed[1] ${groups.map(({ words }) => words).join(' ')}; and set -q typed[2]; and not string match -q -- '-*' $typed[2]
        echo $typed[1] $typed[2]
    else
        echo $typed[1]
    end
end

function __tessera_is
    test (__tessera_command | string collect -a) = "$argv"
end

complete -c ${PROGRAM} -f
${OTHERS.map((other) => `complete -c ${other} -w ${PROGRAM}`).join('\n')}
${[...commands.flatMap(commandLines), ...start.map((flag) => flagLine('', flag))].join('\n')}
`;
}
