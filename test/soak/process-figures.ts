/** What Linux says about a process and about a folder: memory, threads, open files by kind, bytes on disk. */

import { readdir, readFile, readlink, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** Bytes and counts. */
export interface ProcessFigures {
  readonly rss: number;
  /** Heap, stacks and everything else without a file behind it. */
  readonly anonymous: number;
  /** Pages of mapped files: the program, its libraries, tables of LevelDB. The kernel takes them back when it needs room. */
  readonly mapped: number;
  /** Part of `anonymous`: what `malloc` of glibc holds, by arena. The main one is that of the first thread. */
  readonly mainArena: number;
  readonly otherArenas: number;
  readonly threads: number;
  readonly descriptors: Descriptors;
}

export interface Descriptors {
  readonly all: number;
  /** Tables of LevelDB. */
  readonly tables: number;
  /** Its other files: logs, manifests, locks. */
  readonly otherDatabaseFiles: number;
  readonly sockets: number;
}

const KIB = 1024;

export async function processFigures(pid: number): Promise<ProcessFigures> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const field = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? 0);
  return {
    rss: field('VmRSS') * KIB,
    anonymous: field('RssAnon') * KIB,
    mapped: field('RssFile') * KIB,
    ...(await arenasOf(pid)),
    threads: field('Threads'),
    descriptors: await descriptorsOf(pid),
  };
}

/** Heaps of glibc's arenas begin at a multiple of this. */
const ARENA_ALIGNMENT = 64 * 1024 * 1024;

async function arenasOf(pid: number): Promise<Pick<ProcessFigures, 'mainArena' | 'otherArenas'>> {
  const maps = await readFile(`/proc/${pid}/smaps`, 'utf8');
  let mainArena = 0;
  let otherArenas = 0;
  for (const [, from = '', name = '', size] of maps.matchAll(
    /^([0-9a-f]+)-\S+ rw\S+ \S+ \S+ \d+ *(\S*)\n[\s\S]*?^Rss: +(\d+) kB/gm,
  )) {
    if (name === '[heap]') mainArena += Number(size) * KIB;
    else if (name === '' && Number.parseInt(from, 16) % ARENA_ALIGNMENT === 0) otherArenas += Number(size) * KIB;
  }
  return { mainArena, otherArenas };
}

async function descriptorsOf(pid: number): Promise<Descriptors> {
  const folder = `/proc/${pid}/fd`;
  const names = await readdir(folder);
  // One that is closed meanwhile has no target.
  const targets = await Promise.all(names.map((name) => readlink(join(folder, name)).catch(() => '')));
  const open = targets.filter((target) => target !== '');
  const tables = open.filter((target) => target.endsWith('.ldb'));
  const sockets = open.filter((target) => target.startsWith('socket:'));
  const database = open.filter((target) => /\/(\d+\.log|MANIFEST-\d+|LOCK|LOG)$/.test(target));
  return { all: open.length, tables: tables.length, otherDatabaseFiles: database.length, sockets: sockets.length };
}

/** Bytes of the files in a folder and below. */
export async function folderBytes(folder: string): Promise<number> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const sizes = entries.map(async (entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return folderBytes(path);
    return stat(path).then(
      ({ size }) => size,
      () => 0,
    );
  });
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}
