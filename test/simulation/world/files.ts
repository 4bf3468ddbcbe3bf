/**
 * Files of the machines of a world: everything below `/world/`, in memory. What a process asks of them takes a step. Of what was appended and not synced, a
 * power loss takes the end.
 */

import { constants } from 'node:fs';
import { createRequire, syncBuiltinESMExports } from 'node:module';
import { basename, dirname } from 'node:path';
import type { Luck } from './luck.js';
import type { World } from './world.js';

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

let files = new Map<string, Content>();
let folders = new Set<string>();

let isInstalled = false;

function isOurs(path: unknown): path is string {
  return typeof path === 'string' && path.startsWith(ROOT);
}

/** The folder of a machine is always there. */
function isFolder(path: string): boolean {
  return folders.has(path) || dirname(path) === dirname(`${ROOT}machine`);
}

/** The machine with this folder has lost its power. */
export function losePowerBelow(folder: string, luck: Luck): void {
  for (const [path, content] of files) {
    if (!path.startsWith(`${folder}/`)) continue;
    const { bytes, synced } = content;
    const isAppended = bytes.length > synced.length && bytes.subarray(0, synced.length).equals(synced);
    const kept = isAppended ? bytes.subarray(0, synced.length + luck.below(bytes.length - synced.length + 1)) : synced;
    content.bytes = Buffer.from(kept);
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
function soon<T>(work: () => T): Promise<T> {
  const [now, process] = [world, world?.current];
  if (now === undefined || process === undefined) return Promise.resolve().then(work);
  return new Promise((resolve, reject) => {
    now.later(process, process.luck.between(0.02, 0.5), () => {
      try {
        resolve(work());
      } catch (error) {
        reject(error);
      }
    });
  });
}

class File {
  readonly #content: Content | undefined;
  #at = 0;

  /** Undefined for a folder. */
  constructor(content: Content | undefined) {
    this.#content = content;
  }

  get #bytes(): Buffer {
    return this.#content?.bytes ?? Buffer.alloc(0);
  }

  /** At its end, where no position is given. */
  write(bytes: Uint8Array, offset = 0, length = bytes.length - offset, position?: number) {
    const own = Buffer.from(bytes.subarray(offset, offset + length));
    return soon(() => {
      const before = this.#bytes;
      const at = position ?? before.length;
      const after = Buffer.alloc(Math.max(before.length, at + own.length));
      before.copy(after);
      own.copy(after, at);
      if (this.#content !== undefined) this.#content.bytes = after;
      return { bytesWritten: own.length };
    });
  }

  async writeFile(bytes: Uint8Array): Promise<void> {
    await this.write(bytes);
  }

  truncate(length: number): Promise<void> {
    return soon(() => {
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
    return soon(() => {
      if (this.#content !== undefined) this.#content.synced = this.#content.bytes;
    });
  }

  datasync(): Promise<void> {
    return this.sync();
  }

  chmod(): Promise<void> {
    return soon(() => undefined);
  }

  close(): Promise<void> {
    return soon(() => undefined);
  }
}

const ours: Readonly<Record<string, (path: string, ...rest: never[]) => unknown>> = {
  open: (path: string, flags: string | number) => {
    const known = files.get(path);
    const isNew = typeof flags === 'number' ? (flags & constants.O_CREAT) !== 0 : flags.startsWith('w');
    if (known === undefined && !isNew) {
      if (isFolder(path)) return new File(undefined);
      throw missing(path);
    }
    const content = known ?? { bytes: Buffer.alloc(0), synced: Buffer.alloc(0) };
    if (typeof flags === 'string' && flags.startsWith('w')) content.bytes = Buffer.alloc(0);
    files.set(path, content);
    return new File(content);
  },
  readdir: (path: string, options?: { withFileTypes?: boolean }) => {
    const names = [...files.keys()].filter((one) => dirname(one) === path).map((one) => basename(one));
    return options?.withFileTypes
      ? names.map((name) => ({ name, isDirectory: () => false, isFile: () => true }))
      : names;
  },
  mkdir: (path: string) => {
    if (isFolder(path)) return undefined;
    folders.add(path);
    return path;
  },
  chmod: () => undefined,
  rm: (path: string) => void files.delete(path),
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
  stat: (path: string) => {
    const content = files.get(path);
    if (content === undefined) throw missing(path);
    return { size: content.bytes.length };
  },
  statfs: () => ({ bavail: 1e9, bsize: 4_096 }),
};

/** From now on the files below `/world/` are those of this world, which has none. */
export function mount(entered: World): void {
  world = entered;
  files = new Map();
  folders = new Set();
  if (isInstalled) return;
  isInstalled = true;
  for (const [name, work] of Object.entries(ours)) {
    const real = promises[name];
    promises[name] = (path: unknown, ...rest: never[]) =>
      isOurs(path) ? soon(() => work(path, ...rest)) : real(path, ...rest);
  }
  const { existsSync } = fs;
  fs.existsSync = (path: unknown) => (isOurs(path) ? files.has(path) : existsSync(path));
  const { scryptSync } = crypto;
  crypto.scrypt = (...args: unknown[]) => {
    const answer = args.pop() as (error: unknown, key?: Buffer) => void;
    void soon(() => scryptSync(...args)).then((key) => answer(null, key), answer);
  };
  syncBuiltinESMExports();
}
