/**
 * The disk of a machine: its databases, and what is wrong with it. A database is what LevelDB is for the program: batches are written one
 * after the other, each whole or not at all. What was not synced survives the end of a process, and a power loss takes any part of
 * its end.
 */

import { closedError } from '../../../src/db/database-error.js';
import type { Kv, KvBatch, KvEntry, KvRange } from '../../../src/db/kv.js';
import { openRecord, PendingBatch, writesOf } from '../../../src/db/record.js';
import { TesseraError } from '../../../src/lib/errors.js';
import { currentProcess, type DiskOfFiles, diskOf } from './files.js';
import type { Luck } from './luck.js';
import type { Process, World } from './world.js';

/** Milliseconds of a read, of a write, and of a sync, on a disk that is well. */
const READ_MS = 0.05;
const WRITE_MS = 0.1;
const SYNC_MS = 3;
/** Entries that an iteration reads at once. */
const CHUNK = 1_000;

interface Entry {
  readonly key: Uint8Array;
  readonly record: Uint8Array;
}

/** A write, and what was there before. */
interface Change {
  readonly name: string;
  readonly entry: Entry | undefined;
}

type Batch = readonly Change[];

/** What a database has. It outlives the processes that open it. */
class Store {
  readonly #entries = new Map<string, Entry>();
  #names: string[] | undefined;
  /** What it takes to undo the batches that are not synced, the oldest first. */
  #unsynced: Batch[] = [];

  get(name: string): Entry | undefined {
    return this.#entries.get(name);
  }

  get size(): number {
    return this.#entries.size;
  }

  copy(): Store {
    const copy = new Store();
    for (const [name, entry] of this.#entries) copy.#entries.set(name, entry);
    return copy;
  }

  apply(batch: Batch, sync: boolean): void {
    const undo = batch.map(({ name }) => ({ name, entry: this.#entries.get(name) }));
    for (const change of batch) this.#set(change);
    if (sync) this.#unsynced = [];
    else this.#unsynced.push(undo);
  }

  /** A power loss: of what is not synced, only the first batches are there, if any. */
  loseUnsynced(luck: Luck): number {
    const lost = luck.below(this.#unsynced.length + 1);
    for (let i = 0; i < lost; i++) for (const change of [...(this.#unsynced.pop() ?? [])].reverse()) this.#set(change);
    this.#unsynced = [];
    return lost;
  }

  range({ gte, lt, reverse = false, limit }: KvRange): Entry[] {
    this.#names ??= [...this.#entries.keys()].sort();
    const names = this.#names;
    const [from, to] = [placeOf(names, nameOf(gte)), placeOf(names, nameOf(lt))];
    const within = names.slice(from, to);
    if (reverse) within.reverse();
    const most = limit === undefined || limit < 0 ? within : within.slice(0, limit);
    return most.flatMap((name) => this.#entries.get(name) ?? []);
  }

  /** One bit of a record turns over; gives its key, or undefined for an empty database. */
  flip(luck: Luck): Uint8Array | undefined {
    if (this.#entries.size === 0) return undefined;
    const name = luck.pick([...this.#entries.keys()].sort());
    const entry = this.#entries.get(name);
    if (entry === undefined || entry.record.length === 0) return undefined;
    const record = Uint8Array.from(entry.record);
    const at = luck.below(record.length);
    record[at] = (record[at] ?? 0) ^ (1 << luck.below(8));
    this.#entries.set(name, { key: entry.key, record });
    return entry.key;
  }

  #set({ name, entry }: Change): void {
    if (this.#entries.has(name) !== (entry !== undefined)) this.#names = undefined;
    if (entry === undefined) this.#entries.delete(name);
    else this.#entries.set(name, entry);
  }
}

/** The order of names is that of bytes. */
function nameOf(key: Uint8Array): string {
  return Buffer.from(key.buffer, key.byteOffset, key.length).toString('latin1');
}

function placeOf(names: readonly string[], name: string): number {
  let [low, high] = [0, names.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((names[middle] as string) < name) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The database of that name on the disk below which that folder is, for the process whose step it is. */
export function databaseAt(folder: string, name: string): Kv {
  const [disk, owner] = [diskOf(folder), currentProcess()];
  if (!(disk instanceof Disk) || owner === undefined) throw new Error(`a world does not know ${folder}`);
  return disk.open(name, owner);
}

export class Disk implements DiskOfFiles {
  readonly #world: World;
  readonly #stores = new Map<string, Store>();
  readonly #opened = new Set<WorldKv>();
  readonly luck: Luck;
  #countdown: { left: number; readonly happen: () => void } | undefined;
  readonly #awaited = new Set<{ readonly database: string; readonly key: string; readonly happen: () => void }>();
  /** Writes are refused, as by a full disk. */
  isFull = false;
  /** So many of the writes fail. */
  failing = 0;
  /** So many of the reads of databases fail. */
  unreadable = 0;
  /** Everything takes so many times as long. */
  slowness = 1;

  constructor(world: World, luck: Luck) {
    this.#world = world;
    this.luck = luck;
  }

  /** Before or after the change with this number, counted from now on, something happens. */
  atChange(number: number, happen: () => void): void {
    this.#countdown = { left: number, happen };
  }

  /** Whenever a record with this key is written, something happens, until what is given is called. */
  atWriteOf(database: string, key: Uint8Array, happen: () => void): () => void {
    const awaited = { database, key: nameOf(key), happen };
    this.#awaited.add(awaited);
    return () => void this.#awaited.delete(awaited);
  }

  wrote(database: string, batch: Batch): void {
    const found = [...this.#awaited].find((awaited) => {
      const isWritten = ({ name, entry }: Change): boolean => name === awaited.key && entry !== undefined;
      return awaited.database === database && batch.some(isWritten);
    });
    found?.happen();
  }

  touch(): void {
    const countdown = this.#countdown;
    if (countdown === undefined || --countdown.left >= 0) return;
    this.#countdown = undefined;
    countdown.happen();
  }

  took(ms: number): number {
    return ms * this.slowness;
  }

  refusal(syscall: string, path?: string): NodeJS.ErrnoException | undefined {
    const code = this.isFull ? 'ENOSPC' : this.luck.chance(this.failing) ? 'EIO' : undefined;
    const text = code === 'ENOSPC' ? 'no space left on device' : 'i/o error';
    const what = path === undefined ? syscall : `${syscall} '${path}'`;
    return code && Object.assign(new Error(`${code}: ${text}, ${what}`), { code, syscall, ...(path && { path }) });
  }

  /** Opens a database for a process, which is the only one that has it. */
  open(name: string, owner: Process): Kv {
    const kv = new WorldKv(name, this.#store(name), { world: this.#world, disk: this, owner });
    this.#opened.add(kv);
    return kv;
  }

  /** The process that had the databases open has ended: what it was writing is there or not. */
  processEnded(): void {
    for (const kv of this.#opened) kv.abandon();
    this.#opened.clear();
  }

  /** The machine has lost its power; gives the number of batches that are gone. */
  powerLost(): number {
    this.processEnded();
    let lost = 0;
    for (const store of this.#stores.values()) lost += store.loseUnsynced(this.luck);
    return lost;
  }

  /** Value of a record as it is now. */
  valueOf(database: string, key: Uint8Array): Uint8Array | undefined {
    const entry = this.#store(database).get(nameOf(key));
    return entry && openRecord(database, key, entry.record);
  }

  remove(name: string): void {
    this.#stores.delete(name);
  }

  rename(from: string, to: string): void {
    this.#stores.set(to, this.#store(from));
    this.#stores.delete(from);
  }

  /** Its databases as they are now. */
  copy(): ReadonlyMap<string, Store> {
    return new Map([...this.#stores].map(([name, store]) => [name, store.copy()]));
  }

  putBack(copies: ReadonlyMap<string, Store>): void {
    this.#stores.clear();
    for (const [name, store] of copies) this.#stores.set(name, store.copy());
  }

  /** Everything on it is gone. */
  wipe(): void {
    this.#stores.clear();
  }

  /** A bit of a database turns over; gives the key of the record. */
  flip(name: string): Uint8Array | undefined {
    return this.#store(name).flip(this.luck);
  }

  #store(name: string): Store {
    const store = this.#stores.get(name) ?? new Store();
    this.#stores.set(name, store);
    return store;
  }
}

interface KvModules {
  readonly world: World;
  readonly disk: Disk;
  readonly owner: Process;
}

interface Pending {
  readonly batch: Batch;
  readonly sync: boolean;
}

class WorldKv implements Kv {
  readonly #name: string;
  readonly #store: Store;
  readonly #modules: KvModules;
  #pending: Pending[] = [];
  /** Time at which the last write ends. */
  #busyUntil = 0;
  #isClosed = false;

  constructor(name: string, store: Store, modules: KvModules) {
    this.#name = name;
    this.#store = store;
    this.#modules = modules;
  }

  async get(key: Uint8Array): Promise<Uint8Array | undefined> {
    const own = Uint8Array.from(key);
    return this.#read(() => this.#valueOf(own));
  }

  async getMany(keys: readonly Uint8Array[]): Promise<(Uint8Array | undefined)[]> {
    const own = keys.map((key) => Uint8Array.from(key));
    return this.#read(() => own.map((key) => this.#valueOf(key)));
  }

  batch(): KvBatch {
    return new PendingBatch();
  }

  write(batch: KvBatch, { sync }: { readonly sync: boolean }): Promise<void> {
    const { world, disk, owner } = this.#modules;
    if (this.#isClosed) return Promise.reject(closedError(this.#name));
    const changes = writesOf(batch).map(({ key, record }): Change => {
      const own = Uint8Array.from(key);
      return { name: nameOf(own), entry: record && { key: own, record: Uint8Array.from(record) } };
    });
    const pending = { batch: changes, sync };
    this.#pending.push(pending);
    const took = disk.luck.between(0.2, 2) * (sync ? SYNC_MS : WRITE_MS) * disk.slowness;
    this.#busyUntil = Math.max(world.now, this.#busyUntil) + took;
    return new Promise((resolve, reject) => {
      world.at(owner, this.#busyUntil, () => {
        const why = disk.isFull ? 'No space left on device' : disk.luck.chance(disk.failing) && 'Input/output error';
        if (why !== false) {
          this.#pending = this.#pending.filter((one) => one !== pending);
          reject(new TesseraError('database_failed', `the database ${this.#name} cannot be written: ${why}`));
          return;
        }
        disk.touch();
        if (!owner.isAlive) return;
        this.#pending = this.#pending.filter((one) => one !== pending);
        this.#store.apply(changes, sync);
        disk.touch();
        disk.wrote(this.#name, changes);
        if (owner.isAlive) resolve();
      });
    });
  }

  async *entries(range: KvRange): AsyncIterable<KvEntry> {
    const found = await this.#read(() => this.#store.range(range));
    for (const [i, { key, record }] of found.entries()) {
      if (i % CHUNK === CHUNK - 1) await this.#read(() => undefined);
      yield [Uint8Array.from(key), Uint8Array.from(openRecord(this.#name, key, record))];
    }
  }

  /** Resolves when what is being written is written. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const { world, owner } = this.#modules;
    await new Promise<void>((resolve) => void world.at(owner, this.#busyUntil, resolve));
  }

  /** Of what its process was writing when it ended, a first part is there. */
  abandon(): void {
    const { disk } = this.#modules;
    const done = disk.isFull ? 0 : disk.luck.below(this.#pending.length + 1);
    for (const { batch } of this.#pending.slice(0, done)) this.#store.apply(batch, false);
    this.#pending = [];
    this.#isClosed = true;
  }

  #valueOf(key: Uint8Array): Uint8Array | undefined {
    const entry = this.#store.get(nameOf(key));
    return entry && Uint8Array.from(openRecord(this.#name, key, entry.record));
  }

  /** A read shows what is there when it begins, or when it ends. */
  #read<T>(work: () => T): Promise<T> {
    const { world, disk, owner } = this.#modules;
    if (this.#isClosed) return Promise.reject(closedError(this.#name));
    return new Promise((resolve, reject) => {
      const run = (): void => {
        if (disk.unreadable > 0 && disk.luck.chance(disk.unreadable)) {
          reject(new TesseraError('database_failed', `the database ${this.#name} cannot be read: Input/output error`));
          return;
        }
        try {
          resolve(work());
        } catch (error) {
          reject(error);
        }
      };
      world.later(owner, disk.luck.between(0.1, 2) * READ_MS * disk.slowness, run);
    });
  }
}
