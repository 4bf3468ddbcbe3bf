/** Reads a file named by a person, of bounded size. For a folder, a device or a silent pipe, the error says what it is. */

import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { open } from 'node:fs/promises';

/** Most bytes of a file with a secret, which is a line: the longest passphrase has 1,024 characters of four bytes. */
export const MAX_SECRET_FILE = 8 * 1024;
/** Most bytes of a file that people write: a configuration, certificates. */
export const MAX_WRITTEN_FILE = 1024 * 1024;
/** Most bytes of a file that a program wrote for a command: transactions, key pairs, a backup of a wallet, block 0. */
export const MAX_DOCUMENT_FILE = 64 * 1024 * 1024;

/** Bytes that are reserved beyond the size of a file; what is still longer gets twice the room. */
const MORE_BYTES = 4 * 1024;
/** Milliseconds between two looks into a pipe. */
const LOOK_EVERY_MS = 20;

/** Looks into a pipe that find nothing, after which it is given up: no program writes to it, or one does that may be asking for a passphrase. */
export interface Patience {
  readonly noWriter: number;
  readonly silentWriter: number;
}

/** Patience of two seconds without a writer, and a minute with a silent one. */
const PATIENCE: Patience = { noWriter: 100, silentWriter: 3_000 };

/** The content of the file. Throws the system's error, or one that says what the file is; neither names an option. */
export function readBounded(path: string, maxBytes: number, patience = PATIENCE): Buffer {
  // Opening a pipe without O_NONBLOCK waits for a writer for ever.
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stats = fstatSync(file);
    if (stats.isDirectory()) throw new Error(`${path} is a folder; name a file in it`);
    if (stats.size > maxBytes) throw tooLarge(path, maxBytes);
    return readToEnd(file, path, maxBytes, stats.isFIFO() ? patience : undefined);
  } finally {
    closeSync(file);
  }
}

/** The content as UTF-8 text; throws as `readBounded`. */
export function readBoundedText(path: string, maxBytes: number): string {
  return readBounded(path, maxBytes).toString('utf8');
}

function readToEnd(file: number, path: string, maxBytes: number, patience: Patience | undefined): Buffer {
  // More than its size reveals its end; a file may grow while it is read, and pipes and devices have no size.
  let bytes = Buffer.allocUnsafe(fstatSync(file).size + MORE_BYTES);
  const looks = { none: 0, silent: 0 };
  let length = 0;
  for (;;) {
    const count = readSome(file, bytes, length);
    if (count === undefined) {
      looks.silent += 1;
      if (looks.silent > (patience ?? PATIENCE).silentWriter) throw new Error(`${path} gives nothing; name a file`);
      pause();
    } else if (count > 0) {
      length += count;
      looks.silent = 0;
      if (length > maxBytes) throw tooLarge(path, maxBytes);
      if (length === bytes.length) bytes = Buffer.concat([bytes, Buffer.allocUnsafe(length)]);
    } else if (patience !== undefined && length === 0) {
      looks.none += 1;
      if (looks.none > patience.noWriter) {
        throw new Error(`${path} is a pipe into which no program writes; name a file`);
      }
      pause();
    } else {
      return bytes.subarray(0, length);
    }
  }
}

/** The number of bytes read, 0 at the end; undefined when a pipe or terminal has no bytes yet. */
function readSome(file: number, bytes: Buffer, at: number): number | undefined {
  try {
    return readSync(file, bytes, at, bytes.length - at, null);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return undefined;
    throw error;
  }
}

/** Blocks the whole program, which needs the file's content before anything else. */
function pause(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LOOK_EVERY_MS);
}

function tooLarge(path: string, maxBytes: number): Error {
  return new Error(`${path} holds more than ${maxBytes} bytes; is it the right file?`);
}

/** All bytes of the file. A failing disk may give fewer, and its error only with the next call, which Node's `readFile` takes for the end. */
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
