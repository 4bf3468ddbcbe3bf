/** Reads a file to its end. */

import { open } from 'node:fs/promises';

/**
 * All bytes that the file has. A disk may give less at once than is asked for, and one that fails in the middle of a file gives
 * what comes before that, and the error only with the next call. So a short read does not mean the end of the file; Node's
 * `readFile` takes it for that.
 */
export async function readWhole(path: string): Promise<Buffer> {
  const file = await open(path, 'r');
  try {
    const bytes = Buffer.alloc((await file.stat()).size);
    let length = 0;
    while (length < bytes.length) {
      const { bytesRead } = await file.read(bytes, length, bytes.length - length, length);
      if (bytesRead === 0) break;
      length += bytesRead;
    }
    return bytes.subarray(0, length);
  } finally {
    await file.close();
  }
}
