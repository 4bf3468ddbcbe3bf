/** Loads the configuration: defaults, file (`--config`, TESSERA_CONFIG, or the role's), environment, flags. Reports all mistakes together. */

import { resolve } from 'node:path';
import type { TSchema } from '@sinclair/typebox';
import { NODE_ROLES, type NodeRole, rolesIn } from '../lib/roles.js';
import { checkConfig } from './checks.js';
import { CONFIG_FILE_ENV, OPTIONS, OPTIONS_BY_PATH, PACKAGE_CONFIG_DIR } from './option-table.js';
import { camelCase, defaultOf, isGroup } from './options.js';
import { hasOwnApi, keyFolder, type Place, place, rootFolder } from './placing.js';
import { type Config, ConfigSchema } from './schema.js';
import { emptyLayer, type Layer, merged, type Settings } from './settings.js';
import {
  type Environment,
  type FlagValue,
  IN_CODE,
  readEnvLayer,
  readFileLayer,
  readFlagLayer,
  readSecretFiles,
} from './sources.js';
import { type ConfigProblem, configError, isRecord } from './values.js';

export interface ConfigInput {
  /** Roles of `--role`, separated by commas; they beat every other source. */
  readonly role?: string;
  /** File of `--config`. Without it and TESSERA_CONFIG the supplied file of the role is read; null reads none. */
  readonly file?: string | null;
  readonly env?: Environment;
  readonly flags?: readonly FlagValue[];
  /** Base of relative paths; by default the working directory of the process. */
  readonly cwd?: string;
}

export interface LoadedConfig {
  readonly config: Config;
  /** Source of each option's value: path → `default`, `file …`, `env …`, `flag …`. Unset options are absent. */
  readonly sources: ReadonlyMap<string, string>;
  /** Values of the options by path, with the secrets: print `describeConfig` instead. */
  readonly values: ReadonlyMap<string, unknown>;
  /** The config file that was read. */
  readonly file: string | undefined;
  readonly warnings: readonly string[];
  /** False for a node that is reached only at the address of its process; then `config.api` is for that address. */
  readonly hasOwnApi: boolean;
  /** The folder with the key of the API at which the node is reached, when none is configured. */
  readonly keyFolder: string;
}

const SOURCE_OF_PORTS = 'the ports of the process';

export interface LoadedProcess {
  readonly nodes: readonly [LoadedConfig, ...LoadedConfig[]];
  /** Configuration of the shared address of several nodes: its `api`, `envelope`, `log` and the folder above theirs. */
  readonly joint: LoadedConfig | undefined;
}

/** The checked configuration of a node; `role` picks one of several. Throws `invalid_config` with every problem, its option and source. */
export function loadConfig(input: ConfigInput): LoadedConfig {
  const read = readSources(input);
  const [role, ...others] = read.roles ?? [];
  if (others.length > 0) {
    const names = read.roles?.join('|');
    read.problems.push({
      option: 'node.role',
      source: read.roleSource,
      problem: `there are several nodes in this process; choose one with --role ${names}`,
    });
  }
  const declared = rolesIn(merged(read.layers.slice(0, -1)).get('node.role')?.value) ?? [];
  const roles = declared.length > 1 ? declared : role === undefined ? [] : [role];
  if (role !== undefined && !roles.includes(role)) {
    const problem = `${role} is not a role of this process; its roles are ${roles.join(', ')}`;
    read.problems.push({ option: 'node.role', source: read.roleSource, problem });
  }
  return assemble(read, role, { role, roles });
}

/** The roles that the configuration is for, without checking anything else; undefined when it names none. */
export function rolesOf(input: ConfigInput): readonly NodeRole[] | undefined {
  return readSources(input).roles;
}

/** Loads and checks the configuration of a process: of its node, or of each of its nodes and of the address in common. */
export function loadProcess(input: ConfigInput): LoadedProcess {
  const read = readSources(input);
  const { roles = [] } = read;
  const [first, ...others] = roles;
  if (first === undefined || others.length === 0) return { nodes: [loadConfig(input)], joint: undefined };
  const load = (role: NodeRole): LoadedConfig => assemble(read, role, { role, roles });
  const nodes = [load(first), ...others.map(load)] as const;
  const joint = assemble(read, first, { role: undefined, roles });
  const problems = sharedPorts(joint, nodes);
  if (problems.length > 0) throw configError(problems);
  return { nodes: [...nodes], joint };
}

interface Sources {
  readonly cwd: string;
  readonly file: string | undefined;
  readonly layers: readonly Layer[];
  readonly problems: ConfigProblem[];
  /** Roles of the process; undefined when the sources name none, or a wrong one. */
  readonly roles: readonly NodeRole[] | undefined;
  readonly roleSource: string;
}

function readSources(input: ConfigInput): Sources {
  const cwd = input.cwd ?? process.cwd();
  const env = input.env ?? {};
  const problems: ConfigProblem[] = [];
  const file = configFile(input, env, cwd);
  const layers = [
    file === undefined ? emptyLayer() : readFileLayer(file, problems),
    readEnvLayer(env, cwd, problems),
    readFlagLayer(input, cwd, problems),
  ];
  const role = merged(layers).get('node.role');
  const roles = rolesIn(role?.value);
  if (role !== undefined && roles === undefined) {
    problems.push({ option: 'node.role', source: role.source, problem: 'a role is named twice' });
  }
  return { cwd, file, layers, problems, roles, roleSource: role?.source ?? 'no source' };
}

/** Makes the configuration of one place from the sources. */
function assemble(read: Sources, role: NodeRole | undefined, at: Place): LoadedConfig {
  const { cwd, layers, file } = read;
  const problems = [...read.problems];
  const settings = merged(layers, at.role);
  if (role === undefined) {
    if (problems.every(({ option }) => option !== 'node.role')) problems.push(missingRole());
  } else {
    const { source, rank } = settings.get('node.role') ?? { source: 'code', rank: 0 };
    settings.set('node.role', { value: role, source, rank });
    if (at.roles.length > 1) place(at, settings, { layers, cwd }, problems);
    addDefaults(settings, role, cwd);
  }
  readSecretFiles(settings, problems);
  if (problems.length > 0) throw configError(problems);

  const config = buildConfig(settings);
  const { problems: crossProblems, warnings } = checkConfig(config, (path) => settings.get(path)?.source ?? 'default');
  if (crossProblems.length > 0) throw configError(crossProblems);
  const values = new Map([...settings].map(([path, { value }]) => [path, value]));
  const sources = new Map([...settings].map(([path, { source }]) => [path, source]));
  const api = { hasOwnApi: hasOwnApi(at, settings), keyFolder: keyFolder(at, settings, rootFolder(layers, cwd)) };
  return { config, sources, values, file, warnings, ...api };
}

/** The ports that two nodes of one process have been given. */
function sharedPorts(joint: LoadedConfig, nodes: readonly LoadedConfig[]): ConfigProblem[] {
  const listening = nodes.flatMap(({ config, hasOwnApi: isOwn }) => {
    const { node, api, peers, metrics } = config;
    const ports = [
      [`role.${node.role}.peers.port`, peers.port],
      ...(isOwn ? [[`role.${node.role}.api.port`, api.port] as const] : []),
      ...(metrics.enabled ? [[`role.${node.role}.metrics.port`, metrics.port] as const] : []),
    ] as const;
    return ports;
  });
  const used = new Map<number, string>([[joint.config.api.port, 'api.port']]);
  const problems: ConfigProblem[] = [];
  for (const [option, port] of listening) {
    const other = used.get(port);
    if (port !== 0 && other !== undefined) {
      problems.push({
        option,
        source: SOURCE_OF_PORTS,
        problem: `${port} is the port of ${other} too; choose another`,
      });
    }
    used.set(port, option);
  }
  return problems;
}

/** A configuration made in code, from defaults and options (`{'api.port': 0}`). Throws `invalid_config` as `loadConfig`. */
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
  const [role, ...others] = rolesIn(input.role ?? env[OPTIONS_BY_PATH.get('node.role')?.env ?? '']) ?? [];
  return role && resolve(PACKAGE_CONFIG_DIR, `${others.length > 0 ? 'network' : role}.toml`);
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
