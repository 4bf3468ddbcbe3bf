/**
 * Stands for the data folders of stopped nodes (`src/db/data-dir.ts`, `src/db/level-kv.ts`), as the commands of an operator open them: their
 * databases are on the disks of a world.
 */

import type { Kv } from '../../../src/db/kv.js';
import { databaseAt } from './disk.js';

/** `/world/MACHINE/db/NAME` is the database NAME; one in a folder below has the name of that folder before its own. */
const PLACE = /^(\/world\/[^/]+)\/(?:(.+)\/)?db\/(.+)$/;

export const DEFAULT_WAY_BACK = 'a world has none';

function open(path: string): Kv {
  const [, machine = '', below, name = ''] = PLACE.exec(path) ?? [];
  return databaseAt(machine, below === undefined ? name : `${below}/${name}`);
}

// biome-ignore lint/complexity/noStaticOnlyClass: the class that it stands for is more than that.
export class LevelKv {
  static async open(path: string): Promise<Kv> {
    return open(path);
  }
}

export class DataDir {
  readonly path: string;
  readonly #opened: Kv[] = [];

  private constructor(path: string) {
    this.path = path;
  }

  static async open(path: string): Promise<DataDir> {
    return new DataDir(path);
  }

  async open(name: string): Promise<Kv> {
    const kv = open(`${this.path}/db/${name}`);
    this.#opened.push(kv);
    return kv;
  }

  adopt(): void {}

  async close(): Promise<void> {
    for (const kv of this.#opened) await kv.close();
  }
}
