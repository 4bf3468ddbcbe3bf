/** Values of options with their sources, before they become a configuration. */

import { isAbsolute, resolve } from 'node:path';
import { NODE_ROLES, type NodeRole } from '../lib/roles.js';
import type { OptionSpec } from './options.js';
import { type ConfigProblem, problemOf } from './values.js';

export interface Setting {
  readonly value: unknown;
  readonly source: string;
  /** Rank of the source: default 0, file 1, environment 2, flags 3; a half more for a setting of one role. */
  readonly rank: number;
  /** True for a setting of one role. */
  readonly isOfRole?: boolean;
}

export type Settings = Map<string, Setting>;

export interface Layer {
  readonly common: Settings;
  readonly byRole: ReadonlyMap<NodeRole, Settings>;
}

export function emptyLayer(): Layer {
  return { common: new Map(), byRole: new Map(NODE_ROLES.map((role) => [role, new Map()])) };
}

/** Settings for a node of the role from all sources, later ones winning; without a role, those for every node. */
export function merged(layers: readonly Layer[], role?: NodeRole): Settings {
  const settings: Settings = new Map();
  for (const { common, byRole } of layers) {
    for (const [path, setting] of common) settings.set(path, setting);
    for (const [path, setting] of (role && byRole.get(role)) ?? []) settings.set(path, setting);
  }
  return settings;
}

export interface Origin {
  readonly source: string;
  readonly rank: number;
  readonly base: string;
  readonly isOfRole?: boolean;
}

/** The origin of settings of one role in the same source. */
export function ofRole(origin: Origin, role: NodeRole): Origin {
  return { ...origin, source: `${origin.source} [role.${role}]`, rank: origin.rank + 0.5, isOfRole: true };
}

/** Adds a value if it fits its option; otherwise reports a problem. */
export function addSetting(
  settings: Settings,
  option: OptionSpec,
  value: unknown,
  from: Origin,
  problems: ConfigProblem[],
): void {
  const problem = problemOf(option.schema, value);
  if (problem !== undefined) {
    problems.push({ option: option.path, source: from.source, problem });
    return;
  }
  const isPath = option.schema.path !== undefined && typeof value === 'string';
  const resolved = isPath && !isAbsolute(value) ? resolve(from.base, value) : value;
  const { source, rank, isOfRole = false } = from;
  settings.set(option.path, { value: resolved, source, rank, isOfRole });
}
