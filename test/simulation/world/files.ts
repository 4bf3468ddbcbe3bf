/** Files of the machines of a world: everything below `/world/`, in memory. What a process asks of them takes a step. */

import { createRequire, syncBuiltinESMExports } from 'node:module';
import { basename, dirname } from 'node:path';
import type { World } from './world.js';

const require = createRequire(import.meta.url);
const fs = require('node:fs');
const promises = require('node:fs/promises');
const crypto = require('node:crypto');

const ROOT = '/world/';

let world: World | undefined;
let files = new Map<string, Buffer>();
let isInstalled = false;

function isOurs(path: unknown): path is string {
  return typeof path === 'string' && path.startsWith(ROOT);
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
  readonly #path: string;
  #at = 0;

  constructor(path: string) {
    this.#path = path;
  }

  get #bytes(): Buffer {
    return files.get(this.#path) ?? Buffer.alloc(0);
  }

  write(bytes: Uint8Array): Promise<{ bytesWritten: number }> {
    const own = Buffer.from(bytes);
    return soon(() => {
      files.set(this.#path, Buffer.concat([this.#bytes, own]));
      return { bytesWritten: own.length };
    });
  }

  async writeFile(bytes: Uint8Array): Promise<void> {
    await this.write(bytes);
  }

  async appendFile(bytes: Uint8Array): Promise<void> {
    await this.write(bytes);
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
    return soon(() => undefined);
  }

  datasync(): Promise<void> {
    return soon(() => undefined);
  }

  chmod(): Promise<void> {
    return soon(() => undefined);
  }

  close(): Promise<void> {
    return soon(() => undefined);
  }
}

const ours: Readonly<Record<string, (path: string, ...rest: never[]) => unknown>> = {
  open: (path: string, flags: string) => {
    if (
      flags === 'r' &&
      !files.has(path) &&
      [...files.keys()].every((one) => !one.startsWith(`${path}/`)) &&
      !path
        .split('/')
        .at(-1)
        ?.match(/^[^.]*$/)
    ) {
      throw missing(path);
    }
    if (flags.startsWith('w')) files.set(path, Buffer.alloc(0));
    return new File(path);
  },
  readdir: (path: string, options?: { withFileTypes?: boolean }) => {
    const names = [...files.keys()].filter((one) => dirname(one) === path).map((one) => basename(one));
    return options?.withFileTypes
      ? names.map((name) => ({ name, isDirectory: () => false, isFile: () => true }))
      : names;
  },
  mkdir: () => undefined,
  chmod: () => undefined,
  rm: (path: string) => void files.delete(path),
  rename: (from: string, to: string) => {
    const bytes = files.get(from);
    if (bytes === undefined) throw missing(from);
    files.delete(from);
    files.set(to, bytes);
  },
  copyFile: (from: string, to: string) => {
    const bytes = files.get(from);
    if (bytes === undefined) throw missing(from);
    files.set(to, bytes);
  },
  stat: (path: string) => {
    const bytes = files.get(path);
    if (bytes === undefined) throw missing(path);
    return { size: bytes.length };
  },
  statfs: () => ({ bavail: 1e9, bsize: 4_096 }),
};

/** From now on the files below `/world/` are those of this world, which has none. */
export function mount(entered: World): void {
  world = entered;
  files = new Map();
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
