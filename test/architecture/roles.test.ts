/**
 * Nothing decides by the name of a role but the tables of roles and the roles themselves (docs/adr/0055-a-role-is-a-room.md): whoever
 * wants to know something of a role asks `src/lib/roles.ts`.
 */

import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { NODE_ROLES } from '../../src/lib/roles.js';

const SRC = fileURLToPath(new URL('../../src/', import.meta.url));
const NAME = `'(?:${NODE_ROLES.join('|')})'`;
/** Comparisons with a name, sets that have it, a name as a default, and values by name. */
const DECISION = new RegExp(
  `[!=]== ${NAME}|${NAME} [!=]==|case ${NAME}|(?:includes|has|indexOf)\\(${NAME}|\\?\\? ${NAME}|Record<NodeRole,[^=\\n]*> = \\{`,
  'g',
);

/** Beginnings of paths, and why names may decide there. */
const ALLOWED: Readonly<Record<string, string>> = {
  'cli/dev-account.ts': 'These are names of accounts of the dev network.',
  'config/dev-config.ts': 'It says which nodes the dev network has.',
  'mempool/': 'A service names the role that it talks to.',
  'miner/': 'A service names the role that it talks to.',
  'node/roles/': 'The definition of a role is its own file, and one table has them all.',
  'storage/': 'A service names the role that it talks to.',
  'user/': 'A service names the role that it talks to.',
};

it('nothing else decides by the name of a role', async () => {
  const files = (await readdir(SRC, { recursive: true })).filter((file) => file.endsWith('.ts'));
  const used = new Set<string>();
  const found: string[] = [];
  for (const file of files) {
    const text = await readFile(`${SRC}${file}`, 'utf8');
    const decisions = [...text.matchAll(DECISION)].map(([decision]) => `${file}: ${decision}`);
    const allowed = Object.keys(ALLOWED).find((beginning) => file.startsWith(beginning));
    if (allowed === undefined) found.push(...decisions);
    else if (decisions.length > 0) used.add(allowed);
  }
  expect(found).toEqual([]);
  expect([...used].sort()).toEqual(Object.keys(ALLOWED).sort());
});
