/** Values for tests that count bytes. */

import { createHash } from 'node:crypto';

/** 4 KB that cannot be compressed: what is written is what the disk has to take. */
export function recordOf(n: number): Buffer {
  return Buffer.concat(Array.from({ length: 64 }, (_, i) => createHash('sha512').update(`${n} ${i}`).digest()));
}
