/** The marker of a data directory: its format, role, network and databases; and the note of a restore that is not finished. */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { utf8 } from '../lib/bytes.js';
import { TesseraError } from '../lib/errors.js';
import { readWhole } from '../lib/read-bounded.js';
import { ifMissing } from '../lib/system-error.js';
import { writeFileDurable } from './write-file-durable.js';

/** The format of this program's data directories; raised, with a migration, when an older program would misread what is written. */
export const DATA_FORMAT = 3;

/** Name of the marker in the data directory. */
export const MARKER_FILE = 'tessera.json';
const MARKER_MODE = 0o600;

const MarkerFile = Type.Object({
  format: Type.Integer({ minimum: 1 }),
  role: Type.String(),
  network: Type.String(),
  created: Type.Integer(),
  databases: Type.Array(Type.String()),
  /** CRC-32 of the JSON of the members before it. */
  checksum: Type.Integer(),
});

export interface Marker {
  readonly format: number;
  readonly role: string;
  readonly network: string;
  /** Time of creation in milliseconds since the Unix epoch. */
  readonly created: number;
  /** Names of the databases, in order. */
  readonly databases: readonly string[];
}

/** The marker of a data directory; undefined when it has none. Throws `data_corrupt` when it is damaged. */
export async function readMarker(path: string): Promise<Marker | undefined> {
  const file = join(path, MARKER_FILE);
  const content = await readWhole(file).catch(ifMissing);
  if (content === undefined) return undefined;
  const { checksum, ...rest } = parse(file, content.toString('utf8'));
  const marker = ordered(rest);
  if (checksum !== crc32(JSON.stringify(marker))) throw damaged(file);
  return marker;
}

export async function writeMarker(path: string, marker: Marker): Promise<void> {
  const content = ordered(marker);
  const checked = { ...content, checksum: crc32(JSON.stringify(content)) };
  await writeFileDurable(join(path, MARKER_FILE), utf8(`${JSON.stringify(checked, null, 2)}\n`), MARKER_MODE);
}

/** The members of a marker in the order in which the checksum covers them. */
function ordered({ format, role, network, created, databases }: Marker): Marker {
  return { format, role, network, created, databases };
}

function parse(file: string, text: string): Marker & { readonly checksum: number } {
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch {
    throw damaged(file);
  }
  if (!Value.Check(MarkerFile, content)) throw damaged(file);
  return content;
}

function damaged(file: string): TesseraError {
  return new TesseraError(
    'data_corrupt',
    `the marker file ${file} is damaged: restore it from a backup, and keep the directory until then`,
  );
}

export const RESTORE_NOTE = 'restoring';

/** Throws `data_dir_invalid` while the restore of the folder is not finished: a node would mistake a part for the whole. */
export async function refuseHalfRestored(path: string): Promise<void> {
  const note = await readFile(join(path, RESTORE_NOTE), 'utf8').catch(() => undefined);
  if (note === undefined) return;
  throw new TesseraError(
    'data_dir_invalid',
    `the data directory ${path} is being restored, or a restore was interrupted (${note.trimEnd()}): run tessera restore again`,
  );
}
