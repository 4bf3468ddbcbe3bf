/** The program as `npm run build` puts it together: what a process of it loads, what it carries, and what it needs beside it. */

import { readdirSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Script } from 'node:vm';
import { describe, expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const PROGRAM = join(ROOT, 'dist/program');
const PROGRAM_TEXT = readFileSync(join(PROGRAM, 'program.cjs'), 'latin1');
/** Packages of native code, which are not copied into the program; sodium-native and snappy are loaded when they are needed. */
const NATIVE = ['@node-rs/crc32', 'classic-level', 'snappy'];
/** `import … from "x"`, `export … from "x"` and `import "x"`; not `import(…)`. */
const STATIC_IMPORT = /^(?:import|export)(?:[^'";]*?\bfrom)? "([^"]+)";/gm;
/** In sources: `import … from 'x'`, `export … from 'x'`, `import 'x'` and `import('x')`; not `import type`. */
const VALUE_IMPORT = /(?:^(?:import|export)(?! type\b)(?:[^'";]*?\bfrom)? |\bimport\()'([^']+)'/gm;

interface Lock {
  readonly packages: Readonly<
    Record<string, { readonly version?: string; readonly dev?: boolean; readonly hasInstallScript?: boolean }>
  >;
}

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly optionalDependencies: Readonly<Record<string, string>>;
  readonly allowScripts: Readonly<Record<string, boolean>>;
}

const manifest = (): Manifest => JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
const licensesOf = (folder: string): string => readFileSync(join(ROOT, 'dist', folder, 'LICENSES.txt'), 'utf8');

/** The files of the program that these load, and the packages, before any of their functions is called. */
function loadedBy(...entries: readonly string[]): {
  readonly files: ReadonlySet<string>;
  readonly packages: string[];
} {
  const files = new Set<string>();
  const packages = new Set<string>();
  const visit = (file: string): void => {
    if (files.has(file)) return;
    files.add(file);
    for (const [, name = ''] of readFileSync(file, 'utf8').matchAll(STATIC_IMPORT)) {
      if (name.startsWith('.')) visit(join(dirname(file), name));
      else if (!name.startsWith('node:')) packages.add(name);
    }
  };
  for (const entry of entries) visit(join(PROGRAM, entry));
  return { files, packages: [...packages].sort() };
}

it('is installed without questions: of each package with a script, package.json says whether it may run', () => {
  const { packages }: Lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'));
  const scripted = Object.keys(packages).filter((path) => packages[path]?.hasInstallScript === true);
  const { allowScripts } = manifest();
  expect(Object.keys(allowScripts)).toEqual(scripted.map((path) => path.replace(/^.*node_modules\//, '')));
  // It builds what has no binary for this system; the others work without theirs.
  expect(Object.keys(allowScripts).filter((name) => allowScripts[name])).toEqual(['classic-level']);
});

describe('the built program', () => {
  it('is one file, with every package but those of native code (decision record 0049)', () => {
    const required = new Set(
      [...PROGRAM_TEXT.matchAll(/\brequire\("([^"]+)"\)/g)].flatMap(([, name = '']) => (isBuiltin(name) ? [] : [name])),
    );
    // What Ajv writes into code that it makes to be kept.
    for (const name of ['ajv/dist/runtime/validation_error', 'ajv-formats/dist/formats']) required.delete(name);
    expect([...required, 'snappy'].sort()).toEqual(NATIVE);
    expect(PROGRAM_TEXT).not.toMatch(/\bimport\(/);
  });

  it('has the compiled code of what nodes call beside it, which this Node.js takes', () => {
    const file = readFileSync(join(PROGRAM, 'program.cjs.code'));
    const { cachedDataRejected } = new Script(PROGRAM_TEXT, {
      filename: join(PROGRAM, 'program.cjs'),
      cachedData: file.subarray(32),
    });
    expect(cachedDataRejected).toBe(false);
    // The code of a program of which nothing was called takes a sixth.
    expect(file.length).toBeGreaterThan(2_000_000);
  });

  it('has threads that load no database and no server', () => {
    for (const worker of ['verify-worker.js', 'pow-worker.js', 'unicorn-worker.js']) {
      const { files, packages } = loadedBy(worker);
      expect([worker, packages]).toEqual([worker, []]);
      expect(files.size).toBeLessThan(25);
    }
  });

  it.each([
    ['program', ['fastify', 'ajv', '@noble/curves', '@sinclair/typebox', 'pino', 'ws']],
    ['web', ['preact', 'qr']],
  ])('carries the licenses of what it has copied into %s', (folder, names) => {
    const [, ...parts] = licensesOf(folder).split(/^## (?=\S+ - [0-9])/m);
    for (const name of names) expect(parts.some((part) => part.startsWith(`${name} - `))).toBe(true);
    // None is a heading alone.
    expect(parts.filter((part) => part.length < 500)).toEqual([]);
  });

  it('depends on each package that its code and its pages import, and on no other', () => {
    const imported = new Set<string>();
    for (const folder of ['src', 'web'])
      for (const name of readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })) {
        if (!/\.tsx?$/.test(name) || name.endsWith('vite.config.ts')) continue;
        for (const [, found = ''] of readFileSync(join(ROOT, folder, name), 'utf8').matchAll(VALUE_IMPORT))
          if (!/^(?:\.|node:)/.test(found)) imported.add(/^(?:@[^/]+\/)?[^/]+/.exec(found)?.[0] ?? found);
      }
    const { dependencies, optionalDependencies } = manifest();
    expect(Object.keys(dependencies).sort()).toEqual([...imported].sort());
    expect(Object.keys(optionalDependencies)).toEqual(['sodium-native']);
  });

  it('names first what it is built on; npm sorts them when it adds one', () => {
    expect(Object.keys(manifest().dependencies).slice(0, 4)).toEqual(['fastify', '@sinclair/typebox', 'pino', 'level']);
  });

  it('has copied nothing that package-lock.json takes for a tool of the developers', () => {
    const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as Lock;
    const installed = new Set(
      Object.entries(packages).flatMap(([place, { version, dev }]) =>
        dev === true ? [] : `${place.slice(place.lastIndexOf('node_modules/') + 'node_modules/'.length)}@${version}`,
      ),
    );
    const copied = ['program', 'web'].flatMap((folder) =>
      [...licensesOf(folder).matchAll(/^## (\S+) - (\d\S*) \(/gm)].map(([, name, version]) => `${name}@${version}`),
    );
    expect(copied.length).toBeGreaterThan(70);
    expect(copied.filter((one) => !installed.has(one))).toEqual([]);
  });

  it('has those of native code beside it in the image, and no other', () => {
    const dockerfile = readFileSync(join(ROOT, 'Dockerfile'), 'utf8');
    const [, names = ''] = /JSON\.stringify\(p\)\)" (.+)$/m.exec(dockerfile) ?? [];
    expect(names.split(' ')).toEqual(NATIVE);
  });

  it('carries the license that a part of a package has of its own', () => {
    expect(licensesOf('program')).toContain('Copyright 2008 Google Inc.');
  });
});
