/**
 * A folder as the source of a chain: files `blocks*.json` and `transactions*.json`, each a list of `[key, data, place]` as the API of a
 * storage node gives them, the blocks in order. Only the places of the entries in a file are kept in memory.
 */

import { closeSync, existsSync, openSync, readdirSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { TesseraError } from '../../lib/errors.js';
import { type JsonValue, parseExactJson } from '../../lib/json.js';
import { type Answers, type Entries, MOST_ENTRY } from './source.js';

const CHUNK = 1024 * 1024;
/** Bytes of the shortest entry: a limit on the number of entries of a file, and so on the memory for their places. */
const LEAST_ENTRY = 32;
const KEY = /^\[\s*"((?:[^"\\]|\\.)*)"/;
/** Bytes of an entry in which its key must end. */
const KEY_BYTES = 512;
const [QUOTE, BACKSLASH, OPEN, OPEN_OBJECT, CLOSE, CLOSE_OBJECT] = [0x22, 0x5c, 0x5b, 0x7b, 0x5d, 0x7d];

interface Place {
  readonly file: number;
  readonly at: number;
  readonly length: number;
}

/**
 * Opens the folder. Throws `data_lost` when there are no blocks, `malformed_json` for a file that is no such list, and the reason of the
 * signal, which ends the reading of large files.
 */
export async function folderAnswers(
  folder: string,
  { signal }: { readonly signal: AbortSignal },
): Promise<Answers & { close(): void }> {
  const files: number[] = [];
  const close = (): void => {
    for (const file of files.splice(0)) closeSync(file);
  };
  const read = async (prefix: string): Promise<Place[]> => {
    const places: Place[] = [];
    for (const name of namesIn(folder, prefix)) {
      const file = openSync(join(folder, name), 'r');
      files.push(file);
      for await (const place of placesIn(file, name, signal)) places.push(place);
    }
    return places;
  };
  try {
    const blocks = await read('blocks');
    const last = blocks.at(-1);
    if (last === undefined) throw new TesseraError('data_lost', `${folder} has no file blocks.json with blocks`);
    const transactions = new Map((await read('transactions')).map((place) => [keyAt(place), place]));
    return {
      name: folder,
      latest: async () => entryAt(last)[1],
      blocks: async (heights, most) =>
        entriesAt(
          heights.map((height) => blocks[height]),
          most,
        ),
      transactions: async (hashes, most) =>
        entriesAt(
          hashes.map((hash) => transactions.get(hash)),
          most,
        ),
      close,
    };
  } catch (error) {
    close();
    throw error;
  }
}

function entriesAt(places: readonly (Place | undefined)[], most: number): Entries {
  const found = places.filter((place) => place !== undefined);
  const bytes = found.reduce((sum, { length }) => sum + length, 0);
  if (bytes > most) throw new TesseraError('node_unreachable', `the entries have more than ${most} bytes`);
  return found.map(entryAt);
}

function namesIn(folder: string, prefix: string): string[] {
  const names = existsSync(folder) ? readdirSync(folder) : [];
  return names.filter((name) => name.startsWith(prefix) && name.endsWith('.json')).sort();
}

function bytesAt({ file, at, length }: Place, most = length): Buffer {
  const bytes = Buffer.alloc(Math.min(length, most));
  return bytes.subarray(0, readSync(file, bytes, 0, bytes.length, at));
}

function keyAt(place: Place): string {
  const key = KEY.exec(bytesAt(place, KEY_BYTES).toString())?.[1] ?? '';
  // The key is copied: a part of a text keeps the whole text in memory.
  return Buffer.from(key).toString();
}

function entryAt(place: Place): readonly [string, JsonValue] {
  const entry = parseExactJson(bytesAt(place), { anyName: true });
  const [key, data] = Array.isArray(entry) ? entry : [];
  if (typeof key === 'string' && data !== undefined) return [key, data];
  throw new TesseraError('malformed_json', 'an entry of the folder is no list of key, data and place');
}

/** Places of the elements of a list, in one pass over the file. */
async function* placesIn(file: number, name: string, signal: AbortSignal): AsyncGenerator<Place> {
  const chunk = Buffer.alloc(CHUNK);
  let depth = 0;
  let isText = false;
  let begin = 0;
  for (let offset = 0; ; ) {
    await setImmediate(undefined, { signal });
    const read = readSync(file, chunk, 0, CHUNK, offset);
    if (read === 0) break;
    for (let i = 0; i < read; i++) {
      const byte = chunk[i];
      if (isText) {
        if (byte === BACKSLASH) i++;
        else if (byte === QUOTE) isText = false;
      } else if (byte === QUOTE) isText = true;
      else if (byte === OPEN || byte === OPEN_OBJECT) {
        if (++depth === 2) begin = offset + i;
      } else if (byte === CLOSE || byte === CLOSE_OBJECT) {
        const length = offset + i + 1 - begin;
        if (--depth === 1) yield { file, at: begin, length: checked(length, name) };
      }
      // The escaped byte of an escape at the end of the chunk is in the next chunk.
      if (i === read) offset++;
    }
    offset += read;
  }
  if (depth !== 0 || isText) throw new TesseraError('malformed_json', `${name} is no whole list`);
}

function checked(length: number, name: string): number {
  if (length >= LEAST_ENTRY && length <= MOST_ENTRY) return length;
  throw new TesseraError('malformed_json', `${name} has an entry of ${length} bytes`);
}
