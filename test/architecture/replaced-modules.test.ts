/** Files of tests share their processes: one that replaces a module would replace it for others, and needs a process of its own. */

import { readdirSync, readFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { REPLACE_MODULES } from '../../vitest.config.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

it('names every test that replaces a module, or imports one of ours for what it changes', () => {
  const files = readdirSync(join(ROOT, 'test'), { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.test.ts'),
  );
  const replacing = files.filter((name) =>
    /^(vi\.(mock|doMock)\(|import '\.)/m.test(readFileSync(join(ROOT, 'test', name), 'utf8')),
  );
  expect(replacing.map((name) => join('test', name).split(sep).join('/')).sort()).toEqual([...REPLACE_MODULES].sort());
});
