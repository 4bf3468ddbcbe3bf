/** The program as `npm run build` puts it together: what a process of it loads, what it carries, and what it needs beside it. */

import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const PROGRAM = fileURLToPath(new URL('../../dist/program', import.meta.url));
/** Packages of native code, which are not copied into the program; sodium-native is loaded by `require`. */
const NATIVE = ['@node-rs/crc32', 'classic-level', 'snappy'];
/** `import … from "x"`, `export … from "x"` and `import "x"`; not `import(…)`. */
const STATIC_IMPORT = /^(?:import|export)(?:[^'";]*?\bfrom)? "([^"]+)";/gm;

/** The same in what tsc writes, and `import(…)`. */
const ANY_IMPORT = /(?:\bfrom|\bimport) ?\(?['"]([^'"]+)['"]/g;

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

describe('the built program', () => {
  it('is a few files, with every package but those of native code (decision record 0049)', () => {
    const network = loadedBy('program.js', 'dev.js', 'dev-network.js');
    expect(network.packages).toEqual(NATIVE);
    // It was 1,300 when each module was a file.
    expect(network.files.size).toBeLessThan(160);
    expect([...network.files].join()).not.toContain('etcd');
    // A command that runs no node loads none.
    expect(loadedBy('program.js').files.size).toBeLessThan(25);
    expect(loadedBy('program.js', 'wallet.js').packages).toEqual([]);
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
    const licenses = readFileSync(join(PROGRAM, '..', folder, 'LICENSES.txt'), 'utf8');
    const [, ...parts] = licenses.split(/^## (?=\S+ - [0-9])/m);
    for (const name of names) expect(parts.some((part) => part.startsWith(`${name} - `))).toBe(true);
    // None is a heading alone.
    expect(parts.filter((part) => part.length < 500)).toEqual([]);
  });

  it('needs no more than the package depends on, and the package depends on no more', () => {
    const root = join(PROGRAM, '..', '..');
    const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    const needed = new Set<string>();
    for (const name of readdirSync(PROGRAM).filter((file) => file.endsWith('.js')))
      for (const one of loadedBy(name).packages) needed.add(one);
    const seen = new Set<string>();
    const visit = (file: string): void => {
      if (seen.has(file)) return;
      seen.add(file);
      for (const [, name = ''] of readFileSync(file, 'utf8').matchAll(ANY_IMPORT)) {
        if (name.startsWith('.')) visit(join(dirname(file), name));
        else if (/^(?:@[a-z-]+\/)?[a-z]/.test(name) && !name.startsWith('node:'))
          needed.add(/^(?:@[^/]+\/)?[^/]+/.exec(name)?.[0] ?? name);
      }
    };
    const modules = Object.values<{ default?: string }>(manifest.exports).flatMap((one) => one.default ?? []);
    expect(modules).toHaveLength(3);
    const files = [...modules, ...Object.values<string>(manifest.browser), 'deploy/healthcheck.js'];
    for (const file of files) visit(join(root, file));
    expect(Object.keys(manifest.dependencies).sort()).toEqual([...needed].sort());
    expect(Object.keys(manifest.optionalDependencies)).toEqual(['sodium-native']);
  });

  it('carries the license that a part of a package has of its own', () => {
    expect(readFileSync(join(PROGRAM, 'LICENSES.txt'), 'utf8')).toContain('Copyright 2008 Google Inc.');
  });
});
