/** The page of the options of the configuration. Loaded when it is asked for: it brings the schema of all of them. */

import type { TSchema } from '@sinclair/typebox';
import { OPTIONS } from '../config/option-table.js';
import { isGroup, type OptionSpec } from '../config/options.js';
import { tomlValue } from '../config/sample.js';
import { ConfigSchema } from '../config/schema.js';
import { didYouMean } from '../config/suggest.js';
import { allowed } from '../config/values.js';
import { stringifyExact } from '../lib/json.js';
import { NODE_ROLES } from '../lib/roles.js';
import { UsageError } from './command.js';
import { entries, PROGRAM, page } from './help.js';

const MAX_DEFAULT = 40;

/** Every option, or those in the named section or with that path. Throws `UsageError` for another name. */
function chosenOptions(section?: string): readonly OptionSpec[] {
  const chosen = OPTIONS.filter(
    ({ path }) => section === undefined || path === section || path.startsWith(`${section}.`),
  );
  if (section === undefined || chosen.length > 0) return chosen;
  const known = [...new Set(OPTIONS.flatMap(({ path }) => [path, path.split('.')[0] ?? '']))];
  throw new UsageError(`${section} is neither a section nor an option${didYouMean(section, known)}`);
}

/** The page of every option, or of those in the named section (`api`, `api.limits`) or with that path. */
export function optionsPage(section?: string): string {
  const chosen = chosenOptions(section);
  const sections: [string, string[]][] = Object.entries(ConfigSchema.properties).map(([name, schema]) => {
    const options = chosen.filter(({ path }) => path.startsWith(`${name}.`)).map(optionEntry);
    const about = isGroup(schema) && options.length > 0 ? [schema.description ?? '', ''] : [];
    return [name.toUpperCase(), [...about, ...entries(options)]];
  });
  return page([
    ['NAME', [`${PROGRAM} options - the configuration of a node`]],
    [
      'SOURCES',
      [
        'Later sources win: defaults; one config file (--config FILE, else TESSERA_CONFIG, else the supplied file of ' +
          'the role); environment variables; flags (--set api.port=3001). Secrets are not taken from the command ' +
          'line.',
        'With several nodes in one process (node.role), role.NAME before an option sets it for one node: [role.miner.api] in ' +
          'the file, TESSERA_ROLE__MINER__API__PORT, --set role.miner.api.port=3004.',
      ],
    ],
    ...sections,
  ]);
}

export function optionsJson(section: string | undefined): string {
  const list = chosenOptions(section).map(({ path, env, schema }) => ({ path, env, ...aboutOption(schema) }));
  return `${stringifyExact(list)}\n`;
}

function aboutOption({ description, default: fallback, unit }: TSchema) {
  return { description: description ?? null, default: fallback ?? null, unit: unit ?? null };
}

function optionEntry({ path, schema, env }: OptionSpec): [string, string] {
  const unit = schema.unit === undefined ? '' : ` ${schema.unit}`;
  const fallback = schema.roleDefaults
    ? NODE_ROLES.map((role) => `${schema.roleDefaults?.[role]} (${role})`).join(', ')
    : schema.default === undefined
      ? 'unset'
      : shortened(tomlValue(schema.default));
  return [
    path,
    `${schema.description} Allowed: ${allowed(schema)}${unit}. Default: ${fallback}. Variable: ${env}.${schema.live === true ? ' A running node takes a new value at SIGHUP.' : ''}`,
  ];
}

function shortened(text: string): string {
  return text.length > MAX_DEFAULT ? `${text.slice(0, MAX_DEFAULT)}…` : text;
}
