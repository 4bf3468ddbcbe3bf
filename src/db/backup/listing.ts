/** Listing of one backup: the files of a data folder with the names of their contents. */

import { type Static, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { utf8 } from '../../lib/bytes.js';
import { TesseraError } from '../../lib/errors.js';

/** The format of a folder of backups that this program writes, and the highest that it reads. */
export const BACKUP_FORMAT = 1;

/** Paths inside a data folder; nothing that leads out of it. */
const PATH = '^[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*){0,2}$';
export const CONTENT_NAME = '^[0-9a-f]{64}$';

const BackedUpFile = Type.Object({
  /** Path below the data folder, with slashes. */
  path: Type.String({ pattern: PATH, maxLength: 255 }),
  bytes: Type.Integer({ minimum: 0 }),
  content: Type.String({ pattern: CONTENT_NAME }),
  /** Time of the last change of the node's file, in nanoseconds: an unchanged table is not read again. */
  changed: Type.String({ pattern: '^[0-9]{1,20}$' }),
});
export type BackedUpFile = Static<typeof BackedUpFile>;

const Listing = Type.Object({
  format: Type.Literal(BACKUP_FORMAT),
  /** Time of the backup in milliseconds since the Unix epoch. */
  created: Type.Integer(),
  program: Type.String(),
  role: Type.String(),
  network: Type.String(),
  databases: Type.Array(Type.String({ pattern: '^[a-z][a-z0-9-]{0,31}$' })),
  files: Type.Array(BackedUpFile),
});
export type Listing = Static<typeof Listing>;

export function encodeListing(listing: Listing): Uint8Array {
  return utf8(`${JSON.stringify(listing)}\n`);
}

/** Throws `backup_invalid`, also for a listing of a newer program. */
export function decodeListing(bytes: Buffer, what: string): Listing {
  const value = parse(bytes.toString('utf8'));
  if (Value.Check(Listing, value)) {
    checkPaths(value, what);
    return value;
  }
  throw new TesseraError('backup_invalid', `${what} has a format that this program does not know`);
}

function checkPaths({ files }: Listing, what: string): void {
  const paths = new Set(files.map(({ path }) => path));
  const folders = files.flatMap(({ path }) => [...path.matchAll(/\//g)].map(({ index }) => path.slice(0, index)));
  if (paths.size === files.length && !folders.some((folder) => paths.has(folder))) return;
  throw new TesseraError('backup_invalid', `${what} lists files that cannot stand in one folder`);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
