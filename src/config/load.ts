/**
 * Loading the configuration. Sources, later ones win: defaults, the config file (`--config`, else TESSERA_CONFIG, else the
 * one that ships for the role), environment variables, flags. Everything that is wrong is reported in one error.
 */

import { resolve } from 'node:path';
import type { TSchema } from '@sinclair/typebox';
import { isNodeRole, NODE_ROLES, type NodeRole } from '../lib/roles.js';
import { checkConfig } from './checks.js';
import { CONFIG_FILE_ENV, OPTIONS, OPTIONS_BY_PATH, PACKAGE_CONFIG_DIR } from './option-table.js';
import { camelCase, defaultOf, isGroup } from './options.js';
import { type ConfigProblem, configError } from './problems.js';
import { type Config, ConfigSchema } from './schema.js';
import { readSecretFiles } from './secret-files.js';
import type { Settings } from './settings.js';
import { type Environment, type FlagValue, IN_CODE, readEnvLayer, readFileLayer, readFlagLayer } from './sources.js';
import { isRecord } from './values.js';

export interface ConfigInput {
  /** From `--role`; beats every other source. */
  readonly role?: string;
  /** From `--config`. Without it and TESSERA_CONFIG the file that ships for the role is read; null reads none. */
  readonly file?: string | null;
  readonly env?: Environment;
  readonly flags?: readonly FlagValue[];
  /** Base of relative paths; by default the working directory of the process. */
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
  /** Settings that are allowed but probably not intended. */
  readonly warnings: readonly string[];
}

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

function configFile(input: ConfigInput, env: Environment, cwd: string): string | undefined {
  if (input.file === null) return undefined;
  const named = input.file ?? env[CONFIG_FILE_ENV];
  if (named !== undefined) return resolve(cwd, named);
  const role = input.role ?? env[OPTIONS_BY_PATH.get('node.role')?.env ?? ''];
  return isNodeRole(role) ? resolve(PACKAGE_CONFIG_DIR, `${role}.toml`) : undefined;
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
