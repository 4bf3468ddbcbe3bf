/** Values of options with their sources, before they become a configuration. */

import { isAbsolute, resolve } from 'node:path';
import type { OptionSpec } from './options.js';
import type { ConfigProblem } from './problems.js';
import { problemOf } from './values.js';

export interface Setting {
  readonly value: unknown;
  readonly source: string;
  /** Rank of the source: default 0, file 1, environment 2, flags 3. */
  readonly rank: number;
}

/** By the path of the option. */
export type Settings = Map<string, Setting>;

/** Adds a value if it fits its option; otherwise reports a problem. */
export function addSetting(
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
