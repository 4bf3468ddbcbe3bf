/** The sources of the configuration: the config file, the environment, the command line. */

import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { TSchema } from '@sinclair/typebox';
import { parse as parseToml, TomlError } from 'smol-toml';
import { errorMessage } from '../lib/errors.js';
import { FAILPOINT_ENV } from '../lib/failpoints.js';
import { CONFIG_FILE_ENV, OPTIONS, OPTIONS_BY_ENV, OPTIONS_BY_PATH } from './option-table.js';
import { ENV_PREFIX, type OptionSpec } from './options.js';
import type { ConfigProblem } from './problems.js';
import { ConfigSchema } from './schema.js';
import { FILE_VARIANTS } from './secret-files.js';
import { addSetting, type Settings } from './settings.js';
import { didYouMean } from './suggest.js';
import { holdsSecret, isRecord, valueFromText } from './values.js';

const ENV_NAMES = [...OPTIONS_BY_ENV.keys(), CONFIG_FILE_ENV];

/** Variables that commands read; they configure no node. */
const COMMAND_VARIABLES: ReadonlySet<string> = new Set([
  `${ENV_PREFIX}API_KEY_FILE`,
  `${ENV_PREFIX}CA_FILE`,
  `${ENV_PREFIX}DEV_HOST`,
  `${ENV_PREFIX}WALLET_NEW_PASSPHRASE`,
  `${ENV_PREFIX}WALLET_EXTRA_WORD`,
  `${ENV_PREFIX}BACKUP_PASSPHRASE`,
  FAILPOINT_ENV,
]);

/** The source of options that a caller of `createConfig` sets. */
export const IN_CODE = 'code';

/** Variables that Kubernetes sets for a service named `tessera-…`; they are no options. */
const SERVICE_LINK = /_(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT_[0-9]+_(TCP|UDP)(_[A-Z]+)?)$/;

/** A value from the command line (a text), or from code (of the option's own type). */
export interface FlagValue {
  /** Path of the option: `api.port`. */
  readonly option: string;
  readonly value: unknown;
  /** The flag as it was written, for messages; `--set` when absent. */
  readonly flag?: string;
}

/** The environment variables of a process. */
export type Environment = Readonly<Record<string, string | undefined>>;

export function readFileLayer(file: string, problems: ConfigProblem[]): Settings {
  const source = `file ${file}`;
  const settings: Settings = new Map();
  try {
    const table = parseToml(readFileSync(file, 'utf8'));
    const add = (option: OptionSpec, value: unknown) =>
      addSetting(settings, option, value, { source, rank: 1, base: dirname(file) }, problems);
    walkTable(ConfigSchema, table, [], source, add, problems);
  } catch (error) {
    const problem =
      error instanceof TomlError
        ? `line ${error.line}, column ${error.column}: ${error.message.split('\n')[0]}`
        : `cannot be read: ${errorMessage(error)}`;
    problems.push({ option: 'config file', source, problem });
  }
  return settings;
}

function walkTable(
  schema: TSchema,
  table: Readonly<Record<string, unknown>>,
  parents: readonly string[],
  source: string,
  add: (option: OptionSpec, value: unknown) => void,
  problems: ConfigProblem[],
): void {
  for (const [key, value] of Object.entries(table)) {
    const keys = [...parents, key];
    const path = keys.join('.');
    const member = Object.hasOwn(schema.properties, key) ? (schema.properties[key] as TSchema) : undefined;
    const option = OPTIONS_BY_PATH.get(path);
    if (option !== undefined) add(option, value);
    else if (member === undefined) problems.push({ option: path, source, problem: unknownOption(path) });
    else if (isRecord(value)) walkTable(member, value, keys, source, add, problems);
    else problems.push({ option: path, source, problem: `is a table: write [${path}] and its options below` });
  }
}

export function readEnvLayer(env: Environment, cwd: string, problems: ConfigProblem[]): Settings {
  const settings: Settings = new Map();
  for (const [name, text] of Object.entries(env)) {
    if (text === undefined || !name.startsWith(ENV_PREFIX) || name === CONFIG_FILE_ENV) continue;
    if (COMMAND_VARIABLES.has(name)) continue;
    const option = OPTIONS_BY_ENV.get(name);
    const source = `env ${name}`;
    if (option !== undefined) {
      addSetting(settings, option, valueFromText(option.schema, text), { source, rank: 2, base: cwd }, problems);
    } else if (!SERVICE_LINK.test(name) && !/^(tcp|udp):\/\//.test(text)) {
      const problem = `no option has this variable${didYouMean(name, ENV_NAMES)}`;
      problems.push({ option: name, source: 'environment', problem });
    }
  }
  return settings;
}

export function readFlagLayer(
  input: { readonly role?: string; readonly flags?: readonly FlagValue[] },
  cwd: string,
  problems: ConfigProblem[],
): Settings {
  const settings: Settings = new Map();
  const role = input.role === undefined ? [] : [{ option: 'node.role', value: input.role, flag: '--role' }];
  for (const { option: path, value, flag = '--set' } of [...(input.flags ?? []), ...role]) {
    const option = OPTIONS_BY_PATH.get(path);
    const source = flag === IN_CODE ? IN_CODE : `flag ${flag}`;
    if (option === undefined) {
      problems.push({ option: path, source, problem: unknownOption(path) });
    } else if (holdsSecret(option.schema) && flag !== IN_CODE) {
      problems.push({ option: path, source, problem: secretOnCommandLine(option) });
    } else {
      const parsed = typeof value === 'string' ? valueFromText(option.schema, value) : value;
      addSetting(settings, option, parsed, { source, rank: 3, base: cwd }, problems);
    }
  }
  return settings;
}

function unknownOption(path: string): string {
  const section = path.split('.').slice(0, -1).join('.');
  const inSection = OPTIONS.filter((option) => option.path.startsWith(`${section}.`)).map((option) => option.path);
  const near = didYouMean(path, inSection) || didYouMean(path, [...OPTIONS_BY_PATH.keys()]);
  return `no such option${near || '; `tessera config --sample` lists all of them'}`;
}

function secretOnCommandLine(option: OptionSpec): string {
  const other = FILE_VARIANTS.find((variant) => variant.option === option.path);
  const advice = other ? `use ${other.file}, the config file` : 'use the config file';
  return `a secret is not taken from the command line, which everyone on the machine can read; ${advice} or ${option.env}`;
}
