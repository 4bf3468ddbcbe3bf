/** Names of segments, and which of them belong together. */

import { readdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { syncFolder } from '../../db/write-file-durable.js';
import type { Footer, Range } from './scan.js';

const DIGITS = 10;
const UNUSED = '.unused';
const CLOSED_NAME = /^(\d{10})-(\d{10})-([0-9a-f]{64})\.blocks$/;

/** A closed segment, by its name. */
export interface Closed extends Range {
  readonly name: string;
}

const number = (height: number): string => String(height).padStart(DIGITS, '0');

/** Name of the open segment. */
export const openName = (first: number): string => `${number(first)}.open`;

/** Name of a closed segment. */
export const closedName = ({ first, last, digest }: Footer): string =>
  `${number(first)}-${number(last)}-${digest.toString('hex')}.blocks`;

/** The closed segments among these files, in order. */
export function closedAmong(names: readonly string[]): Closed[] {
  const found = names.flatMap((name) => {
    const [, first, last] = CLOSED_NAME.exec(name) ?? [];
    return first === undefined ? [] : [{ name, first: Number(first), last: Number(last) }];
  });
  return found.sort((a, b) => a.first - b.first);
}

/** Height of the first block that is in no segment although later ones are; undefined when none is missing. */
export function gapIn(closed: readonly Closed[]): number | undefined {
  const ends = [-1, ...closed.map(({ last }) => last)];
  const at = closed.findIndex(({ first }, i) => first !== (ends[i] ?? 0) + 1);
  return at < 0 ? undefined : (ends[at] ?? 0) + 1;
}

/** Puts segments behind a missing one aside, under names that end in `.unused`: their blocks come from other nodes. */
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
