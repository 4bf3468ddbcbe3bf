/** `tessera help [TOPIC]`: the overview, the page of a command, or the options of the configuration. */

import type { CommandEntry, CommandSpec, OwnCommand } from './command.js';
import { commandJson, commandPage, overview, overviewJson } from './help.js';

export interface HelpModules {
  readonly entries: readonly CommandEntry[];
  find(words: readonly string[]): Promise<CommandSpec>;
}

export const helpCommand = ({ entries, find }: HelpModules): OwnCommand => ({
  spec: {
    description: ['Prints the list of commands, the page of a command, or the meaning of configuration options.'],
    arguments: [
      {
        name: 'TOPIC',
        completes: [...entries.map(({ name }) => name), 'options'],
        description: 'A command, or "options".',
      },
      {
        name: 'SECTION',
        description:
          'With "options": a section (api, api.limits) or one option (api.port). With a group: its command. With ' +
          'call: an operation.',
      },
    ],
    json: 'Prints the page as JSON: a list of commands, a command, or options.',
    examples: {
      'tessera help start': 'Explains the command start.',
      'tessera help wallet pay': 'Explains a command of a group.',
      'tessera help options mining': 'Explains the options of mining.',
    },
  },
  async run(args, { stdout }) {
    const [topic, section] = args.positionals;
    const isJson = args.has('json');
    if (topic === undefined) stdout.write(isJson ? overviewJson(entries) : overview(entries));
    else if (topic === 'options') {
      const { optionsJson, optionsPage } = await import('./options-page.js');
      stdout.write(isJson ? optionsJson(section) : optionsPage(section));
    } else {
      const spec = await find(section === undefined ? [topic] : [topic, section]);
      stdout.write(isJson ? commandJson(spec) : commandPage(spec));
    }
    return 0;
  },
});
