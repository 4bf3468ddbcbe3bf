/** The lock of a folder: an empty LevelDB, which the kernel releases (rules P5, P7); who has it, and where its API listens. */

import { existsSync, readFileSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Level } from 'level';
import { errorMessage, TesseraError } from '../lib/errors.js';
import { isSystemError } from '../lib/system-error.js';
import { isDiskFull } from './database-error.js';

const LOCK_FOLDER = 'lock';
const PID_FILE = 'lock.pid';
/** File with the API address of the lock's holder. */
const URL_FILE = 'lock.url';
const FILE_MODE = 0o600;
/** Place of the start time in /proc/PID/stat, counted from behind the name of the process. */
const START_TIME = 19;

/** Takes the lock of the folder; the returned function releases it. Throws `data_dir_locked`, naming the process that has it. */
export async function lockFolder(path: string): Promise<() => Promise<void>> {
  const holder = await openLock(path);
  const pidFile = join(path, PID_FILE);
  // A killed process has left the address of its API. Another process may have the port by now, and in a container this
  // process may have the same id.
  await rm(join(path, URL_FILE), { force: true });
  const words = [process.pid, startOf(process.pid) ?? []].flat();
  try {
    await writeFile(pidFile, `${words.join(' ')}\n`, { mode: FILE_MODE });
  } catch (error) {
    // On a full disk, for example: another try in this process must not find the folder locked by the first one.
    await holder.close();
    throw error;
  }
  return async () => {
    await rm(pidFile, { force: true });
    await holder.close();
  };
}

/** The process that has the lock, as its note says; undefined when no such process is alive. */
export async function lockHolder(path: string): Promise<number | undefined> {
  return aliveProcess(await readFile(join(path, PID_FILE), 'utf8').catch(() => ''))?.pid;
}

/** A process that seems to have a lock. `isSure`: as far as the system tells, this process took the lock, no later one with its id. */
export interface Holder {
  readonly pid: number;
  readonly isSure: boolean;
}

/** The process as of `lockHolder`, read synchronously. */
function holderOf(path: string): Holder | undefined {
  try {
    return aliveProcess(readFileSync(join(path, PID_FILE), 'utf8'));
  } catch {
    return undefined;
  }
}

function aliveProcess(text: string): Holder | undefined {
  const [id, noted] = text.trim().split(' ');
  const pid = Number(id);
  if (!Number.isInteger(pid) || pid <= 0 || !isAlive(pid)) return undefined;
  const start = startOf(pid);
  if (noted !== undefined && start !== undefined && start !== noted) return undefined;
  return { pid, isSure: start === noted };
}

/** Start time of a process: the boot of the system, and ticks since then; undefined without /proc. */
function startOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name, in parentheses, may hold anything.
    const ticks = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[START_TIME];
    return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()}/${ticks}`;
  } catch {
    return undefined;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // A process of another user counts as alive, too.
    return isSystemError(error, 'EPERM');
  }
}

async function openLock(path: string): Promise<Level> {
  const location = join(path, LOCK_FOLDER);
  const attempt = async (): Promise<Level> => {
    const level = new Level(location);
    await level.open();
    return level;
  };
  try {
    return await attempt();
  } catch (error) {
    await throwIfLocked(path, error);
  }
  // The lock holds no data: whatever a crash or a full disk did to it must not keep the node from starting (rule P7).
  await rm(location, { recursive: true, force: true });
  try {
    // LevelDB does not say why a folder cannot be made.
    await mkdir(location);
    return await attempt();
  } catch (error) {
    await throwIfLocked(path, error);
    const [code, what] = isDiskFull(error)
      ? (['database_failed', 'is on a full disk: make room there'] as const)
      : (['data_dir_invalid', 'cannot be locked'] as const);
    throw new TesseraError(code, `the data directory ${path} ${what}: ${causeMessage(error)}`, { cause: error });
  }
}

async function throwIfLocked(path: string, error: unknown): Promise<void> {
  const cause = error instanceof Error ? error.cause : undefined;
  if (!(cause instanceof Error && 'code' in cause && cause.code === 'LEVEL_LOCKED')) return;
  const pid = await readFile(join(path, PID_FILE), 'utf8').then(
    (text) => text.trim().split(' ')[0],
    () => 'of unknown id',
  );
  throw new TesseraError(
    'data_dir_locked',
    `process ${pid} uses the data directory ${path}: stop it, or give this node another directory`,
    { cause: error, details: { pid } },
  );
}

function causeMessage(error: unknown): string {
  return errorMessage(error instanceof Error && error.cause !== undefined ? error.cause : error);
}

/** Notes the API's address with the id of this process; the returned function removes the note. A read-only folder gets none. */
export async function noteApi(path: string, url: string): Promise<() => Promise<void>> {
  const file = join(path, URL_FILE);
  await writeFile(file, `${process.pid} ${url}\n`, { mode: FILE_MODE }).catch(() => undefined);
  return () => rm(file, { force: true });
}

/** The process that has the folder, if any (`isThere`). `url` is missing while it starts, and when it is no node. */
export function runningNode(path: string) {
  const holder = existsSync(path) ? holderOf(path) : undefined;
  return {
    isThere: holder !== undefined,
    // Keys and passphrases go to this URL: a process that merely has the id of a killed node is not believed.
    url: holder?.isSure === true ? readNote(join(path, URL_FILE), holder.pid) : undefined,
  };
}

function readNote(file: string, holder: number): string | undefined {
  try {
    const [pid, url = ''] = readFileSync(file, 'utf8').trim().split(' ');
    return pid === `${holder}` && URL.canParse(url) ? url : undefined;
  } catch {
    return undefined;
  }
}
