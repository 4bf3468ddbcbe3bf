/** The import rule of the pages: a site knows itself and what is shared, and of the program what runs in a browser. */

import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** What pages may import from each folder of `web/`, and from the program. */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  'web/explorer': [
    'web/explorer',
    'web/shared',
    'src/lib',
    'src/crypto',
    'src/chain',
    'src/sdk',
    'src/api/pages/page-paths.ts',
  ],
  'web/wallet': [
    'web/wallet',
    'web/shared',
    'src/lib',
    'src/crypto',
    'src/chain',
    'src/client/payment-uri.ts',
    'src/client/repeat.ts',
    'src/sdk',
    'src/api/pages/page-paths.ts',
  ],
  'web/docs': ['web/docs', 'web/shared', 'src/lib'],
  'web/shared': ['web/shared', 'src/lib', 'src/crypto', 'src/chain', 'src/sdk'],
};

const posix = (path: string): string => path.split(sep).join('/');
const files = Object.keys(ALLOWED).flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => ({ folder, file: posix(join(folder, name)) })),
);

const imports = files.flatMap(({ folder, file }) => {
  const text = readFileSync(join(ROOT, file), 'utf8');
  return [...text.matchAll(/(?:\bfrom\s+|\bimport\s+|\bimport\(\s*)'(\.{1,2}\/[^']+)'/g)].map(([, specifier = '']) => ({
    folder,
    file,
    target: posix(relative(ROOT, join(ROOT, dirname(file), specifier))).replace(/\.js$/, '.ts'),
  }));
});

describe('the pages', () => {
  it('have imports at all', () => {
    expect(imports.length).toBeGreaterThan(20);
  });

  it('import what they may', () => {
    const others = imports.filter(
      ({ folder, target }) =>
        !ALLOWED[folder]?.some((allowed) => target === allowed || target.startsWith(`${allowed}/`)),
    );
    expect(others.map(({ file, target }) => `${file} imports ${target}`)).toEqual([]);
  });

  it('use no package but those for pages, and nothing of Node.js, whose types the program in them needs', () => {
    const others = files.flatMap(({ file }) => {
      const text = readFileSync(join(ROOT, file), 'utf8');
      const packages = [...text.matchAll(/^(?:import|export)(?:[^'";=(]*?\bfrom)? '([^'./][^']*)';/gm)].map(
        ([, name]) => name,
      );
      const globals = text.match(/\b(?:Buffer|process)\b\./g) ?? [];
      return [...packages, ...globals].map((name) => `${file} uses ${name}`);
    });
    expect(
      others.filter((use) => !/ uses (?:preact|preact\/hooks|qr|uplot|uplot\/dist\/uPlot\.min\.css)$/.test(use)),
    ).toEqual([]);
  });

  it('turn no text into markup, and keep no key beyond the tab', () => {
    const forbidden =
      /dangerouslySetInnerHTML|\b(?:inner|outer)HTML\b|insertAdjacentHTML|document\.write|\beval\(|new Function\(/;
    const found = files.filter(({ file }) => forbidden.test(readFileSync(join(ROOT, file), 'utf8')));
    expect(found.map(({ file }) => file)).toEqual([]);
  });
});
