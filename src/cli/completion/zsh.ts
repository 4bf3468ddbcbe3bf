/** Completion for zsh: a function for each command, with what `_arguments` wants to know. */

import type { Completion } from '../command.js';
import { type CompletedArgument, type CompletedCommand, type CompletedFlag, PROGRAMS } from './table.js';

const functionOf = (words: string): string => `_tessera${words === '' ? '' : `_${words.replaceAll(/[ -]/g, '_')}`}`;

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

const plain = (text: string): string => text.replaceAll(/[\\[\]:]/g, (character) => `\\${character}`);

function action(completes: Completion | undefined): string {
  if (completes === undefined) return ' ';
  if (completes === 'files') return '_files';
  if (completes === 'folders') return '_files -/';
  // Words that end in = go on, without a space.
  if (completes.some((word) => word.endsWith('='))) return `compadd -S '' -- ${completes.join(' ')}`;
  return `(${completes.join(' ')})`;
}

function flagSpec({ name, short, value, isRepeatable, completes, description }: CompletedFlag): string {
  const about = `[${plain(description)}]${value === undefined ? '' : `:${plain(value)}:${action(completes)}`}`;
  const [long, one] = value === undefined ? [`--${name}`, `-${short}`] : [`--${name}=`, `-${short}+`];
  const names =
    short === undefined ? quoted(`${isRepeatable ? '*' : ''}${long}${about}`) : `{${one},${long}}${quoted(about)}`;
  if (short === undefined) return names;
  return isRepeatable ? `'*'${names}` : `'(-${short} --${name})'${names}`;
}

function argumentSpec({ name, isRest, completes }: CompletedArgument, i: number): string {
  return quoted(`${isRest ? '*' : String(i + 1)}:${plain(name)}:${action(completes)}`);
}

function commandFunction(command: CompletedCommand): string {
  const specs = [...command.flags.map(flagSpec), ...command.arguments.map(argumentSpec)];
  return `${functionOf(command.words)}() {\n  _arguments -s -S ${specs.map((spec) => `\\\n    ${spec}`).join(' ')}\n}`;
}

function groupFunction({ words, commands }: CompletedCommand, flags: readonly string[]): string {
  const list = commands.map(({ name, summary }) => `    ${quoted(`${name}:${plain(summary)}`)}`);
  const names = commands.map(({ name }) => name);
  const own = functionOf(words);
  const start = words === '' ? `  [[ $words[2] == -* && CURRENT -gt 2 ]] && { ${functionOf('start')}; return; }\n` : '';
  return `${own}() {
  local -a commands=(
${list.join('\n')}
  )
${start}  if (( CURRENT == 2 )); then
    if [[ $words[2] == -* ]]; then ${words === '' ? functionOf('start') : `compadd -- ${flags.join(' ')}`}
    else _describe -t commands command commands; fi
    return
  fi
  case $words[2] in
    ${names.join('|')})
      local next=${own}_\${words[2]//-/_}
      shift words
      (( CURRENT-- ))
      $next ;;
  esac
}`;
}

export function zshCompletion(commands: readonly CompletedCommand[]): string {
  const functions = commands.map((command) =>
    command.commands.length > 0
      ? groupFunction(
          command,
          command.flags.map(({ name }) => `--${name}`),
        )
      : commandFunction(command),
  );
  return `#compdef ${PROGRAMS.join(' ')}
# Completion of tessera for zsh, made by: tessera completion zsh

${functions.join('\n\n')}

# As a file of fpath it is the body of _tessera; sourced, it says what it completes.
if [[ $funcstack[1] == _tessera ]]; then
  _tessera "$@"
else
  compdef _tessera ${PROGRAMS.join(' ')}
fi
`;
}
