/**
 * The note that a running node leaves in its folder: where its API listens. Commands that are given the folder, or a
 * configuration with it, find the node by the note, whatever ports it was started with.
 */

import { existsSync, readFileSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { holderOf, URL_FILE } from './folder-lock.js';

const FILE_MODE = 0o600;

/** Writes the note, with the process that it is of; the result removes it. A folder that cannot be written has none. */
export async function noteApi(path: string, url: string): Promise<() => Promise<void>> {
  const file = join(path, URL_FILE);
  await writeFile(file, `${process.pid} ${url}\n`, { mode: FILE_MODE }).catch(() => undefined);
  return () => rm(file, { force: true });
}

/** `isThere`: a process has the folder. Its `url` is missing while it starts, and when it is no node. */
export interface RunningNode {
  readonly isThere: boolean;
  readonly url: string | undefined;
}

export function runningNode(path: string): RunningNode {
  const holder = existsSync(path) ? holderOf(path) : undefined;
  return {
    isThere: holder !== undefined,
    // Keys and passphrases go there: a process that merely has the id of one that is gone is not believed.
    url: holder?.isSure === true ? readNote(join(path, URL_FILE), holder.pid) : undefined,
  };
}

/** Undefined when there is no note, or one of another process. */
function readNote(file: string, holder: number): string | undefined {
  try {
    const [pid, url = ''] = readFileSync(file, 'utf8').trim().split(' ');
    return pid === `${holder}` && URL.canParse(url) ? url : undefined;
  } catch {
    return undefined;
  }
}
