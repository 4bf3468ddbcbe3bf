/** `tessera openapi`: writes the OpenAPI documents from the operations, or checks that the files are up to date. */

import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openApiFiles } from '../api/openapi/document.js';
import { flag, type OwnCommand, printed } from './command.js';

const DEFAULT_FOLDER = 'openapi';

export const command: OwnCommand = {
  spec: {
    description: [
      'Writes one document for the whole API and one for each role, from the definitions of the operations.',
    ],
    flags: [
      flag('--out FOLDER', 'Where the documents are. Default: openapi.'),
      flag('--check', 'Writes nothing; fails when a file differs.'),
    ],
    examples: {
      'tessera openapi': 'Writes openapi/*.json.',
      'tessera openapi --check': 'Checks that they are up to date.',
    },
    exits: { 1: 'a file differs (--check)' },
  },
  async run(args, context) {
    const folder = args.value('out') ?? DEFAULT_FOLDER;
    const files = openApiFiles();
    const documents = files.map(({ name }) => name);
    if (!args.has('check')) {
      await mkdir(folder, { recursive: true });
      for (const { name, text } of files) await writeFile(join(folder, name), text);
      return printed(args, context, { folder, documents, stale: [] }, `${files.length} documents written to ${folder}`);
    }
    const stale: string[] = [];
    for (const { name, text } of files) {
      if ((await readFile(join(folder, name), 'utf8').catch(() => '')) !== text) stale.push(name);
    }
    const isFresh = stale.length === 0;
    const text = isFresh
      ? `${files.length} documents are up to date`
      : `${stale.join(', ')} differ from the operations: run tessera openapi`;
    printed(args, context, { folder, documents, stale }, text);
    return isFresh ? 0 : 1;
  },
};
