/** Reads a file to its end. */

import { open } from 'node:fs/promises';

/**
 * All bytes of the file. A failing disk may give less, and the error only with the next call; Node's `readFile` takes a
 * short read for the end of the file.
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
