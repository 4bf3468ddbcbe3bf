/** `tessera openapi`: writes the OpenAPI documents from the operations, or checks that the files are up to date. */

import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openApiFiles } from '../api/openapi/files.js';
import { stringifyExact } from '../lib/json.js';
import type { Command, Output } from './command.js';
import { JSON_FLAG } from './json-flag.js';

const DEFAULT_FOLDER = 'openapi';

export interface OpenApiFlags {
  readonly folder: string;
  /** Compare instead of writing. */
  readonly check: boolean;
  /** Report as JSON. */
  readonly json: boolean;
}

/** Resolves with 1 when `check` finds a file that differs, else with 0. */
export async function openapiCommand({ folder, check, json }: OpenApiFlags, stdout: Output): Promise<number> {
  const files = openApiFiles();
  const say = (text: string, stale: readonly string[]): void => {
    const documents = files.map(({ name }) => name);
    stdout.write(json ? `${stringifyExact({ folder, documents, stale })}\n` : text);
  };
  if (!check) {
    await mkdir(folder, { recursive: true });
    for (const { name, text } of files) await writeFile(join(folder, name), text);
    say(`${files.length} documents written to ${folder}\n`, []);
    return 0;
  }
  const stale: string[] = [];
  for (const { name, text } of files) {
    if ((await readOrEmpty(join(folder, name))) !== text) stale.push(name);
  }
  say(
    stale.length === 0
      ? `${files.length} documents are up to date\n`
      : `${stale.join(', ')} differ from the operations: run tessera openapi\n`,
    stale,
  );
  return stale.length === 0 ? 0 : 1;
}

async function readOrEmpty(path: string): Promise<string> {
  return readFile(path, 'utf8').catch(() => '');
}

export const command: Command = {
  spec: {
    name: 'openapi',
    summary: 'Writes the OpenAPI documents of the API',
    description: [
      'Writes one document for the whole API and one for each role, from the definitions of the operations.',
    ],
    flags: [
      { name: 'out', value: 'FOLDER', description: 'Where the documents are. Default: openapi.' },
      { name: 'check', description: 'Writes nothing; fails when a file differs.' },
      JSON_FLAG,
    ],
    examples: [
      { line: 'tessera openapi', does: 'Writes openapi/*.json.' },
      { line: 'tessera openapi --check', does: 'Checks that they are up to date.' },
    ],
    exits: { 1: 'a file differs (--check)' },
  },
  run: (args, { stdout }) =>
    openapiCommand(
      { folder: args.value('out') ?? DEFAULT_FOLDER, check: args.has('check'), json: args.has('json') },
      stdout,
    ),
};
