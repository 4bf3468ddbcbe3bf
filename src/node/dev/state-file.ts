/**
 * The state file of a dev network (`--state`): the folders of its stopped nodes and the record of the chain. First a
 * line with format and checksum, then a line of JSON with names and sizes, then the files, compressed.
 */

import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { sha3Hex } from '../../crypto/sha3.js';
import { makeFolder, writeFileDurable } from '../../db/write-file-durable.js';
import { utf8 } from '../../lib/bytes.js';
import { errorMessage, TesseraError } from '../../lib/errors.js';
import { readWhole } from '../../lib/read-bounded.js';
import { NODE_ROLES } from '../../lib/roles.js';
import { ifMissing } from '../../lib/system-error.js';
import { CHAIN_FILES } from './dev-record.js';
import { LOCK } from './snapshots.js';

const KIND = 'tessera-dev-state';
const FORMAT = 1;
const FIRST_LINE = /^tessera-dev-state ([0-9]{1,9}) ([0-9a-f]{64})\n/;
const FIRST_LINE_LENGTH = 100;
const OWNER_ONLY = 0o600;
const OWNER_ONLY_FOLDER = 0o700;
const MAX_CONTENT = 1024 * 1024 * 1024;
/** Pattern of names in a state file: files of nodes and of the chain, nothing outside of the folder. */
const PATH = new RegExp(`^(${CHAIN_FILES.join('|')}|(${NODE_ROLES.join('|')})(/[A-Za-z0-9_-][A-Za-z0-9._-]*)+)$`);

const Header = Type.Object({
  /** Number of the last block, and Unix seconds on the clock of the chain. */
  height: Type.Integer(),
  time: Type.Integer(),
  files: Type.Array(
    Type.Object({ path: Type.String({ maxLength: 256 }), bytes: Type.Integer({ minimum: 0, maximum: MAX_CONTENT }) }),
    { maxItems: 100_000 },
  ),
});

export interface StateFacts {
  readonly height: number;
  readonly time: number;
}

/** Writes the contents of the network's folder, whose nodes must not run; resolves with the size of the file. */
export async function writeState(file: string, folder: string, { height, time }: StateFacts): Promise<number> {
  const paths = await filesIn(folder);
  const contents: Buffer[] = [];
  for (const path of paths) contents.push(await readWhole(join(folder, path)));
  const size = contents.reduce((sum, { length }) => sum + length, 0);
  if (size > MAX_CONTENT) {
    throw new TesseraError(
      'write_failed',
      `the chain has ${size} bytes, and a state file holds ${MAX_CONTENT}: use --data`,
    );
  }
  const files = paths.map((path, i) => ({ path: path.split(sep).join('/'), bytes: contents[i]?.length ?? 0 }));
  const packed = await promisify(gzip)(Buffer.concat(contents));
  const rest = Buffer.concat([utf8(`${JSON.stringify({ height, time, files })}\n`), packed]);
  const whole = Buffer.concat([utf8(`${KIND} ${FORMAT} ${sha3Hex(rest)}\n`), rest]);
  try {
    await makeFolder(dirname(file));
    await writeFileDurable(file, whole, OWNER_ONLY);
  } catch (cause) {
    throw new TesseraError('write_failed', `the state cannot be written to ${file}: ${errorMessage(cause)}`, { cause });
  }
  return whole.length;
}

/** Unpacks a state file into an empty folder; false when there is none. Throws `data_dir_invalid`, `data_corrupt`. */
export async function readState(file: string, folder: string): Promise<boolean> {
  const whole = await readWhole(file).catch(ifMissing);
  if (whole === undefined) return false;
  const { files, packed } = checked(file, whole);
  const size = files.reduce((sum, { bytes }) => sum + bytes, 0);
  const isWhole = size <= MAX_CONTENT && files.every(({ path }) => PATH.test(path));
  const content = isWhole && (await unpacked(packed, size));
  if (!content) throw damaged(file);
  await makeFolder(folder);
  let at = 0;
  for (const { path, bytes } of files) {
    const target = join(folder, path);
    await mkdir(dirname(target), { recursive: true, mode: OWNER_ONLY_FOLDER });
    await writeFile(target, content.subarray(at, at + bytes), { mode: OWNER_ONLY });
    at += bytes;
  }
  return true;
}

function checked(file: string, whole: Buffer) {
  const [line, format = '', checksum] = FIRST_LINE.exec(whole.subarray(0, FIRST_LINE_LENGTH).toString('latin1')) ?? [];
  if (line === undefined) throw new TesseraError('data_dir_invalid', `${file} is not the state of a dev network`);
  if (Number(format) !== FORMAT) {
    throw new TesseraError('data_dir_invalid', `${file} has format ${format}, and this program knows ${FORMAT}`);
  }
  const rest = whole.subarray(line.length);
  if (sha3Hex(rest) !== checksum) throw damaged(file);
  const end = rest.indexOf(0x0a);
  try {
    const { files } = Value.Parse(Header, JSON.parse(rest.subarray(0, end).toString('utf8')));
    return { files, packed: rest.subarray(end + 1) };
  } catch (cause) {
    throw damaged(file, cause);
  }
}

/** The unpacked bytes; undefined when they do not have that size or are damaged. */
async function unpacked(packed: Uint8Array, size: number): Promise<Buffer | undefined> {
  try {
    const content = await promisify(gunzip)(packed, { maxOutputLength: Math.max(1, size) });
    return content.length === size ? content : undefined;
  } catch {
    return undefined;
  }
}

async function filesIn(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .filter((path) => PATH.test(path.split(sep).join('/')) && !path.split(sep).some((part) => LOCK.test(part)))
    .sort();
}

function damaged(file: string, cause?: unknown): TesseraError {
  const message = `${file} is damaged: take a copy of it, or begin anew with another file`;
  return new TesseraError('data_corrupt', message, cause === undefined ? {} : { cause });
}
