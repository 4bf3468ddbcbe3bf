/**
 * The package that `npm pack` makes of this checkout, in a folder of its own as an installation has it. What it depends on is
 * linked from here rather than fetched, and only what it says it depends on: a package that it forgets to name is missing there.
 */

import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const execute = promisify(execFile);
const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** What the package says of itself, as far as tests look at it. */
export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly bin: Readonly<Record<string, string>>;
  readonly exports: Readonly<Record<string, ExportTarget>>;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

/** A file, or a file for each condition. */
export type ExportTarget = string | { readonly [condition: string]: ExportTarget };

export interface PackedFile {
  readonly path: string;
  readonly size: number;
}

export interface InstalledPackage {
  /** The folder of a project that has the package among its modules. */
  readonly folder: string;
  /** What is in the archive. */
  readonly files: readonly PackedFile[];
  /** Bytes of the archive. */
  readonly size: number;
  readonly manifest: Manifest;
  remove(): Promise<void>;
}

/** Packs what is built; builds nothing. */
export async function installPackage(): Promise<InstalledPackage> {
  const folder = await mkdtemp(join(tmpdir(), 'tessera-package-'));
  const modules = join(folder, 'node_modules');
  const packing = ['pack', '--ignore-scripts', '--json', '--pack-destination', folder];
  const { stdout } = await execute('npm', packing, { cwd: ROOT, maxBuffer: 16 * 1024 * 1024 });
  const [{ filename, files, size }] = JSON.parse(stdout) as [
    { readonly filename: string; readonly files: readonly PackedFile[]; readonly size: number },
  ];
  await writeFile(join(folder, 'package.json'), JSON.stringify({ name: 'project', private: true, type: 'module' }));
  const unpacked = join(modules, 'tessera-node');
  await mkdir(join(modules, '.bin'), { recursive: true });
  await mkdir(unpacked);
  await execute('tar', ['-xzf', join(folder, filename), '-C', unpacked, '--strip-components=1']);
  const manifest = JSON.parse(await readFile(join(unpacked, 'package.json'), 'utf8')) as Manifest;
  for (const [name, file] of Object.entries(manifest.bin)) {
    await chmod(join(unpacked, file), 0o755);
    await symlink(join('..', 'tessera-node', file), join(modules, '.bin', name));
  }
  for (const name of Object.keys(manifest.dependencies)) await link(name, modules);
  for (const name of Object.keys(manifest.optionalDependencies ?? {})) {
    if (await isThere(join(ROOT, 'node_modules', name))) await link(name, modules);
  }
  return { folder, files, size, manifest, remove: () => rm(folder, { recursive: true, force: true }) };
}

async function link(name: string, modules: string): Promise<void> {
  await mkdir(dirname(join(modules, name)), { recursive: true });
  await symlink(join(ROOT, 'node_modules', name), join(modules, name));
}

function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
