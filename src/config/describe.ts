/** Shows a configuration: the effective value of each option and its source, with secrets redacted. */

import type { TSchema } from '@sinclair/typebox';
import type { LoadedConfig } from './load.js';
import { OPTIONS } from './option-table.js';
import { isGroup } from './options.js';
import { isRecord } from './values.js';

/** Shown in place of a secret. */
const REDACTED = '<redacted>';

/** One option with its effective value. */
export interface DescribedOption {
  readonly path: string;
  readonly description: string;
  readonly unit: string | undefined;
  readonly env: string;
  /** Undefined when the option is unset. Secrets are replaced by `<redacted>`. */
  readonly value: unknown;
  /** `default`, `file …`, `env …`, `flag …`; `unset` when no source names it. */
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
