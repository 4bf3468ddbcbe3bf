/** The sources of the configuration: the config file, the environment, the command line. */

import { dirname } from 'node:path';
import type { TSchema } from '@sinclair/typebox';
import { parse as parseToml, TomlError } from 'smol-toml';
import { errorMessage } from '../lib/errors.js';
import { FAILPOINT_ENV } from '../lib/failpoints.js';
import { MAX_SECRET_FILE, MAX_WRITTEN_FILE, readBoundedText } from '../lib/read-bounded.js';
import { isNodeRole, NODE_ROLES, type NodeRole } from '../lib/roles.js';
import { CONFIG_FILE_ENV, OPTIONS, OPTIONS_BY_ENV, OPTIONS_BY_PATH } from './option-table.js';
import { ENV_PREFIX, type OptionSpec } from './options.js';
import { ConfigSchema } from './schema.js';
import { addSetting, emptyLayer, type Layer, type Origin, ofRole, type Settings } from './settings.js';
import { didYouMean } from './suggest.js';
import { allowed, type ConfigProblem, holdsSecret, isRecord, problemOf, valueFromText } from './values.js';

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

/** A value from the command line (a text), or from code (of the option's own type). */
export interface FlagValue {
  /** Path of the option: `api.port`. */
  readonly option: string;
  readonly value: unknown;
  /** The flag as it was written, for messages; `--set` when absent. */
  readonly flag?: string;
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** Options of one role: `role.miner.api.port`. */
const OF_ROLE = /^role\.([^.]+)\.(.+)$/;
/** Environment variables of one role: `TESSERA_ROLE__MINER__API__PORT`. */
const ENV_OF_ROLE = new RegExp(`^${ENV_PREFIX}ROLE__([A-Z]+)__(.+)$`);

export function readFileLayer(file: string, problems: ConfigProblem[]): Layer {
  const origin: Origin = { source: `file ${file}`, rank: 1, base: dirname(file) };
  const layer = emptyLayer();
  try {
    const { role, ...table } = parseToml(readBoundedText(file, MAX_WRITTEN_FILE));
    readTable(isRecord(role) || role === undefined ? table : { ...table, role }, layer.common, origin, problems);
    for (const [name, options] of Object.entries(isRecord(role) ? role : {})) {
      readRoleTable(name, options, layer, origin, problems);
    }
  } catch (error) {
    const problem =
      error instanceof TomlError
        ? `line ${error.line}, column ${error.column}: ${error.message.split('\n')[0]}`
        : `cannot be read: ${errorMessage(error)}`;
    problems.push({ option: 'config file', source: origin.source, problem });
  }
  return layer;
}

function readTable(
  table: Readonly<Record<string, unknown>>,
  settings: Settings,
  origin: Origin,
  problems: ConfigProblem[],
): void {
  const add = (option: OptionSpec, value: unknown) => addSetting(settings, option, value, origin, problems);
  walkTable(ConfigSchema, table, [], origin.source, add, problems);
}

/** Reads the tables of one role, such as `[role.miner.api]`: any options, for the node of that role. */
function readRoleTable(name: string, options: unknown, layer: Layer, origin: Origin, problems: ConfigProblem[]): void {
  const { source } = origin;
  const settings = isNodeRole(name) ? layer.byRole.get(name) : undefined;
  if (!isNodeRole(name) || settings === undefined) {
    problems.push({ option: `role.${name}`, source, problem: unknownRole(name) });
  } else if (!isRecord(options)) {
    const problem = `is a table: write [role.${name}.api] and options of the section api below`;
    problems.push({ option: `role.${name}`, source, problem });
  } else {
    const found: ConfigProblem[] = [];
    readTable(options, settings, ofRole(origin, name), found);
    if (settings.delete('node.role')) {
      found.push({ option: 'node.role', source, problem: 'is an option of the whole process' });
    }
    problems.push(...found.map((one) => ({ ...one, option: `role.${name}.${one.option}` })));
  }
}

function unknownRole(name: string): string {
  return `there is no such role${didYouMean(name, NODE_ROLES)}`;
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

export function readEnvLayer(env: Environment, cwd: string, problems: ConfigProblem[]): Layer {
  const layer = emptyLayer();
  for (const [name, text] of Object.entries(env)) {
    if (text === undefined || !isForOption(name)) continue;
    const [, roleName = '', rest = ''] = ENV_OF_ROLE.exec(name) ?? [];
    const role = roleName.toLowerCase();
    const option = OPTIONS_BY_ENV.get(isNodeRole(role) ? `${ENV_PREFIX}${rest}` : name);
    const source = `env ${name}`;
    if (option !== undefined && !(isNodeRole(role) && option.path === 'node.role')) {
      const origin: Origin = { source, rank: 2, base: cwd };
      const [settings, from] = placeIn(layer, origin, isNodeRole(role) ? role : undefined);
      addSetting(settings, option, valueFromText(option.schema, text), from, problems);
    } else {
      const problem = `no option has this variable${didYouMean(name, ENV_NAMES)}`;
      problems.push({ option: name, source: 'environment', problem });
    }
  }
  return layer;
}

/** True for the variable of an option, and for a mistyped one: all of them have two underscores after the section. */
function isForOption(name: string): boolean {
  return name.startsWith(ENV_PREFIX) && name.includes('__');
}

/** Warning about variables that look like options and are ignored; Kubernetes sets some for a service named `tessera`. */
export function ignoredVariables(env: Environment): string | undefined {
  const ignored = Object.keys(env).filter(
    (name) =>
      name.startsWith(ENV_PREFIX) && !isForOption(name) && name !== CONFIG_FILE_ENV && !COMMAND_VARIABLES.has(name),
  );
  if (ignored.length === 0) return undefined;
  const bare = (name: string): string => name.replaceAll('_', '');
  const meant = ENV_NAMES.filter((option) => ignored.some((name) => bare(name) === bare(option)));
  const advice = meant.length === 0 ? '' : `; did you mean ${meant.join(', ')}?`;
  return `variables that are not options are ignored: ${ignored.join(', ')}${advice}`;
}

/** Place of a value for every node, or for one role. */
function placeIn(layer: Layer, origin: Origin, role: NodeRole | undefined): [Settings, Origin] {
  const settings = role && layer.byRole.get(role);
  return role && settings ? [settings, ofRole(origin, role)] : [layer.common, origin];
}

export function readFlagLayer(
  input: { readonly role?: string; readonly flags?: readonly FlagValue[] },
  cwd: string,
  problems: ConfigProblem[],
): Layer {
  const layer = emptyLayer();
  const role = input.role === undefined ? [] : [{ option: 'node.role', value: input.role, flag: '--role' }];
  for (const { option: path, value, flag = '--set' } of [...(input.flags ?? []), ...role]) {
    const [, name, rest = ''] = OF_ROLE.exec(path) ?? [];
    const option = OPTIONS_BY_PATH.get(name === undefined ? path : rest);
    const source = flag === IN_CODE ? IN_CODE : `flag ${flag}`;
    if (name !== undefined && !isNodeRole(name)) {
      problems.push({ option: path, source, problem: unknownRole(name) });
    } else if (option === undefined || (name !== undefined && option.path === 'node.role')) {
      problems.push({ option: path, source, problem: unknownOption(path) });
    } else if (holdsSecret(option.schema) && flag !== IN_CODE) {
      problems.push({ option: path, source, problem: secretOnCommandLine(option) });
    } else {
      const parsed = typeof value === 'string' ? valueFromText(option.schema, value) : value;
      const [settings, from] = placeIn(layer, { source, rank: 3, base: cwd }, name);
      addSetting(settings, option, parsed, from, problems);
    }
  }
  return layer;
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

/** Options whose value may be in a file that another option names. */
export const FILE_VARIANTS = [
  { option: 'network.secret', file: 'network.secret_file' },
  { option: 'wallet.passphrase', file: 'wallet.passphrase_file' },
  { option: 'mempool.producer_key', file: 'mempool.producer_key_file' },
  { option: 'journal.password', file: 'journal.password_file' },
  { option: 'storage.segments.secret_key', file: 'storage.segments.secret_key_file' },
] as const;

/** Reads the files of `*_file` options. The later source wins; giving both options in one source is an error. */
export function readSecretFiles(settings: Settings, problems: ConfigProblem[]): void {
  for (const { option: path, file: filePath } of FILE_VARIANTS) {
    const named = settings.get(filePath);
    const direct = settings.get(path);
    const option = OPTIONS_BY_PATH.get(path);
    if (named === undefined || option === undefined || (direct !== undefined && direct.rank > named.rank)) continue;
    if (direct !== undefined && direct.rank === named.rank) {
      problems.push({ option: filePath, source: named.source, problem: `${path} is given too; keep one of them` });
      continue;
    }
    const file = String(named.value);
    const source = `file ${file}, named by ${filePath}`;
    try {
      const value = readSecret(file, path !== 'wallet.passphrase');
      const problem = problemOf(option.schema, value);
      if (problem === undefined) settings.set(path, { value, source, rank: named.rank });
      else problems.push({ option: path, source, problem: `it must be ${allowed(option.schema)}` });
    } catch (error) {
      problems.push({ option: filePath, source: named.source, problem: `cannot be read: ${errorMessage(error)}` });
    }
  }
}

/** Reads a secret without the line ends of an editor. Spaces around a passphrase may be intended; around a key they are not. */
function readSecret(file: string, trim: boolean): string {
  const text = readBoundedText(file, MAX_SECRET_FILE);
  return trim ? text.trim() : text.replace(/[\r\n]+$/, '');
}
