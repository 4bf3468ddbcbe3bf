/**
 * A folder as the source of a chain: files `blocks*.json` and `transactions*.json`, each a list of `[key, data, place]` as the API of a
 * storage node gives them, the blocks in order. Of a file only the places of its entries are held in memory.
 */

import { closeSync, existsSync, openSync, readdirSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { TesseraError } from '../../lib/errors.js';
import { type JsonValue, parseExactJson } from '../../lib/json.js';
import type { Answers, Entries } from './source.js';

const CHUNK = 1024 * 1024;
/** Bytes of the longest entry. */
const MOST_ENTRY = 64 * 1024 * 1024;
const KEY = /^\[\s*"((?:[^"\\]|\\.)*)"/;
/** Bytes that an entry's key is found in. */
const KEY_BYTES = 512;
const [QUOTE, BACKSLASH, OPEN, OPEN_OBJECT, CLOSE, CLOSE_OBJECT] = [0x22, 0x5c, 0x5b, 0x7b, 0x5d, 0x7d];

interface Place {
  readonly file: number;
  readonly at: number;
  readonly length: number;
}

/** Throws `data_lost` when there are no blocks, `malformed_json` for a file that is no such list. */
export function folderAnswers(folder: string): Answers & { close(): void } {
  const files: number[] = [];
  const open = (prefix: string): Place[] =>
    namesIn(folder, prefix).flatMap((name) => {
      const file = openSync(join(folder, name), 'r');
      files.push(file);
      return [...placesIn(file, name)];
    });
  const blocks = open('blocks');
  const last = blocks.at(-1);
  if (last === undefined) throw new TesseraError('data_lost', `${folder} has no file blocks.json with blocks`);
  const transactions = new Map(open('transactions').map((place) => [keyAt(place), place]));
  const found = (places: readonly (Place | undefined)[]): Entries =>
    places.flatMap((place) => (place === undefined ? [] : [entryAt(place)]));
  return {
    name: folder,
    latest: async () => entryAt(last)[1],
    blocks: async (heights) => found(heights.map((height) => blocks[height])),
    transactions: async (hashes) => found(hashes.map((hash) => transactions.get(hash))),
    close: () => {
      for (const file of files) closeSync(file);
    },
  };
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
  return KEY.exec(bytesAt(place, KEY_BYTES).toString())?.[1] ?? '';
}

function entryAt(place: Place): readonly [string, JsonValue] {
  const entry = parseExactJson(bytesAt(place), { anyName: true });
  const [key, data] = Array.isArray(entry) ? entry : [];
  if (typeof key === 'string' && data !== undefined) return [key, data];
  throw new TesseraError('malformed_json', 'an entry of the folder is no list of key, data and place');
}

/** Places of the elements of a list, in one pass over the file. */
function* placesIn(file: number, name: string): Generator<Place> {
  const chunk = Buffer.alloc(CHUNK);
  let depth = 0;
  let isText = false;
  let begin = 0;
  for (let offset = 0; ; ) {
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
      // An escape at the end of the chunk: what it escapes is in the next one.
      if (i === read) offset++;
    }
    offset += read;
  }
  if (depth !== 0 || isText) throw new TesseraError('malformed_json', `${name} is no whole list`);
}

function checked(length: number, name: string): number {
  if (length <= MOST_ENTRY) return length;
  throw new TesseraError('malformed_json', `${name} has an entry of more than ${MOST_ENTRY} bytes`);
}
