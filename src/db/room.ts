/** Tells whether the disk takes writes again, after it has refused one. */

import { open, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';

const PROBE_FILE = 'room.tmp';
const CHUNK = Buffer.alloc(1024 * 1024);
/** Bytes that opening takes besides what is in the logs: a new MANIFEST, a new log. */
const MARGIN = 256 * 1024;

/**
 * Writes and syncs as many bytes into the folder of a database as LevelDB needs to open it, or a few more than `bytes`, and removes them
 * again. Throws the system's error when that is not possible.
 */
export async function checkRoom(path: string, bytes?: number): Promise<void> {
  const probe = join(path, PROBE_FILE);
  const file = await open(probe, 'w', 0o600);
  try {
    for (let left = (bytes ?? (await logBytes(path))) + MARGIN; left > 0; left -= CHUNK.length) {
      await file.writeFile(CHUNK.subarray(0, Math.min(left, CHUNK.length)));
    }
    await file.sync();
  } finally {
    await file.close();
    await rm(probe, { force: true });
  }
}

/** Opening moves what is in the logs into tables. */
async function logBytes(path: string): Promise<number> {
  const logs = (await readdir(path)).filter((name) => name.endsWith('.log'));
  const sizes = await Promise.all(logs.map((name) => stat(join(path, name)).then(({ size }) => size)));
  return sizes.reduce((sum, size) => sum + size, 0);
}
