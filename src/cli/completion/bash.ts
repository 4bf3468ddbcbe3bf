/** Completion for bash 3.2 and newer, also without the package bash-completion. */

import type { Completion } from '../command.js';
import { type CompletedCommand, type CompletedFlag, PROGRAMS } from './table.js';

function reply(completes: Completion | undefined): string {
  if (completes === undefined) return ':';
  if (completes === 'files') return '_tessera_files -f';
  if (completes === 'folders') return '_tessera_files -d';
  return `_tessera_words '${completes.join(' ')}'`;
}

const dashed = ({ name, short }: CompletedFlag): string[] => [
  `--${name}`,
  ...(short === undefined ? [] : [`-${short}`]),
];
const dashedOf = (flags: readonly CompletedFlag[]): string => flags.flatMap(dashed).join(' ');

/** The words and flags of a command, as variables of the function. */
function facts({ words, commands, flags }: CompletedCommand): string {
  const names = commands.map(({ name }) => name).join(' ');
  const valued = dashedOf(flags.filter(({ value }) => value !== undefined));
  return [
    `    '${words}')`,
    ...(names === '' ? [] : [`      commands='${names}'`]),
    `      flags='${flags.map(({ name }) => `--${name}`).join(' ')}'`,
    ...(valued === '' ? [] : [`      valued='${valued}'`]),
    '      ;;',
  ].join('\n');
}

function valueCases(commands: readonly CompletedCommand[]): string[] {
  const patterns = new Map<string, string[]>();
  for (const { words, flags } of commands) {
    for (const flag of flags.filter(({ completes }) => completes !== undefined)) {
      const key = reply(flag.completes);
      const own = dashed(flag).map((dash) => `'${words} ${dash}'`);
      patterns.set(key, [...(patterns.get(key) ?? []), ...own]);
    }
  }
  return [...patterns].map(([code, list]) => `    ${list.join('|')}) ${code} ;;`);
}

function argumentCases(commands: readonly CompletedCommand[]): string[] {
  return commands.flatMap(({ words, arguments: list }) =>
    list.flatMap(({ completes, isRest }, i) =>
      completes === undefined ? [] : [`    '${words} '${isRest ? '*' : i}) ${reply(completes)} ;;`],
    ),
  );
}

const HELPERS = `# The words that begin with what is typed. One that ends in = is not complete yet.
_tessera_words() {
  local IFS=$' \\t\\n'
  COMPREPLY=($(compgen -W "$1" -- "$cur"))
  if [ "\${#COMPREPLY[@]}" -eq 1 ] && [ "\${COMPREPLY[0]%=}" != "\${COMPREPLY[0]}" ]; then
    compopt -o nospace 2> /dev/null
  fi
}

# Files (-f) or folders (-d).
_tessera_files() {
  local IFS=$'\\n'
  compopt -o filenames 2> /dev/null
  COMPREPLY=($(compgen "$1" -- "$cur"))
}`;

export function bashCompletion(commands: readonly CompletedCommand[]): string {
  const groups = commands.filter((one) => one.words !== '' && one.commands.length > 0).map(({ words }) => words);
  return `# Completion of tessera for bash, made by: tessera completion bash

${HELPERS}

_tessera() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD - 1]}"
  local path="\${COMP_WORDS[1]}" first=2 commands='' flags='' valued='' i n=0
  COMPREPLY=()
  # bash takes --flag=value for three words.
  if [ "$cur" = '=' ]; then cur=''
  elif [ "$prev" = '=' ]; then prev="\${COMP_WORDS[COMP_CWORD - 2]}"
    case $prev in -*) ;; *) return 0 ;; esac
  fi
  # Which command it is: flags alone are those of start.
  case $path in
    -*) [ "$COMP_CWORD" -eq 1 ] || path=start; first=1 ;;
    ${groups.join('|')})
      case "\${COMP_WORDS[2]}" in -*) ;; *) [ "$COMP_CWORD" -gt 2 ] && path="$path \${COMP_WORDS[2]}" && first=3 ;; esac ;;
  esac
  [ "$COMP_CWORD" -eq 1 ] && path=''
  case $path in
${commands.map(facts).join('\n')}
    *) return 0 ;;
  esac
  # The value of a flag.
  case "$path $prev" in
${valueCases(commands).join('\n')}
    *)
      case " $valued " in *" $prev "*) return 0 ;; esac
      case $cur in
        -*) [ "$COMP_CWORD" -eq 1 ] && flags="$flags ${startFlags(commands)}"; _tessera_words "$flags"; return 0 ;;
      esac
      [ -n "$commands" ] && _tessera_words "$commands" && return 0
      # How many arguments come before: what is neither a flag nor the value of one.
      for ((i = first; i < COMP_CWORD; i++)); do
        case "\${COMP_WORDS[i]}" in
          -*)
            case " $valued " in
              *" \${COMP_WORDS[i]} "*) i=$((i + 1)); [ "\${COMP_WORDS[i]}" = '=' ] && i=$((i + 1)) ;;
            esac ;;
          '=') i=$((i + 1)) ;;
          *) n=$((n + 1)) ;;
        esac
      done
      case "$path $n" in
${argumentCases(commands).join('\n')}
      esac ;;
  esac
  return 0
}

complete -F _tessera ${PROGRAMS.join(' ')}
`;
}

function startFlags(commands: readonly CompletedCommand[]): string {
  return (commands.find(({ words }) => words === 'start')?.flags ?? []).map(({ name }) => `--${name}`).join(' ');
}
