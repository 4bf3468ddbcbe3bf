/** The checks that a backup must pass before it counts, and again when it is restored: those of a node that starts. */

import { checkFiles } from '../level-files/check-files.js';
import { type DatabaseFiles, FolderFiles } from '../level-files/manifest.js';
import { type Mark, readSeal, sealIn, sealPath } from '../seal.js';
import type { BackupStore } from './backup-store.js';
import type { BackedUpFile } from './listing.js';

/** Checks a database against its MANIFEST and seal; tables were checked before. Throws `data_corrupt`, `data_lost`. */
export async function checkBackedUp(name: string, files: readonly BackedUpFile[], store: BackupStore): Promise<void> {
  const seal = files.find(({ path }) => path === `db/${name}.seal`);
  const sealed = seal && sealIn(await store.read(seal.content));
  await checkFiles(name, new BackedUpFiles(`db/${name}/`, files, store), {
    tableBytes: 0,
    sealed,
    wayBack: 'take the backup again, and check the node with tessera verify',
  });
}

/** Checks every byte of a restored database. Throws `data_corrupt` or `data_lost`. */
export async function checkRestored(path: string, name: string): Promise<void> {
  const sealed: Mark | undefined = await readSeal(sealPath(path));
  await checkFiles(name, new FolderFiles(path), {
    tableBytes: Number.POSITIVE_INFINITY,
    sealed,
    wayBack: 'use another backup',
  });
}

class BackedUpFiles implements DatabaseFiles {
  readonly #files: ReadonlyMap<string, BackedUpFile>;
  readonly #store: BackupStore;

  constructor(folder: string, files: readonly BackedUpFile[], store: BackupStore) {
    const inside = files.filter(({ path }) => path.startsWith(folder));
    this.#files = new Map(inside.map((file) => [file.path.slice(folder.length), file]));
    this.#store = store;
  }

  async list(): Promise<readonly string[]> {
    return [...this.#files.keys()];
  }

  async read(name: string): Promise<Buffer | undefined> {
    const file = this.#files.get(name);
    return file && this.#store.read(file.content);
  }

  async size(name: string): Promise<number | undefined> {
    return this.#files.get(name)?.bytes;
  }

  /** Changes nothing: the node drops a write that was unfinished when its log was copied, as it opens the restored database. */
  async cut(): Promise<void> {}
}
