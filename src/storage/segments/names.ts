/** Names of segments, and which files belong together. */

import { readdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { syncFolder } from '../../db/write-file-durable.js';
import type { Footer, Range } from './scan.js';

const DIGITS = 10;
const UNUSED = '.unused';
const BLOCKS = '.blocks';
const MARK = '.stored';
const CLOSED_NAME = /^(\d{10})-(\d{10})-([0-9a-f]{64})\.(?:blocks|stored)$/;

/** A closed segment, by its name. */
export interface Closed extends Range {
  readonly name: string;
  /** True when the file is on this machine; false when only the object store has it. */
  readonly isHere: boolean;
  /** True when the object store has it, as was checked. */
  readonly isStored: boolean;
}

const number = (height: number): string => String(height).padStart(DIGITS, '0');

/** Name of the open segment. */
export const openName = (first: number): string => `${number(first)}.open`;

/** Name of a closed segment: first and last height, digest. */
export const closedName = ({ first, last, digest }: Footer): string =>
  `${number(first)}-${number(last)}-${digest.toString('hex')}${BLOCKS}`;

/** Name of the empty file that says that the object store has a closed segment. */
export const markName = (name: string): string => name.replace(BLOCKS, MARK);

/** The range in the name of a closed segment; undefined for other names. */
export function rangeOf(name: string): Range | undefined {
  const [, first, last] = CLOSED_NAME.exec(name) ?? [];
  return first === undefined ? undefined : { first: Number(first), last: Number(last) };
}

/** The closed segments among these files, in order. A local file counts before the mark of another one in its place. */
export function closedAmong(names: readonly string[]): Closed[] {
  const found = new Map<number, Closed>();
  for (const file of [...names].sort()) {
    const range = rangeOf(file);
    if (range === undefined) continue;
    const isHere = file.endsWith(BLOCKS);
    const name = isHere ? file : file.replace(MARK, BLOCKS);
    const other = found.get(range.first);
    // In the order of names, the mark of a segment comes behind its file.
    if (other?.name === name) found.set(range.first, { ...other, isStored: true });
    else if (isHere || other?.isHere !== true) found.set(range.first, { ...range, name, isHere, isStored: !isHere });
  }
  return [...found.values()].sort((a, b) => a.first - b.first);
}

/** The closed segment that has the block, if any; `closed` is in order. */
export function closedWith<T extends Range>(height: number, closed: readonly T[]): T | undefined {
  let [low, high] = [0, closed.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((closed[middle]?.first ?? 0) <= height) low = middle;
    else high = middle - 1;
  }
  return closed[low];
}

/** Height of the first block that is in no segment although later ones are; undefined when none is missing. */
export function gapIn(closed: readonly Range[]): number | undefined {
  const ends = [-1, ...closed.map(({ last }) => last)];
  const at = closed.findIndex(({ first }, i) => first !== (ends[i] ?? 0) + 1);
  return at < 0 ? undefined : (ends[at] ?? 0) + 1;
}

/** Puts segments behind a missing one aside, under names that end in `.unused`: other nodes give their blocks. */
export async function setUnusedAside(path: string): Promise<void> {
  const names = await readdir(path);
  const gap = gapIn(closedAmong(names));
  if (gap === undefined) return;
  for (const name of names) {
    if (/^\d{10}[-.]/.test(name) && Number(name.slice(0, DIGITS)) >= gap && !name.endsWith(UNUSED))
      await rename(join(path, name), join(path, name + UNUSED));
  }
  await syncFolder(path);
}
