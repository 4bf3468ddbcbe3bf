/**
 * Files of tests share their processes: one that replaces a module would replace it for others, and needs a process of its own; and what several
 * import is run once, for the first of them.
 */

import { readdirSync, readFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { REPLACE_MODULES } from '../../vitest.config.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

const filesOf = (isTest: boolean): string[] =>
  readdirSync(join(ROOT, 'test'), { recursive: true, encoding: 'utf8' }).filter(
    (name) => name.endsWith('.ts') && name.endsWith('.test.ts') === isTest,
  );
const textOf = (name: string): string => readFileSync(join(ROOT, 'test', name), 'utf8');

it('names every test that replaces a module, or imports one of ours for what it changes', () => {
  const replacing = filesOf(true).filter((name) => /^(vi\.(mock|doMock)\(|import '\.)/m.test(textOf(name)));
  expect(replacing.map((name) => join('test', name).split(sep).join('/')).sort()).toEqual([...REPLACE_MODULES].sort());
});

it('finds no hook in what tests import: it would be one of the first file that imports it, and what the others leave would stay', () => {
  const hooked = filesOf(false).filter((name) => /^(before|after)(Each|All)\(/m.test(textOf(name)));
  expect(hooked).toEqual([]);
});
