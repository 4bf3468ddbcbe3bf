/**
 * Disks that fail when a test says so, for processes that it starts: `faulty-disk.h` says what rules there are. Needs Linux
 * with glibc and a C compiler; tests are left out where there is none (`it.runIf(canMakeFaultyDisks)`).
 */

import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { findTool } from '../tools.js';

const SOURCES = ['rules.c', 'undo.c', 'calls.c'];
const HEADER = 'faulty-disk.h';

const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

export const canMakeFaultyDisks = process.platform === 'linux' && findTool('cc') !== undefined;

export class FaultyDisk {
  readonly #folder: string;
  readonly #library: string;
  #written = 0;

  private constructor(folder: string, library: string) {
    this.#folder = folder;
    this.#library = library;
  }

  /** A disk without faults yet. `remove` it in the end. */
  static async create(): Promise<FaultyDisk> {
    const library = await compiled();
    const disk = new FaultyDisk(await mkdtemp(join(tmpdir(), 'tessera-faulty-disk-')), library);
    await disk.set();
    return disk;
  }

  /**
   * Environment of the processes on this disk. With `folder`, what is not synced there is remembered for the actions `cut`
   * and `torn`.
   */
  environment(folder?: string): Record<string, string> {
    return {
      LD_PRELOAD: this.#library,
      FAULTY_DISK_RULES: this.#rules,
      ...(folder === undefined ? {} : { FAULTY_DISK_FOLDER: folder }),
    };
  }

  /** From now on these rules, and no others; none for a sound disk. They hold for the next file call of each process. */
  async set(...rules: readonly string[]): Promise<void> {
    const next = `${this.#rules}.${this.#written++}`;
    await writeFile(next, `${rules.join('\n')}\n`);
    await rename(next, this.#rules);
  }

  /** What the rules did so far, `ACTION OPERATION PATH` for each call. */
  async hits(): Promise<string[]> {
    const text = await readFile(`${this.#rules}.log`, 'utf8').catch(() => '');
    return text.split('\n').filter((line) => line !== '');
  }

  async remove(): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
  }

  get #rules(): string {
    return join(this.#folder, 'rules');
  }
}

/** The library, compiled once for each state of its sources. */
async function compiled(): Promise<string> {
  const compiler = findTool('cc');
  if (compiler === undefined) throw new Error('no C compiler');
  const hash = createHash('sha256');
  for (const name of [...SOURCES, HEADER]) hash.update(await readFile(here(name)));
  const library = join(tmpdir(), `tessera-faulty-disk-${process.getuid?.()}-${hash.digest('hex').slice(0, 16)}.so`);
  if (existsSync(library)) return library;
  const made = `${library}.${process.pid}`;
  const flags = ['-O2', '-shared', '-fPIC', '-o', made];
  await promisify(execFile)(compiler, [...flags, ...SOURCES.map(here), '-ldl', '-lpthread']);
  // Two tests may compile at once.
  await rename(made, library);
  return library;
}
