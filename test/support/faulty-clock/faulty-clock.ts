/** Clocks that jump when a test says so, for processes that it starts; `faulty-clock.c` says how. */

import { mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { preloadLibrary } from '../preload-library.js';

const SOURCE = fileURLToPath(new URL('faulty-clock.c', import.meta.url));
const OFFSET_LENGTH = 8;

export class FaultyClock {
  readonly #folder: string;
  readonly #library: string;

  private constructor(folder: string, library: string) {
    this.#folder = folder;
    this.#library = library;
  }

  /** A clock that is right. `remove` it in the end. */
  static async create(): Promise<FaultyClock> {
    const library = await preloadLibrary([SOURCE]);
    const clock = new FaultyClock(await mkdtemp(join(tmpdir(), 'tessera-faulty-clock-')), library);
    await writeFile(clock.#file, Buffer.alloc(OFFSET_LENGTH));
    return clock;
  }

  /** Environment of the processes that go by this clock. */
  environment(): Record<string, string> {
    return { LD_PRELOAD: this.#library, FAULTY_CLOCK_FILE: this.#file };
  }

  /** From now on it is so many milliseconds ahead of the time, or behind it. */
  async set(milliseconds: number): Promise<void> {
    const bytes = Buffer.alloc(OFFSET_LENGTH);
    bytes.writeBigInt64LE(BigInt(milliseconds));
    const file = await open(this.#file, 'r+');
    try {
      await file.write(bytes, 0, bytes.length, 0);
    } finally {
      await file.close();
    }
  }

  async remove(): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
  }

  get #file(): string {
    return join(this.#folder, 'offset');
  }
}
