/** Measures the size of a folder. */

import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** Bytes of all files below `path`. Files that disappear meanwhile, as LevelDB's do, count as nothing. */
export async function folderSize(path: string): Promise<number> {
  const entries = await readdir(path, { recursive: true, withFileTypes: true }).catch(() => []);
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const sizes = await Promise.all(
    files.map((file) =>
      stat(file).then(
        ({ size }) => size,
        () => 0,
      ),
    ),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}
