/**
 * Files of the machines of a world: everything below `/world/`, in memory. What a process asks of them takes a step. Of what was appended and not synced, a
 * power loss takes the end, or leaves zeros there. Import this before anything that keeps a function of node:fs.
 */

import { constants } from 'node:fs';
import { createRequire, syncBuiltinESMExports } from 'node:module';
import { basename, dirname } from 'node:path';
import type { Luck } from './luck.js';
import type { Process, World } from './world.js';

const require = createRequire(import.meta.url);
const fs = require('node:fs');
const promises = require('node:fs/promises');
const crypto = require('node:crypto');

const ROOT = '/world/';

let world: World | undefined;

/** What a file has, whatever its name is. */
interface Content {
  bytes: Buffer;
  /** What a power loss leaves. */
  synced: Buffer;
}

/** What a disk does to the files on it. */
export interface DiskOfFiles {
  /** Milliseconds of something that takes so long on a disk that is well. */
  took(ms: number): number;
  /** Called before and after each change; the machine may have lost its power then. */
  touch(): void;
  /** Why nothing can be written now: as Node.js tells it of a call of the system, with the path where the call has one. */
  refusal(syscall: string, path?: string): NodeJS.ErrnoException | undefined;
}

let files = new Map<string, Content>();
let folders = new Set<string>();
const disks = new Map<string, DiskOfFiles>();
const opened = new Map<number, File>();
/** Numbers of files that are open; no real one has such. */
const FIRST_FD = 1_000_000_000;
let nextFd = FIRST_FD;

/** Calls of the system on a file that is open: an error of one has no path. */
const OF_OPEN_FILES: ReadonlySet<string> = new Set(['write', 'ftruncate', 'fsync', 'fdatasync']);

/** Milliseconds of a change, and of a sync. */
const CHANGE_MS = 0.25;
const SYNC_MS = 2;

function isOurs(path: unknown): path is string {
  return typeof path === 'string' && path.startsWith(ROOT);
}

/** The folder of a machine is always there. */
function isFolder(path: string): boolean {
  return folders.has(path) || dirname(path) === dirname(`${ROOT}machine`);
}

/** The files below this folder are on that disk. */
export function putOn(folder: string, disk: DiskOfFiles): void {
  disks.set(folder, disk);
}

export function currentProcess(): Process | undefined {
  return world?.current;
}

/** Makes a folder at once. */
export function makeFolder(path: string): void {
  folders.add(path);
}

export function diskOf(path: string): DiskOfFiles | undefined {
  return disks.get(path.split('/', 3).join('/'));
}

/** All files below a folder are gone. */
export function wipe(folder: string): void {
  for (const path of [...files.keys()]) if (path.startsWith(`${folder}/`)) files.delete(path);
}

/** Copies of all files below a folder, whole and synced. */
export function copyBelow(folder: string): ReadonlyMap<string, Buffer> {
  return new Map([...files].flatMap(([path, { bytes }]) => (path.startsWith(`${folder}/`) ? [[path, bytes]] : [])));
}

/** Puts copies where they were, or in another folder of a machine. */
export function putBack(copies: ReadonlyMap<string, Buffer>, folder?: string): void {
  for (const [path, bytes] of copies) {
    const place = folder === undefined ? path : [folder, ...path.split('/').slice(3)].join('/');
    files.set(place, { bytes, synced: bytes });
  }
}

/** One bit of one of the files whose paths end so turns over; gives the path. */
export function flipIn(folder: string, ending: string, luck: Luck): string | undefined {
  const found = [...files].filter(([path, { synced }]) => {
    return path.startsWith(`${folder}/`) && path.endsWith(ending) && synced.length > 0;
  });
  if (found.length === 0) return undefined;
  const [path, content] = luck.pick(found);
  const bytes = Buffer.from(content.bytes);
  const at = luck.below(bytes.length);
  bytes[at] = (bytes[at] ?? 0) ^ (1 << luck.below(8));
  content.bytes = bytes;
  content.synced = bytes;
  return path;
}

/** The machine with this folder has lost its power. */
export function losePowerBelow(folder: string, luck: Luck): void {
  for (const [path, content] of files) {
    if (!path.startsWith(`${folder}/`)) continue;
    const { bytes, synced } = content;
    const isAppended = bytes.length > synced.length && bytes.subarray(0, synced.length).equals(synced);
    const kept = isAppended ? bytes.subarray(0, synced.length + luck.below(bytes.length - synced.length + 1)) : synced;
    content.bytes = Buffer.from(kept);
    // The length of a file can be on the disk before what is in it.
    if (isAppended && luck.chance(0.3))
      content.bytes.fill(0, synced.length + luck.below(kept.length - synced.length + 1));
    content.synced = content.bytes;
  }
}

function missing(path: string): Error {
  return Object.assign(new Error(`ENOENT: no such file or directory, '${path}'`), {
    code: 'ENOENT',
    syscall: 'open',
    path,
  });
}

/** Runs in a later step of the same process. */
function soon<T>(work: () => T, ms = CHANGE_MS): Promise<T> {
  const [now, process] = [world, world?.current];
  if (now === undefined || process === undefined) return Promise.resolve().then(work);
  return new Promise((resolve, reject) => {
    now.later(process, process.luck.between(0.1, 2) * ms, () => {
      try {
        const done = work();
        if (process.isAlive) resolve(done);
      } catch (error) {
        reject(error);
      }
    });
  });
}

/** A change of what is on a disk, by a call of the system: it can be refused, and be the last that its machine does. */
function changed<T>(path: string, syscall: string, work: () => T): T {
  const [disk, process] = [diskOf(path), world?.current];
  if (disk === undefined || process === undefined) return work();
  const why = disk.refusal(syscall, OF_OPEN_FILES.has(syscall) ? undefined : path);
  if (why !== undefined) throw why;
  disk.touch();
  if (!process.isAlive) throw new Error('the machine is gone');
  const done = work();
  disk.touch();
  return done;
}

function change<T>(path: string, syscall: string, work: () => T, ms = CHANGE_MS): Promise<T> {
  return soon(() => changed(path, syscall, work), diskOf(path)?.took(ms) ?? ms);
}

class File {
  readonly #path: string;
  readonly #content: Content | undefined;
  readonly fd = nextFd++;
  #at = 0;

  /** Without content for a folder. */
  constructor(path: string, content: Content | undefined) {
    this.#path = path;
    this.#content = content;
    opened.set(this.fd, this);
  }

  get #bytes(): Buffer {
    return this.#content?.bytes ?? Buffer.alloc(0);
  }

  /** At its end, where no position is given. */
  writeNow(bytes: Uint8Array, position?: number | null): number {
    return changed(this.#path, 'write', () => {
      const before = this.#bytes;
      const at = position ?? before.length;
      const after = Buffer.alloc(Math.max(before.length, at + bytes.length));
      before.copy(after);
      after.set(bytes, at);
      if (this.#content !== undefined) this.#content.bytes = after;
      return bytes.length;
    });
  }

  write(bytes: Uint8Array, offset = 0, length = bytes.length - offset, position?: number | null) {
    const own = Buffer.from(bytes.subarray(offset, offset + length));
    return soon(() => ({ bytesWritten: this.writeNow(own, position) }), diskOf(this.#path)?.took(CHANGE_MS));
  }

  async writeFile(bytes: Uint8Array): Promise<void> {
    await this.write(bytes);
  }

  truncate(length: number): Promise<void> {
    return change(this.#path, 'ftruncate', () => {
      if (this.#content !== undefined) this.#content.bytes = Buffer.from(this.#bytes.subarray(0, length));
    });
  }

  read(into: Uint8Array, offset: number, length: number, position?: number | null): Promise<{ bytesRead: number }> {
    return soon(() => {
      const from = position ?? this.#at;
      const part = this.#bytes.subarray(from, from + length);
      into.set(part, offset);
      this.#at = from + part.length;
      return { bytesRead: part.length };
    });
  }

  stat(): Promise<{ size: number }> {
    return soon(() => ({ size: this.#bytes.length }));
  }

  sync(): Promise<void> {
    return this.#sync('fsync');
  }

  datasync(): Promise<void> {
    return this.#sync('fdatasync');
  }

  chmod(): Promise<void> {
    return soon(() => undefined);
  }

  close(): Promise<void> {
    opened.delete(this.fd);
    return soon(() => undefined);
  }

  /** What is written while it runs need not be in it. */
  #sync(syscall: string): Promise<void> {
    const bytes = this.#bytes;
    const work = (): void => {
      if (this.#content !== undefined) this.#content.synced = bytes;
    };
    return change(this.#path, syscall, work, SYNC_MS);
  }
}

const reads: Readonly<Record<string, (path: string, ...rest: never[]) => unknown>> = {
  readdir: (path: string, options?: { withFileTypes?: boolean }) => {
    const names = [...files.keys()].filter((one) => dirname(one) === path).map((one) => basename(one));
    if (names.length === 0 && !isFolder(path)) throw missing(path);
    return options?.withFileTypes
      ? names.map((name) => ({ name, isDirectory: () => false, isFile: () => true }))
      : names;
  },
  stat: (path: string) => {
    if (isFolder(path)) return { size: 0, isDirectory: () => true };
    const content = files.get(path);
    if (content === undefined) throw missing(path);
    return { size: content.bytes.length, isDirectory: () => false };
  },
  chmod: () => undefined,
  statfs: () => ({ bavail: 1e9, bsize: 4_096 }),
  open: (path: string, flags: string | number) => {
    const known = files.get(path);
    if (known !== undefined && flags === 'wx') {
      throw Object.assign(new Error(`EEXIST: file already exists, '${path}'`), { code: 'EEXIST' });
    }
    const isEmptied = typeof flags === 'string' && flags.startsWith('w');
    const isMade = isEmptied || (typeof flags === 'number' ? (flags & constants.O_CREAT) !== 0 : flags.startsWith('a'));
    if (!isMade || (known !== undefined && !isEmptied)) {
      if (known === undefined && !isFolder(path)) throw missing(path);
      return new File(path, known);
    }
    return changed(path, 'open', () => {
      const content = known ?? { bytes: Buffer.alloc(0), synced: Buffer.alloc(0) };
      content.bytes = Buffer.alloc(0);
      files.set(path, content);
      return new File(path, content);
    });
  },
};

const changes: Readonly<Record<string, (path: string, ...rest: never[]) => unknown>> = {
  mkdir: (path: string) => {
    if (isFolder(path)) return undefined;
    folders.add(path);
    return path;
  },
  rm: (path: string) => void files.delete(path),
  truncate: (path: string, length: number) => {
    const content = files.get(path);
    if (content === undefined) throw missing(path);
    content.bytes = Buffer.from(content.bytes.subarray(0, length));
  },
  rename: (from: string, to: string) => {
    const content = files.get(from);
    if (content === undefined) throw missing(from);
    files.delete(from);
    files.set(to, content);
  },
  copyFile: (from: string, to: string) => {
    const content = files.get(from);
    if (content === undefined) throw missing(from);
    files.set(to, { ...content });
  },
};

/** From now on the files below `/world/` are those of this world, which has none. */
export function mount(entered: World): void {
  world = entered;
  files = new Map();
  folders = new Set();
  disks.clear();
  opened.clear();
  nextFd = FIRST_FD;
}

/** What a module does with files, but what is listed, must not be asked of the files of a world: the real ones know nothing of them. */
function refuseOthers(module: Record<string, unknown>, known: ReadonlySet<string>): void {
  for (const [name, real] of Object.entries(module)) {
    // Classes begin with a capital letter.
    if (typeof real !== 'function' || known.has(name) || /^[A-Z_]/.test(name)) continue;
    const checked = (...args: unknown[]): unknown => {
      const [first] = args;
      if (args.some(isOurs) || (typeof first === 'number' && first >= FIRST_FD)) {
        throw new Error(`a world does not know ${name} of files: ${args[0]}`);
      }
      return real.apply(module, args);
    };
    module[name] = Object.defineProperties(checked, Object.getOwnPropertyDescriptors(real));
  }
}

function install(): void {
  refuseOthers(promises, new Set([...Object.keys(reads), ...Object.keys(changes)]));
  refuseOthers(fs, new Set(['existsSync', 'writeSync', 'fdatasync']));
  for (const [name, work] of Object.entries(reads)) {
    const real = promises[name];
    promises[name] = (path: unknown, ...rest: never[]) =>
      isOurs(path) ? soon(() => work(path, ...rest)) : real(path, ...rest);
  }
  for (const [name, work] of Object.entries(changes)) {
    const real = promises[name];
    promises[name] = (path: unknown, ...rest: never[]) =>
      isOurs(path) ? change(path, name.toLowerCase(), () => work(path, ...rest)) : real(path, ...rest);
  }
  const { existsSync, writeSync, fdatasync } = fs;
  fs.existsSync = (path: unknown) => (isOurs(path) ? files.has(path) || folders.has(path) : existsSync(path));
  fs.writeSync = (fd: number, bytes: Uint8Array, offset = 0, length = bytes.length - offset, position?: number) =>
    fd < FIRST_FD
      ? writeSync(fd, bytes, offset, length, position)
      : opened.get(fd)?.writeNow(Uint8Array.from(bytes.subarray(offset, offset + length)), position);
  fs.fdatasync = (fd: number, done: (error?: unknown) => void) => {
    if (fd < FIRST_FD) fdatasync(fd, done);
    else
      void opened
        .get(fd)
        ?.datasync()
        .then(() => done(), done);
  };
  // Threads would make keys in real time.
  for (const name of ['scrypt', 'pbkdf2']) {
    const derive = crypto[`${name}Sync`];
    crypto[name] = (...args: unknown[]) => {
      const answer = args.pop() as (error: unknown, key?: Buffer) => void;
      void soon(() => derive(...args)).then((key) => answer(null, key), answer);
    };
  }
  syncBuiltinESMExports();
}

install();
