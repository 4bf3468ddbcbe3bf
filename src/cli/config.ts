/** `tessera config`: the configuration in effect, with the source of each option, without secrets. */

import { type DescribedOption, describeConfig } from '../config/describe.js';
import { loadProcess } from '../config/load.js';
import { sampleConfig, tomlValue } from '../config/sample.js';
import { stringifyExact } from '../lib/json.js';
import { flag, type OwnCommand, type OwnSpec, UsageError } from './command.js';
import { CONFIG_FLAGS, configInput } from './config-flags.js';

const SOURCE_COLUMN = 56;

const spec: OwnSpec = {
  description: [
    'Loads the configuration as `tessera start` does with the same flags and environment, and prints every option ' +
      'with its value and source. Secrets are shown as <redacted>. Nothing is started. All mistakes are reported ' +
      'together.',
  ],
  flags: [...CONFIG_FLAGS, flag('--sample', 'Prints a config file with every option, its meaning and its default.')],
  json:
    'Prints a JSON array of {path, value, source, env, unit, description}; with several roles, an object with an ' +
    'array for each role.',
  examples: {
    'tessera config --role miner': 'Shows what a miner started with these flags would use.',
    'tessera config --sample > node.toml': 'Writes a file to start from.',
  },
};

export const command: OwnCommand = {
  spec,
  async run(args, context) {
    if (args.has('sample')) {
      if (args.has('json'))
        throw new UsageError('--sample is a file in TOML: tessera help options --json has its options');
      context.stdout.write(sampleConfig());
      return 0;
    }
    const { nodes, joint } = loadProcess(configInput(args, context));
    const shown = nodes.map((loaded) => [loaded.config.node.role, describeConfig(loaded)] as const);
    const all = joint === undefined ? shown : [['network', describeConfig(joint)] as const, ...shown];
    context.stdout.write(args.has('json') ? json(all) : tables(all));
    for (const warning of new Set(nodes.flatMap(({ warnings }) => warnings))) {
      context.stderr.write(`warning: ${warning}\n`);
    }
    return 0;
  },
};

type Shown = readonly (readonly [name: string, options: DescribedOption[]])[];

/** The options of a node as a list; of several, an object with a list for each, and one for the address that they have in common. */
function json(all: Shown): string {
  const [[, options] = []] = all;
  return `${stringifyExact(all.length === 1 ? options : Object.fromEntries(all))}\n`;
}

function tables(all: Shown): string {
  const [[, options = []] = []] = all;
  if (all.length === 1) return table(options);
  const heading = (name: string): string =>
    name === 'network' ? '# The address that the nodes have in common' : `# The ${name} node`;
  return all.map(([name, own]) => `${heading(name)}\n\n${table(own)}`).join('\n\n');
}

function table(options: readonly DescribedOption[]): string {
  // A table of TOML may be begun only once, and some tables have others between their own options.
  const sections = new Map<string, string[]>();
  for (const option of options) {
    const cut = option.path.lastIndexOf('.');
    const heading = option.path.slice(0, cut);
    const lines = sections.get(heading) ?? [`[${heading}]`];
    lines.push(optionLine(option.path.slice(cut + 1), option));
    sections.set(heading, lines);
  }
  return `${[...sections.values()].map((lines) => lines.join('\n')).join('\n\n')}\n`;
}

function optionLine(name: string, { value, source }: DescribedOption): string {
  if (value === undefined) return `# ${name} is unset`;
  return `${`${name} = ${tomlValue(value)}`.padEnd(SOURCE_COLUMN)} # ${source}`;
}
