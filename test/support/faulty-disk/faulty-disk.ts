/**
 * Disks that fail when a test says so, for processes that it starts: `faulty-disk.h` says what rules there are. Needs Linux
 * with glibc and a C compiler; tests are left out where there is none (`it.runIf(canMakeFaultyDisks)`).
 */

import { mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { canPreload, preloadLibrary } from '../preload-library.js';

const FILES = ['faulty-disk.h', 'rules.c', 'undo.c', 'calls.c', 'streams.c'];

const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

export const canMakeFaultyDisks = canPreload;

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
    const library = await preloadLibrary(FILES.map(here));
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
