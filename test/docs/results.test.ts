/** The pages of docs/results: one for each kind of run, the latest, which says what was run, of which commit, and when. */

import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const folder = fileURLToPath(new URL('../../docs/results/', import.meta.url));
const read = (name: string): string => readFileSync(`${folder}${name}`, 'utf8');
const pages = readdirSync(folder).filter((name) => name !== 'README.md');

it.each(pages)('%s is a page of one kind of run, with command, commit and date', (name) => {
  expect(name).not.toMatch(/\d{4}/);
  const [, , header = '', , ...rows] = read(name).split('\n');
  expect(header).toMatch(/^\| command \| commit \| date \|/);
  const runs = rows.slice(0, rows.indexOf(''));
  expect(runs.length).toBeGreaterThan(0);
  for (const run of runs) expect(run).toMatch(/^\| `[^`]+`[^|]* \| [0-9a-f]{7} \| \d{4}-\d\d-\d\d/);
});

it('are all in their list', () => {
  const listed = [...read('README.md').matchAll(/\]\(([^)]+)\)/g)].map(([, name]) => name);
  expect(listed.sort()).toEqual([...pages].sort());
});
