/** `tessera completion`: the script by which a shell completes the command line, made from the table of commands. */

import { type CommandEntry, type OwnCommand, printed, UsageError } from './command.js';
import { bashCompletion } from './completion/bash.js';
import { fishCompletion } from './completion/fish.js';
import { type CompletedCommand, completedCommands } from './completion/table.js';
import { zshCompletion } from './completion/zsh.js';

const SHELLS: Readonly<Record<string, (commands: readonly CompletedCommand[]) => string>> = {
  bash: bashCompletion,
  zsh: zshCompletion,
  fish: fishCompletion,
};
const NAMES = Object.keys(SHELLS);

export const completionCommand = (entries: readonly CommandEntry[]): OwnCommand => ({
  spec: {
    description: [
      'Prints a script for bash, zsh or fish that completes commands, flags, values of flags, names of options and operations, ' +
        'and files. It fits this version of the commands: write it again after an update. For one session, in bash and zsh: ' +
        'source <(tessera completion bash); in fish: tessera completion fish | source.',
    ],
    arguments: [{ name: 'SHELL', required: true, completes: NAMES, description: `${NAMES.join(', ')}.` }],
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
    const [shell = ''] = args.positionals;
    const make = Object.hasOwn(SHELLS, shell) ? SHELLS[shell] : undefined;
    if (make === undefined) throw new UsageError(`there is completion for ${NAMES.join(', ')}, not for ${shell}`);
    const script = make(await completedCommands(entries));
    return printed(args, context, { shell, script }, script);
  },
});
