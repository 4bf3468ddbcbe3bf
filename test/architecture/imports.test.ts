/** The import rule of ARCHITECTURE.md, read from the code: imports go downwards only. */

import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const SRC = fileURLToPath(new URL('../../src/', import.meta.url));

/** From the bottom to the top. A folder may import from the rows below its own, and from itself. */
const LAYERS: readonly (readonly string[])[] = [
  ['lib'],
  ['crypto'],
  ['chain'],
  ['db', 'observability', 'config'],
  ['journal', 'ledger', 'peers', 'wallet'],
  ['mempool', 'storage', 'miner', 'user'],
  ['api'],
  ['client'],
  ['sdk'],
  ['node'],
  ['cli', 'testing'],
  ['start'],
  ['main'],
];

/** What the API may know of the services: their interfaces. */
const SERVICES = ['wallet', 'mempool', 'storage', 'miner', 'user'];

/** What the API must not touch at all: it calls services, never the database or the log. */
const CLOSED_TO_API = ['db', 'journal', 'ledger'];

/** A tool for small files, for the key that the API writes when none is configured. */
const OPEN_TO_API = ['db/write-file-durable.ts'];

interface Import {
  /** `api/app.ts` */
  readonly from: string;
  /** `storage/service.ts` */
  readonly to: string;
}

const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => name.split(sep).join('/'));

const imports: readonly Import[] = files.flatMap((from) => {
  const text = readFileSync(join(SRC, from), 'utf8');
  const specifiers = text.matchAll(/(?:\bfrom\s+|\bimport\s+|\bimport\(\s*)'(\.{1,2}\/[^']+)'/g);
  return [...specifiers].map(([, specifier = '']) => {
    const target = relative(SRC, join(SRC, dirname(from), specifier))
      .split(sep)
      .join('/');
    return { from, to: target.replace(/\.js$/, '.ts') };
  });
});

const folderOf = (path: string): string => path.split('/')[0]?.replace(/\.ts$/, '') ?? '';
const layerOf = (path: string): number => LAYERS.findIndex((layer) => layer.includes(folderOf(path)));
const show = ({ from, to }: Import): string => `${from} imports ${to}`;

describe('the folders of src', () => {
  it('all stand in the table', () => {
    const folders = new Set(files.map(folderOf));
    expect([...folders].filter((folder) => !LAYERS.flat().includes(folder))).toEqual([]);
  });

  it('are all there', () => {
    const present = new Set(readdirSync(SRC).map(folderOf));
    expect(LAYERS.flat().filter((folder) => !present.has(folder))).toEqual([]);
  });

  it('are described in ARCHITECTURE.md, and no others', () => {
    const text = readFileSync(join(SRC, '../ARCHITECTURE.md'), 'utf8');
    const described = [...text.matchAll(/^\| `([a-z]+)(?:\/|\.ts)` \|/gm)].map(([, name]) => name);
    expect([...described].sort()).toEqual([...LAYERS.flat()].sort());
  });
});

describe('imports', () => {
  it('are found at all', () => {
    expect(imports.length).toBeGreaterThan(100);
  });

  it('go downwards only', () => {
    const upward = imports.filter(({ from, to }) => folderOf(from) !== folderOf(to) && layerOf(to) >= layerOf(from));
    expect(upward.map(show)).toEqual([]);
  });

  it('let the API see services through their interfaces only', () => {
    const deep = imports.filter(
      ({ from, to }) =>
        folderOf(from) === 'api' &&
        ((CLOSED_TO_API.includes(folderOf(to)) && !OPEN_TO_API.includes(to)) ||
          (SERVICES.includes(folderOf(to)) && !to.endsWith('/service.ts'))),
    );
    expect(deep.map(show)).toEqual([]);
  });

  it('of the chain reach for nothing that only Node.js has (docs/adr/0008-chain-in-a-browser.md)', () => {
    const platform = files.filter(
      (file) => folderOf(file) === 'chain' && /'node:|\bBuffer[.(<]/.test(readFileSync(join(SRC, file), 'utf8')),
    );
    expect(platform).toEqual([]);
  });

  it('never form a circle between files, imports of types included', () => {
    expect(findCircle()).toEqual([]);
  });
});

/** The files of a circle of imports, those of types included; empty when there is none. */
function findCircle(): string[] {
  const edges = new Map<string, string[]>(files.map((file) => [file, []]));
  for (const { from, to } of imports) edges.get(from)?.push(to);
  const done = new Set<string>();
  const visit = (file: string, path: readonly string[]): string[] => {
    const start = path.indexOf(file);
    if (start >= 0) return [...path.slice(start), file];
    if (done.has(file)) return [];
    for (const next of edges.get(file) ?? []) {
      const circle = visit(next, [...path, file]);
      if (circle.length > 0) return circle;
    }
    done.add(file);
    return [];
  };
  for (const file of files) {
    const circle = visit(file, []);
    if (circle.length > 0) return circle;
  }
  return [];
}
