/**
 * Loading the configuration. Sources, later ones win: defaults, the config file (`--config`, else TESSERA_CONFIG, else the
 * one that ships for the role), environment variables, flags. Everything that is wrong is reported in one error.
 */

import { readFileSync } from 'node:fs';
import { dirname, isAbsolute, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TSchema } from '@sinclair/typebox';
import { parse as parseToml, TomlError } from 'smol-toml';
import { errorMessage } from '../lib/errors.js';
import { FAILPOINT_ENV } from '../lib/failpoints.js';
import { isNodeRole, NODE_ROLES, type NodeRole } from '../lib/roles.js';
import { checkConfig } from './checks.js';
import { camelCase, defaultOf, ENV_PREFIX, isGroup, listOptions, type OptionSpec } from './options.js';
import { type ConfigProblem, configError } from './problems.js';
import { type Config, ConfigSchema } from './schema.js';
import { didYouMean } from './suggest.js';
import { allowed, holdsSecret, isRecord, problemOf, valueFromText } from './values.js';

/** The folder with the role files, the sample and the genesis files that ship with the program. */
export const PACKAGE_CONFIG_DIR = fileURLToPath(new URL('../../config/', import.meta.url));

/** All options, in the order of the schema. */
export const OPTIONS: readonly OptionSpec[] = listOptions(ConfigSchema);

/** The variable that names the config file when `--config` does not. */
export const CONFIG_FILE_ENV = `${ENV_PREFIX}CONFIG`;

const OPTIONS_BY_PATH = new Map(OPTIONS.map((option) => [option.path, option]));
const OPTIONS_BY_ENV = new Map(OPTIONS.map((option) => [option.env, option]));
const ENV_NAMES = [...OPTIONS_BY_ENV.keys(), CONFIG_FILE_ENV];

/** Variables that commands read; they configure no node. */
const COMMAND_VARIABLES: ReadonlySet<string> = new Set([
  `${ENV_PREFIX}API_KEY_FILE`,
  `${ENV_PREFIX}WALLET_NEW_PASSPHRASE`,
  `${ENV_PREFIX}BACKUP_PASSPHRASE`,
  FAILPOINT_ENV,
]);

/** Options whose value may stand in a file that another option names. */
const FILE_VARIANTS = [
  { option: 'network.secret', file: 'network.secret_file' },
  { option: 'wallet.passphrase', file: 'wallet.passphrase_file' },
  { option: 'mempool.producer_key', file: 'mempool.producer_key_file' },
] as const;

/** The source of options that a caller of `createConfig` sets. */
export const IN_CODE = 'code';

/** Bytes. A secret is a line, not a document. */
const MAX_SECRET_FILE = 4_096;

/** What Kubernetes puts into the environment for a service named `tessera-…`; not meant for us. */
const SERVICE_LINK = /_(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT_[0-9]+_(TCP|UDP)(_[A-Z]+)?)$/;

/** A value from the command line (a text), or from code (of the option's own type). */
export interface FlagValue {
  /** Path of the option: `api.port`. */
  readonly option: string;
  readonly value: unknown;
  /** The flag as it was written, for messages; `--set` when absent. */
  readonly flag?: string;
}

export interface ConfigInput {
  /** From `--role`; beats every other source. */
  readonly role?: string;
  /** From `--config`. Without it and TESSERA_CONFIG the file that ships for the role is read; null reads none. */
  readonly file?: string | null;
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly flags?: readonly FlagValue[];
  /** Where relative paths start; the working directory of the process when absent. */
  readonly cwd?: string;
}

export interface LoadedConfig {
  readonly config: Config;
  /** Where each option's value came from: path → `default`, `file …`, `env …`, `flag …`. Unset options are absent. */
  readonly sources: ReadonlyMap<string, string>;
  /** The same values by path. Secrets are among them: print `describeConfig` instead. */
  readonly values: ReadonlyMap<string, unknown>;
  /** The config file that was read. */
  readonly file: string | undefined;
  /** What is allowed but unlikely to be meant. */
  readonly warnings: readonly string[];
}

interface Setting {
  readonly value: unknown;
  readonly source: string;
  /** Rank of the source: default 0, file 1, environment 2, flags 3. */
  readonly rank: number;
}

type Settings = Map<string, Setting>;

/** Loads and checks the configuration. Throws `invalid_config` that names every problem with its option and source. */
export function loadConfig(input: ConfigInput): LoadedConfig {
  const cwd = input.cwd ?? process.cwd();
  const env = input.env ?? {};
  const problems: ConfigProblem[] = [];
  const file = configFile(input, env, cwd);
  const layers: Settings[] = [
    file === undefined ? new Map() : readFileLayer(file, problems),
    readEnvLayer(env, cwd, problems),
    readFlagLayer(input, cwd, problems),
  ];
  const settings: Settings = new Map();
  for (const layer of layers) for (const [path, setting] of layer) settings.set(path, setting);
  const role = settings.get('node.role')?.value;
  if (isNodeRole(role)) addDefaults(settings, role, cwd);
  else if (problems.every(({ option }) => option !== 'node.role')) problems.push(missingRole());
  readSecretFiles(settings, problems);
  if (problems.length > 0) throw configError(problems);

  const config = buildConfig(settings);
  const { problems: crossProblems, warnings } = checkConfig(config, (path) => settings.get(path)?.source ?? 'default');
  if (crossProblems.length > 0) throw configError(crossProblems);
  const values = new Map([...settings].map(([path, { value }]) => [path, value]));
  const sources = new Map([...settings].map(([path, { source }]) => [path, source]));
  return { config, sources, values, file, warnings };
}

/**
 * A configuration made in code: the defaults of the role and the given options (`{'api.port': 0}`), no file, no
 * environment. Throws `invalid_config` as `loadConfig` does.
 */
export function createConfig(role: NodeRole, values: Readonly<Record<string, unknown>> = {}): Config {
  const flags = Object.entries(values).map(([option, value]) => ({ option, value, flag: IN_CODE }));
  return loadConfig({ role, file: null, flags }).config;
}

function missingRole(): ConfigProblem {
  return {
    option: 'node.role',
    source: 'no source',
    problem: `the role is not given; use --role ${NODE_ROLES.join('|')}`,
  };
}

function configFile(input: ConfigInput, env: ConfigInput['env'] & object, cwd: string): string | undefined {
  if (input.file === null) return undefined;
  const named = input.file ?? env[CONFIG_FILE_ENV];
  if (named !== undefined) return resolve(cwd, named);
  const role = input.role ?? env[OPTIONS_BY_PATH.get('node.role')?.env ?? ''];
  return isNodeRole(role) ? resolve(PACKAGE_CONFIG_DIR, `${role}.toml`) : undefined;
}

function readFileLayer(file: string, problems: ConfigProblem[]): Settings {
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

function readEnvLayer(env: ConfigInput['env'] & object, cwd: string, problems: ConfigProblem[]): Settings {
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

function readFlagLayer(input: ConfigInput, cwd: string, problems: ConfigProblem[]): Settings {
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

function addSetting(
  settings: Settings,
  option: OptionSpec,
  value: unknown,
  from: { readonly source: string; readonly rank: number; readonly base: string },
  problems: ConfigProblem[],
): void {
  const problem = problemOf(option.schema, value);
  if (problem !== undefined) {
    problems.push({ option: option.path, source: from.source, problem });
    return;
  }
  const isPath = option.schema.path !== undefined && typeof value === 'string';
  const resolved = isPath && !isAbsolute(value) ? resolve(from.base, value) : value;
  settings.set(option.path, { value: resolved, source: from.source, rank: from.rank });
}

function addDefaults(settings: Settings, role: NodeRole, cwd: string): void {
  for (const { path, schema } of OPTIONS) {
    const value = defaultOf(schema, role);
    if (value === undefined || settings.has(path)) continue;
    const base = schema.path === 'package-config' ? PACKAGE_CONFIG_DIR : cwd;
    const resolved = schema.path !== undefined && typeof value === 'string' ? resolve(base, value) : value;
    settings.set(path, { value: resolved, source: 'default', rank: 0 });
  }
}

/** Puts the content of `*_file` options in place. The later source wins; in one and the same source it is a contradiction. */
function readSecretFiles(settings: Settings, problems: ConfigProblem[]): void {
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

/** Line ends after a secret belong to the editor; spaces around a passphrase may be meant, around a key they are not. */
function readSecret(file: string, trim: boolean): string {
  const text = readFileSync(file, 'utf8');
  if (text.length > MAX_SECRET_FILE) throw new Error(`${file} holds more than ${MAX_SECRET_FILE} characters`);
  return trim ? text.trim() : text.replace(/[\r\n]+$/, '');
}

function buildConfig(settings: Settings): Config {
  const tree: Record<string, unknown> = buildGroup(ConfigSchema, [], settings);
  // The tree was built along the schema from values that passed it, so it has the type that is derived from it.
  return tree as unknown as Config;
}

function buildGroup(schema: TSchema, parents: readonly string[], settings: Settings): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  for (const [key, member] of Object.entries(schema.properties as Record<string, TSchema>)) {
    const keys = [...parents, key];
    const name = camelCase(key);
    if (isGroup(member)) result[name] = buildGroup(member, keys, settings);
    else {
      const setting = settings.get(keys.join('.'));
      if (setting !== undefined) result[name] = camelized(setting.value);
    }
  }
  return Object.freeze(result);
}

/** A frozen copy with camelCase member names. */
function camelized(value: unknown): unknown {
  if (Array.isArray(value)) return Object.freeze(value.map(camelized));
  if (!isRecord(value)) return value;
  return Object.freeze(
    Object.fromEntries(Object.entries(value).map(([key, member]) => [camelCase(key), camelized(member)])),
  );
}
