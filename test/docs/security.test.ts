/** The claims of SECURITY.md: each names a file and a test in it, and both are there. */

import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = (file: string): string => fileURLToPath(new URL(`../../${file}`, import.meta.url));
const page = readFileSync(root('SECURITY.md'), 'utf8');

const claims = [...page.matchAll(/^\| (.+) \| `(test\/[^`]+)` \| (.+) \|$/gm)].map(
  ([, claim = '', file = '', test = '']) => ({
    claim,
    file,
    test,
  }),
);

describe('the claims of SECURITY.md', () => {
  it('are many, and no row of their table is left out here', () => {
    const table = /\n\| claim \| file \| test \|\n\|---\|---\|---\|\n((?:\|.*\n)+)/.exec(page)?.[1] ?? '';
    expect(claims.length).toBe(table.trimEnd().split('\n').length);
    expect(claims.length).toBeGreaterThan(30);
  });

  it.each(claims.map((one) => [one.claim, one] as const))('%s', (_claim, { file, test }) => {
    expect(existsSync(root(file)), file).toBe(true);
    expect(readFileSync(root(file), 'utf8')).toContain(test);
  });
});
