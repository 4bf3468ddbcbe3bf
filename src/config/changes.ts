/** Changes of a reloaded configuration: the options that a running node applies, and those that need a restart. */

import { isDeepStrictEqual } from 'node:util';
import type { LoadedConfig } from './load.js';
import { OPTIONS } from './option-table.js';

export interface ConfigChanges {
  /** Options that are in effect from now on. */
  readonly applied: readonly string[];
  /** Options that keep their value until the node is started again. */
  readonly needRestart: readonly string[];
}

/** The values that a running node works with, by path; updated by each configuration that it takes over. */
export class EffectiveOptions {
  readonly #values: Map<string, unknown>;

  constructor(started: LoadedConfig) {
    this.#values = new Map(started.values);
  }

  /** Takes over the options that can change while the node runs, and lists all differences. */
  takeOver(loaded: LoadedConfig): ConfigChanges {
    const changed = OPTIONS.filter(({ path }) => !isDeepStrictEqual(loaded.values.get(path), this.#values.get(path)));
    const live = changed.filter(({ schema }) => schema.live === true).map(({ path }) => path);
    for (const path of live) this.#values.set(path, loaded.values.get(path));
    const needRestart = changed.filter(({ schema }) => schema.live !== true).map(({ path }) => path);
    return { applied: live, needRestart };
  }
}

/** The changes of several configurations, each option once. */
export function joined(changes: readonly ConfigChanges[]): ConfigChanges {
  const all = (list: keyof ConfigChanges): string[] => [...new Set(changes.flatMap((one) => one[list]))];
  return { applied: all('applied'), needRestart: all('needRestart') };
}

/** The changes as sentences for the log. */
export function changesText({ applied, needRestart }: ConfigChanges): string {
  const now = applied.length === 0 ? 'no change takes effect now' : `now in effect: ${applied.join(', ')}`;
  const later = needRestart.length === 0 ? '' : `; changed, but needs a restart: ${needRestart.join(', ')}`;
  return `configuration read again: ${now}${later}`;
}
