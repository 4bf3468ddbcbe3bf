/** `tessera completion`: a script by which a shell asks this program what may follow, and the answer, from the table of commands. */

import {
  type CommandEntry,
  type CommandSpec,
  type Completion,
  type FlagSpec,
  type OwnCommand,
  printed,
  UsageError,
} from './command.js';

const BY_VALUE: Readonly<Record<string, Completion>> = { FILE: 'files', DIR: 'folders', FOLDER: 'folders' };
const MAX_DESCRIPTION = 70;
const HELP: FlagSpec = { name: 'help', short: 'h', description: 'Prints the page of the command.' };
const VERSION: FlagSpec = {
  name: 'version',
  short: 'v',
  description: 'Prints the version of the program and of Node.js.',
};

/** Asks with the words up to the cursor, each with a line feed. An answer is words with their descriptions after a tab, `:files` or `:folders`. */
const SCRIPTS: Readonly<Record<string, string>> = {
  bash: `# Completion of tessera for bash 3.2 and newer, also without the package bash-completion.
_tessera() {
  local IFS=$'\\n' cur="\${COMP_WORDS[COMP_CWORD]}" line="\${COMP_WORDS[0]}" before='' word i strip=''
  # bash takes --flag=value for three words.
  for ((i = 1; i <= COMP_CWORD; i++)); do
    word="\${COMP_WORDS[i]}"
    if [ "$word" = '=' ] || [ "$before" = '=' ]; then line="$line$word"; else line="$line"$'\\n'"$word"; fi
    before="$word"
  done
  [ "$cur" = '=' ] && cur=''
  case "\${line##*$'\\n'}" in -*=*) strip="\${line##*$'\\n'}" strip="\${strip%%=*}=" ;; esac
  COMPREPLY=($("\${COMP_WORDS[0]}" completion bash "$line"$'\\n' 2> /dev/null))
  case "\${COMPREPLY[0]}" in
    :files) compopt -o filenames 2> /dev/null; COMPREPLY=($(compgen -f -- "$cur")) ;;
    :folders) compopt -o filenames 2> /dev/null; COMPREPLY=($(compgen -d -- "$cur")) ;;
    *)
      COMPREPLY=("\${COMPREPLY[@]#"$strip"}")
      case "\${COMPREPLY[0]}" in *=) compopt -o nospace 2> /dev/null ;; esac ;;
  esac
}
complete -F _tessera tessera tessera-node
`,
  zsh: `#compdef tessera tessera-node
# Completion of tessera for zsh.
_tessera() {
  local -a offered shown
  offered=(\${(f)"$($words[1] completion zsh "\${(pj:\\n:)words[1,CURRENT]}"$'\\n' 2> /dev/null)"})
  case $offered[1] in
    :files) compset -P '-*='; _files ;;
    :folders) compset -P '-*='; _files -/ ;;
    *)
      shown=(\${offered//$'\\t'/  })
      offered=(\${offered%%$'\\t'*})
      # Words that end in = go on, without a space.
      if [[ $offered[1] == *= ]]; then compadd -S '' -a offered; else compadd -l -d shown -a offered; fi ;;
  esac
}
# As a file of fpath it is the body of _tessera; sourced, it says what it completes.
if [[ $funcstack[1] == _tessera ]]; then _tessera "$@"; else compdef _tessera tessera tessera-node; fi
`,
  fish: `# Completion of tessera for fish 3 and newer.
function __tessera_offered
    set -l current (commandline -ct)
    set -l typed (commandline -opc)
    # Paths are offered with the flag before them: --flag=PATH.
    set -l flag (string match -r '^-[^=]*=' -- "$current")
    set -l path (string replace -r '^-[^=]*=' '' -- "$current")
    set -l offered ($typed[1] completion fish (string join \\n -- $typed "$current" | string collect -N) 2> /dev/null)
    switch "$offered[1]"
        case :files
            printf '%s\\n' "$flag"(__fish_complete_path "$path")
        case :folders
            printf '%s\\n' "$flag"(__fish_complete_directories "$path")
        case '*'
            printf '%s\\n' $offered
    end
end
complete -c tessera -f -a '(__tessera_offered)'
complete -c tessera-node -f -a '(__tessera_offered)'
`,
};
const NAMES = Object.keys(SCRIPTS);

export const completionCommand = (entries: readonly CommandEntry[]): OwnCommand => ({
  spec: {
    description: [
      'Prints a script for bash, zsh or fish that completes commands, flags, values of flags, names of options and operations, ' +
        'and files. The script asks the installed program, so it fits every version. For one session, in bash and zsh: ' +
        'source <(tessera completion bash); in fish: tessera completion fish | source.',
    ],
    arguments: [
      { name: 'SHELL', required: true, completes: NAMES, description: `${NAMES.join(', ')}.` },
      {
        name: 'WORDS',
        description: 'For the script: what is typed so far, a word on each line. Prints what may follow.',
      },
    ],
    json: 'Prints {shell, script} instead.',
    examples: {
      'tessera completion bash > ~/.local/share/bash-completion/completions/tessera':
        'For bash with the package bash-completion; without it, source the file in ~/.bashrc.',
      'tessera completion zsh > ~/.zfunc/_tessera':
        'For zsh, in a folder of fpath: fpath=(~/.zfunc $fpath) before compinit in ~/.zshrc.',
      'tessera completion fish > ~/.config/fish/completions/tessera.fish': 'For fish.',
    },
  },
  async run(args, context) {
    const [shell = '', typed] = args.positionals;
    const script = Object.hasOwn(SCRIPTS, shell) ? SCRIPTS[shell] : undefined;
    if (script === undefined) throw new UsageError(`there is completion for ${NAMES.join(', ')}, not for ${shell}`);
    if (typed === undefined) return printed(args, context, { shell, script }, script);
    const offered = await offeredFor(typed.split('\n').slice(1, -1), entries);
    // bash has no place for descriptions, and would take what is in them for patterns.
    const shown = shell === 'bash' && typeof offered !== 'string' ? offered.map(wordOf) : offered;
    context.stdout.write(typeof shown === 'string' ? `:${shown}\n` : shown.map((line) => `${line}\n`).join(''));
    return 0;
  },
});

/** Completions of the last word, which is typed in part. */
async function offeredFor(words: readonly string[], entries: readonly CommandEntry[]): Promise<Completion> {
  const before = words.slice(0, -1);
  const current = words.at(-1) ?? '';
  // Flags without a command are those of `start`.
  const isStart = before[0]?.startsWith('-') === true;
  const found = await commandAt(isStart ? ['start', ...before] : before, entries);
  if (found === undefined) return [];
  const { spec, commands, rest } = found;
  const flags = [...spec.flags, HELP];
  const [, name, part] = /^--([^=]+)=(.*)$/s.exec(current) ?? [];
  const given = flags.find((flag) => flag.name === name);
  if (part !== undefined) return fitting(completionOf(given?.value, given), part, `--${name}=`);
  let position = 0;
  let open: FlagSpec | undefined;
  for (const word of rest) {
    const isValue = open !== undefined;
    open = isValue ? undefined : flags.find((flag) => isNamed(flag, word) && flag.value !== undefined);
    if (!isValue && !word.startsWith('-')) position++;
  }
  if (open !== undefined) return fitting(completionOf(open.value, open), current);
  if (current.startsWith('-')) return fitting(flags.map(flagLine), current);
  if (commands.length > 0)
    return fitting(
      commands.map((one) => `${one.name}\t${one.summary}`),
      current,
    );
  const list = spec.arguments ?? [];
  const argument = list[position] ?? (list.at(-1)?.rest === true ? list.at(-1) : undefined);
  return fitting(completionOf(argument?.name, argument), current);
}

const wordOf = (line: string): string => line.replace(/\t.*/, '');

interface Reached {
  readonly spec: Pick<CommandSpec, 'flags' | 'arguments'>;
  readonly commands: readonly CommandEntry[];
  /** The words after the command. */
  readonly rest: readonly string[];
}

/** The command that the words name; undefined when there is none. Without words the program: its commands, and flags of `start` too. */
async function commandAt(words: readonly string[], entries: readonly CommandEntry[]): Promise<Reached | undefined> {
  const [name, ...rest] = words;
  if (name === undefined) {
    const start = await entries.find((entry) => entry.name === 'start')?.load();
    return { spec: { flags: [VERSION, ...(start?.spec.flags ?? [])] }, commands: entries, rest: [] };
  }
  const command = await entries.find((entry) => entry.name === name)?.load();
  if (command === undefined) return undefined;
  const { spec, commands = [] } = command;
  const isInGroup = commands.length > 0 && rest[0] !== undefined && !rest[0].startsWith('-');
  return isInGroup ? commandAt(rest, commands) : { spec, commands, rest };
}

const isNamed = ({ name, short }: FlagSpec, word: string): boolean => word === `--${name}` || word === `-${short}`;

function completionOf(value: string | undefined, by: { readonly completes?: Completion } | undefined): Completion {
  return by?.completes ?? BY_VALUE[value ?? ''] ?? [];
}

function fitting(offered: Completion, current: string, prefix = ''): Completion {
  if (typeof offered === 'string') return offered;
  return offered.filter((line) => line.startsWith(current)).map((line) => `${prefix}${line}`);
}

/** A name with the first sentence of its description, or as much of it as fits. */
function flagLine({ name, description }: FlagSpec): string {
  const [sentence = ''] = description.split(/(?<=[^.])[.:;](?: |$)/);
  const short = sentence.length <= MAX_DESCRIPTION ? sentence : `${sentence.slice(0, MAX_DESCRIPTION - 1).trimEnd()}…`;
  return `--${name}\t${short}`;
}
