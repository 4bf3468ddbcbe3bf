/** Copies of a keystore beside it, so that an earlier version can be started again. Each opens with its old passphrase. */

import { existsSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/** The most copies that are looked at: opening one takes a quarter of a second. */
const MAX_COPIES = 16;
const KEPT_FOLDER = /^before-format-\d+$/;

/** The name of the copy of a keystore of an earlier format; two wallets never have the same. */
export function copyName(file: string, format: number, id: string): string {
  return `${prefixOf(file)}${format}-${id}.json`;
}

export async function keystoreCopies(file: string): Promise<readonly string[]> {
  const folder = dirname(file);
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const copies = entries.flatMap((entry) => {
    if (entry.isFile() && entry.name.startsWith(prefixOf(file)) && entry.name.endsWith('.json')) return [entry.name];
    return entry.isDirectory() && KEPT_FOLDER.test(entry.name) ? [join(entry.name, basename(file))] : [];
  });
  return copies
    .sort()
    .map((name) => join(folder, name))
    .filter((path) => existsSync(path));
}

/** Removes the copies in the folder that the old passphrase opens, as `isOpened` says. Gives the remaining ones. */
export async function removeCopies(
  file: string,
  isOpened: (copy: string) => Promise<boolean>,
): Promise<readonly string[]> {
  const left: string[] = [];
  for (const [i, copy] of (await keystoreCopies(file)).entries()) {
    const isBeside = dirname(copy) === dirname(file);
    if (isBeside && i < MAX_COPIES && (await isOpened(copy))) await rm(copy, { force: true });
    else left.push(copy);
  }
  return left;
}

function prefixOf(file: string): string {
  return `${basename(file, '.json')}-format-`;
}
