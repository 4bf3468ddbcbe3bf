/** Values for tests that count bytes. */

import { createHash } from 'node:crypto';

const BYTES = 4_096;

/** 4 KB that cannot be compressed: what is written is what the disk has to take. */
export const recordOf = (n: number): Buffer =>
  createHash('shake256', { outputLength: BYTES }).update(String(n)).digest();
