/** The documents name no HTTP status that no node answers (docs/decisions.md, H1). */

import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const root = (file: string): string => fileURLToPath(new URL(`../../${file}`, import.meta.url));
const pages = [
  ...['README.md', 'ARCHITECTURE.md', 'SECURITY.md'],
  ...readdirSync(root('docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
  ...readdirSync(root('openapi')).map((name) => `openapi/${name}`),
];

it('502 is in none of them: no node is a gateway', () => {
  expect(pages.length).toBeGreaterThan(10);
  const naming = pages.filter((page) => /(?<![\d.,])502(?![\d.,]*\d)/.test(readFileSync(root(page), 'utf8')));
  expect(naming).toEqual([]);
});
