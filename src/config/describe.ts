/** Shows a configuration: the effective value of each option and its source, with secrets redacted. */

import { isDeepStrictEqual } from 'node:util';
import type { TSchema } from '@sinclair/typebox';
import type { LoadedConfig } from './load.js';
import { OPTIONS } from './option-table.js';
import { isGroup } from './options.js';
import { isRecord } from './values.js';

const REDACTED = '<redacted>';

export interface DescribedOption {
  readonly path: string;
  readonly description: string;
  readonly unit: string | undefined;
  readonly env: string;
  /** Value of the option; undefined when it is unset. Secrets are replaced by `<redacted>`. */
  readonly value: unknown;
  /** Source of the value: `default`, `file …`, `env …`, `flag …`; `unset` when no source names the option. */
  readonly source: string;
}

/** Every option with its value and source, in the order of the schema, safe to print. */
export function describeConfig(loaded: LoadedConfig): DescribedOption[] {
  return OPTIONS.map(({ path, schema, env }) => ({
    path,
    description: schema.description ?? '',
    unit: schema.unit,
    env,
    value: redact(schema, loaded.values.get(path)),
    source: loaded.sources.get(path) ?? 'unset',
  }));
}

/** The value with every secret in it replaced. An empty secret is shown as it is. */
function redact(schema: TSchema, value: unknown): unknown {
  if (schema.secret === true) return value === undefined || value === '' ? value : REDACTED;
  if (Array.isArray(value) && schema.items !== undefined) return value.map((item) => redact(schema.items, item));
  if (isRecord(value) && isGroup(schema)) {
    const members = Object.entries(value).map(([name, member]) => {
      const memberSchema = schema.properties[name];
      return [name, memberSchema === undefined ? REDACTED : redact(memberSchema, member)];
    });
    return Object.fromEntries(members);
  }
  return value;
}

interface ConfigChanges {
  readonly applied: readonly string[];
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

export function joined(changes: readonly ConfigChanges[]): ConfigChanges {
  const all = (list: keyof ConfigChanges): string[] => [...new Set(changes.flatMap((one) => one[list]))];
  return { applied: all('applied'), needRestart: all('needRestart') };
}

export function changesText({ applied, needRestart }: ConfigChanges): string {
  const now = applied.length === 0 ? 'no change takes effect now' : `now in effect: ${applied.join(', ')}`;
  const later = needRestart.length === 0 ? '' : `; changed, but needs a restart: ${needRestart.join(', ')}`;
  return `configuration read again: ${now}${later}`;
}
