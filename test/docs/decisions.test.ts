/** The table of decision records: each record once, in order, and no row without a record. */

import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const folder = fileURLToPath(new URL('../../docs/adr/', import.meta.url));
const rows = readFileSync(`${folder}README.md`, 'utf8').matchAll(/^\| \[(\d{4})\]\(([^)]+)\) \|/gm);

it('lists each decision record once, in the order of their numbers', () => {
  const records = readdirSync(folder).filter((name) => name !== 'README.md');
  expect([...rows].map(([, number, file]) => ({ number, file }))).toEqual(
    records.sort().map((file) => ({ number: file.slice(0, 4), file })),
  );
});
