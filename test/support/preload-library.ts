/** Libraries for LD_PRELOAD, compiled from C when a test needs them. Needs Linux with glibc and a C compiler. */

import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile, rename } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, extname, join } from 'node:path';
import { promisify } from 'node:util';
import { findTool } from './tools.js';

/** False where tests with such libraries are left out. */
export const canPreload = process.platform === 'linux' && findTool('cc') !== undefined;

/** The library of these sources and headers, compiled once for each state of them; it is named after the last source. */
export async function preloadLibrary(files: readonly string[]): Promise<string> {
  const compiler = findTool('cc');
  if (compiler === undefined) throw new Error('no C compiler');
  const hash = createHash('sha256');
  for (const file of files) hash.update(await readFile(file));
  const name = `tessera-${basename(files.at(-1) ?? '', '.c')}-${process.getuid?.()}-${hash.digest('hex').slice(0, 16)}`;
  const library = join(tmpdir(), `${name}.so`);
  if (existsSync(library)) return library;
  const made = `${library}.${process.pid}`;
  const sources = files.filter((file) => extname(file) === '.c');
  await promisify(execFile)(compiler, ['-O2', '-shared', '-fPIC', '-o', made, ...sources, '-ldl', '-lpthread']);
  // Two tests may compile at once.
  await rename(made, library);
  return library;
}
