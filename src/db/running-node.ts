/**
 * The note that a running node leaves in its folder: where its API listens. Commands that are given the folder, or a
 * configuration with it, find the node by the note, whatever ports it was started with.
 */

import { existsSync, readFileSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { holderOf } from './folder-lock.js';

/** Like `lock.pid`, no backup has it. */
const URL_FILE = 'lock.url';
const FILE_MODE = 0o600;

/** Writes the note; the result removes it. A folder that cannot be written has none. */
export async function noteApi(path: string, url: string): Promise<() => Promise<void>> {
  const file = join(path, URL_FILE);
  await writeFile(file, `${url}\n`, { mode: FILE_MODE }).catch(() => undefined);
  return () => rm(file, { force: true });
}

/** `isThere`: a process has the folder. Its `url` is missing while it starts, and for an earlier version. */
export interface RunningNode {
  readonly isThere: boolean;
  readonly url: string | undefined;
}

export function runningNode(path: string): RunningNode {
  const isThere = existsSync(path) && holderOf(path) !== undefined;
  return { isThere, url: isThere ? readNote(join(path, URL_FILE)) : undefined };
}

function readNote(file: string): string | undefined {
  try {
    const text = readFileSync(file, 'utf8').trim();
    return URL.canParse(text) ? text : undefined;
  } catch {
    return undefined;
  }
}
