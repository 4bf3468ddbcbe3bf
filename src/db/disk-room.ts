/**
 * Free space under the data directory. Below a mark the node takes nothing new, while there is room for what it has
 * begun. Databases that could not be written are tried again here (rule P7).
 */

import { open, readdir, rm, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock, Timer } from '../lib/clock.js';
import { errorMessage, TesseraError } from '../lib/errors.js';
import type { Logger } from '../lib/logger.js';
import { Failure, type Service } from '../lib/service.js';
import { type Signal, SignalSource } from '../lib/signal.js';

/** Milliseconds between two looks: time for some 100 MB on a fast disk, which the mark must be larger than. */
const LOOK_EVERY_MS = 1_000;
/** Factor of the mark that free space must reach before writing goes on, so that the node does not change its mind every second. */
const ENOUGH_AGAIN = 1.25;
const MIB = 1024 * 1024;

/** The part of `DiskRoom` that services see. */
export interface Room {
  /** True while nothing new is to be written. */
  readonly isLow: boolean;
  /** Reasons why nothing new is written, for people; empty when all is well. */
  readonly problems: readonly string[];
  /** Throws `write_failed` while nothing new is to be written. */
  check(): void;
  readonly ranLow: Signal<void>;
  readonly isBack: Signal<void>;
}

/** Room for services that write to no disk. */
export const endlessRoom: Room = {
  isLow: false,
  problems: [],
  check: () => undefined,
  ranLow: new SignalSource(),
  isBack: new SignalSource(),
};

export interface DiskRoomOptions {
  readonly path: string;
  /** Bytes that must stay free; 0 for no mark. */
  readonly minFreeBytes: number;
}

export interface DiskRoomModules {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Databases that cannot be written now, and the way to try them again. */
  readonly databases: { readonly problems: readonly string[]; recover(): Promise<void> };
}

export class DiskRoom implements Room, Service {
  readonly #options: DiskRoomOptions;
  readonly #modules: DiskRoomModules;
  readonly ranLow = new SignalSource<void>();
  readonly isBack = new SignalSource<void>();
  readonly failed = new Failure().promise;
  #freeBytes = Number.POSITIVE_INFINITY;
  #isLow = false;
  #timer: Timer | undefined;
  #looking: Promise<void> | undefined;
  #isStopped = false;

  constructor(options: DiskRoomOptions, modules: DiskRoomModules) {
    this.#options = options;
    this.#modules = modules;
  }

  /** Bytes that the node may use; infinite where the system does not say. */
  get freeBytes(): number {
    return this.#freeBytes;
  }

  get isLow(): boolean {
    return this.#isLow;
  }

  get problems(): readonly string[] {
    return [...(this.#isLow ? [this.#sentence()] : []), ...this.#modules.databases.problems];
  }

  check(): void {
    if (this.#isLow) throw new TesseraError('write_failed', `${this.#sentence()}; nothing new is taken`);
  }

  async start(): Promise<void> {
    await this.#look();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#timer?.cancel();
    await this.#looking;
  }

  #sentence(): string {
    const { path, minFreeBytes } = this.#options;
    return `the disk of ${path} has ${mib(this.#freeBytes)} MiB left, and node.min_free_bytes is ${mib(minFreeBytes)} MiB`;
  }

  async #look(): Promise<void> {
    this.#looking = this.#measure()
      .then(() => this.#recover())
      .catch((error: unknown) => this.#modules.logger.warn({ err: error }, 'the room of the disk was not looked at'));
    await this.#looking;
    if (this.#isStopped) return;
    this.#timer = this.#modules.clock.after(LOOK_EVERY_MS, () => void this.#look());
  }

  async #measure(): Promise<void> {
    try {
      const { bavail, bsize } = await statfs(this.#options.path);
      this.#take(bavail * bsize);
    } catch (error) {
      // A system that does not report free room is no reason to stop: a write that fails shows itself.
      this.#modules.logger.debug({ error: errorMessage(error) }, 'the free room of the disk is not known');
    }
  }

  #take(freeBytes: number): void {
    const { logger } = this.#modules;
    const { minFreeBytes } = this.#options;
    const wasLow = this.#isLow;
    this.#freeBytes = freeBytes;
    this.#isLow = freeBytes < minFreeBytes * (wasLow ? ENOUGH_AGAIN : 1);
    if (this.#isLow === wasLow) return;
    if (this.#isLow) {
      logger.error({ free: freeBytes, mark: minFreeBytes }, this.#sentence());
      this.ranLow.emit();
    } else {
      logger.info({ free: freeBytes }, 'the disk has room again');
      this.isBack.emit();
    }
  }

  async #recover(): Promise<void> {
    const { databases, logger } = this.#modules;
    if (databases.problems.length === 0) return;
    await databases.recover();
    if (databases.problems.length > 0) return;
    logger.info({}, 'all databases can be written again');
    this.isBack.emit();
  }
}

function mib(bytes: number): number {
  return Math.floor(bytes / MIB);
}

/** Bytes of all files below `path`. Files that disappear meanwhile, as LevelDB's do, count as nothing. */
export async function folderSize(path: string): Promise<number> {
  const entries = await readdir(path, { recursive: true, withFileTypes: true }).catch(() => []);
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const sizes = await Promise.all(
    files.map((file) =>
      stat(file).then(
        ({ size }) => size,
        () => 0,
      ),
    ),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}

const PROBE_FILE = 'room.tmp';
const CHUNK = Buffer.alloc(1024 * 1024);
/** Bytes that opening takes besides what is in the logs: a new MANIFEST, a new log. */
const MARGIN = 256 * 1024;

/** Writes and removes as many bytes as opening the database needs, or `bytes`. Throws the system's error. */
export async function checkRoom(path: string, bytes?: number): Promise<void> {
  const probe = join(path, PROBE_FILE);
  const file = await open(probe, 'w', 0o600);
  try {
    for (let left = (bytes ?? (await logBytes(path))) + MARGIN; left > 0; left -= CHUNK.length) {
      await file.writeFile(CHUNK.subarray(0, Math.min(left, CHUNK.length)));
    }
    await file.sync();
  } finally {
    await file.close();
    await rm(probe, { force: true });
  }
}

/** Bytes of the logs, whose content opening moves into tables. */
async function logBytes(path: string): Promise<number> {
  const logs = (await readdir(path)).filter((name) => name.endsWith('.log'));
  const sizes = await Promise.all(logs.map((name) => stat(join(path, name)).then(({ size }) => size)));
  return sizes.reduce((sum, size) => sum + size, 0);
}
