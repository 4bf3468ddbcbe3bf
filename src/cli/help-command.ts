/** `tessera help [TOPIC]`: the overview, the page of a command, or the options of the configuration. */

import type { Command, CommandEntry, CommandSpec } from './command.js';
import { commandPage, optionsPage, overview } from './help.js';

/** The list of commands, which this command is itself a part of. */
export interface HelpModules {
  readonly entries: readonly CommandEntry[];
  find(words: readonly string[]): Promise<CommandSpec>;
}

export const helpCommand = ({ entries, find }: HelpModules): Command => ({
  spec: {
    name: 'help',
    summary: 'Explains a command, or the options of the configuration',
    description: ['Prints the list of commands, the page of a command, or the meaning of configuration options.'],
    arguments: [
      { name: 'TOPIC', description: 'A command, or "options".' },
      {
        name: 'SECTION',
        description:
          'With "options": a section (api, api.limits) or one option (api.port). With a group: its command. With call: an operation.',
      },
    ],
    flags: [],
    examples: [
      { line: 'tessera help start', does: 'The page of the start command.' },
      { line: 'tessera help wallet pay', does: 'The page of a command of a group.' },
      { line: 'tessera help options mining', does: 'The options of mining.' },
    ],
  },
  async run({ positionals: [topic, section] }, { stdout }) {
    if (topic === undefined) stdout.write(overview(entries));
    else if (topic === 'options') stdout.write(optionsPage(section));
    else stdout.write(commandPage(await find(section === undefined ? [topic] : [topic, section])));
    return 0;
  },
});
