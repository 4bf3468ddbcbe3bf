/** The sample file: every option, commented out, with meaning, bounds and default. `config/default.toml` is this text. */

import type { TSchema } from '@sinclair/typebox';
import { NODE_ROLES } from '../lib/roles.js';
import { wrap } from '../lib/wrap.js';
import { envName, isGroup, type OptionMarks } from './options.js';
import { ConfigSchema } from './schema.js';
import { isRecord } from './values.js';

/** Line length of the sample, in characters. */
const WIDTH = 100;

const HEADER = [
  'Every option of a Tessera node, with its default. Made from the schema in src/config/schema.ts by',
  '`tessera config --sample`: change the schema, not this file.',
  '',
  'A node reads, later ones winning: the defaults; one config file (--config FILE, else TESSERA_CONFIG, else the file of',
  'its role in this folder); environment variables (the name stands with each option); flags (--set api.port=3001).',
  'Relative paths in a file start at the folder of the file; elsewhere at the working directory.',
  '',
  'A process with several roles (role = "mempool,storage") has one node for each. Options of one node are set for its',
  'role, in a section such as [role.storage.peers]; TESSERA_ROLE__STORAGE__PEERS__PORT and --set role.storage.peers.port=… do',
  'the same. There, api.port is the port of the shared address, and node.data_dir holds the folders of all nodes.',
];

export function sampleConfig(): string {
  const lines = [...HEADER.map(comment), ''];
  addGroup(lines, ConfigSchema.properties, []);
  return `${lines.join('\n').replace(/\n+$/, '')}\n`;
}

function addGroup(lines: string[], properties: Readonly<Record<string, TSchema>>, parents: readonly string[]): void {
  for (const [key, schema] of Object.entries(properties)) {
    if (!isGroup(schema)) addOption(lines, key, schema, envName([...parents, key]));
  }
  for (const [key, schema] of Object.entries(properties)) {
    if (!isGroup(schema)) continue;
    const keys = [...parents, key];
    lines.push(...wrap(schema.description ?? '', WIDTH).map(comment), `[${keys.join('.')}]`, '');
    addGroup(lines, schema.properties, keys);
  }
}

function addOption(lines: string[], key: string, schema: TSchema & Partial<OptionMarks>, env: string): void {
  lines.push(...wrap(schema.description ?? '', WIDTH).map(comment));
  const bounds = boundsOf(schema);
  if (bounds !== '') lines.push(...wrap(bounds, WIDTH).map(comment));
  if (schema.live === true) lines.push(comment('A running node takes a new value at SIGHUP.'));
  lines.push(comment(env));
  if (schema.roleDefaults !== undefined) {
    for (const role of NODE_ROLES) lines.push(`#${key} = ${tomlValue(schema.roleDefaults[role])}  # ${role}`);
  } else {
    const example = schema.example ?? placeholder(schema);
    lines.push(schema.default === undefined ? `#${key} = ${example}` : `#${key} = ${tomlValue(schema.default)}`);
    if (schema.default !== undefined && schema.example !== undefined) lines.push(`#${key} = ${schema.example}`);
  }
  lines.push('');
}

function boundsOf(schema: TSchema & Partial<OptionMarks>): string {
  if (schema.enum !== undefined) return `One of: ${schema.enum.join(', ')}.`;
  if (schema.type === 'integer')
    return `${schema.minimum} to ${schema.maximum}${schema.unit ? ` ${schema.unit}` : ''}.`;
  return '';
}

function placeholder(schema: TSchema & Partial<OptionMarks>): string {
  if (schema.type === 'integer') return String(schema.minimum ?? 0);
  if (schema.enum !== undefined) return tomlValue(schema.enum[0]);
  return tomlValue('');
}

function comment(line: string): string {
  return line === '' ? '#' : `# ${line}`;
}

export function tomlValue(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(tomlValue).join(', ')}]`;
  if (isRecord(value)) {
    const members = Object.entries(value).map(([key, member]) => `${key} = ${tomlValue(member)}`);
    return `{ ${members.join(', ')} }`;
  }
  return typeof value === 'string' ? JSON.stringify(value) : String(value);
}
