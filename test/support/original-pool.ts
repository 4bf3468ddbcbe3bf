/** Databases of original mempool nodes, with what waits in them. */

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { encodeRecord } from '../../src/db/level-files/log.js';
import { encodeSlice } from '../../src/db/level-files/varints.js';
import { atOnce } from '../../src/lib/pieces.js';

/** Columns of the database of the original node have numbers; kind 5 puts into one of them. */
const PUT_INTO_COLUMN = 5;

/** A database whose log puts these into columns. */
export function poolFolder(path: string, values: readonly (readonly [string, Uint8Array])[]): string {
  const header = Buffer.alloc(12);
  header.writeUInt32LE(values.length, 8);
  const writes = values.flatMap(([key, value]) => [
    Uint8Array.of(PUT_INTO_COLUMN, 2, ...encodeSlice(Buffer.from(key))),
    Uint8Array.from(encodeSlice(value)),
  ]);
  mkdirSync(path);
  writeFileSync(join(path, '000004.log'), atOnce(encodeRecord(Buffer.concat([header, ...writes]), 0)));
  return path;
}
