/** The look at a database just opened: all of its logs is in it. LevelDB drops silently what it cannot read. */

import { asBuffer, equalBytes } from '../lib/bytes.js';
import { TesseraError } from '../lib/errors.js';
import { readLog } from './level-files/log.js';
import { type DatabaseFiles, logsFrom, readManifest } from './level-files/manifest.js';
import { readBatch } from './level-files/varints.js';
import { BINARY, type BinaryLevel } from './level-reader.js';
import { unsealRecord } from './record.js';
import { decodeMark, MARK_KEY, type Mark } from './seal.js';

const AT_ONCE = 1_000;

/** `mark`: of the last batch checked; `files`: before the opening, if any. Throws `database_failed`: nothing is lost. */
export async function mustHold(
  name: string,
  level: BinaryLevel,
  mark: Mark | undefined,
  files: DatabaseFiles | undefined,
): Promise<void> {
  if (mark !== undefined && (await lastNumber(level)) < mark.number) throw unread(name);
  if (files === undefined) return;
  const writes = [...(await lastWrites(files)).values()];
  for (let from = 0; from < writes.length; from += AT_ONCE) {
    const some = writes.slice(from, from + AT_ONCE);
    const records = await level.getMany(
      some.map(({ key }) => key),
      BINARY,
    );
    for (const [i, { value }] of some.entries()) if (!isSame(value, records[i])) throw unread(name);
  }
}

async function lastNumber(level: BinaryLevel): Promise<number> {
  const record = await level.get(MARK_KEY, BINARY);
  return record === undefined ? 0 : decodeMark(unsealRecord(MARK_KEY, record)).number;
}

interface Write {
  readonly key: Uint8Array;
  readonly value: Uint8Array | undefined;
}

/** The last write of each key in the logs; LevelDB keeps them at a few MiB. */
async function lastWrites(files: DatabaseFiles): Promise<ReadonlyMap<string, Write>> {
  const writes = new Map<string, Write>();
  const manifest = await readManifest(files);
  if (manifest === undefined) return writes;
  for (const log of logsFrom(manifest.logNumber, await files.list())) {
    const bytes = await files.read(log);
    if (bytes === undefined) continue;
    for (const { data } of readLog(bytes).records) {
      for (const write of readBatch(data)) writes.set(asBuffer(write.key).toString('latin1'), write);
    }
  }
  return writes;
}

function isSame(a: Uint8Array | undefined, b: Uint8Array | undefined): boolean {
  return a === undefined || b === undefined ? a === b : equalBytes(a, b);
}

function unread(name: string): TesseraError {
  return new TesseraError(
    'database_failed',
    `the system did not let all of the database ${name} be read: nothing is lost, check the disk and start again`,
    { details: { database: name } },
  );
}
