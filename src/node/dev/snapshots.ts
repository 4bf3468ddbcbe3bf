/**
 * Snapshots of a dev network: copies of the folders of its stopped nodes. Each is whole or not there; a revert that was
 * begun is finished at the next start.
 */

import { cp, mkdir, readdir, rename, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { type Static, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { makeFolder, syncFolder, writeFileDurable } from '../../db/write-file-durable.js';
import { utf8 } from '../../lib/bytes.js';
import { TesseraError } from '../../lib/errors.js';
import { readWhole } from '../../lib/read-bounded.js';
import { NODE_ROLES } from '../../lib/roles.js';
import { isSystemError } from '../../lib/system-error.js';
import { type DevRecord, MAX_AHEAD } from './dev-record.js';

const SNAPSHOTS = 'snapshots';
const FACTS_FILE = 'snapshot.json';
const REVERT_FILE = 'revert.json';
const UNFINISHED = '.part';
const OWNER_ONLY = 0o600;
const KEPT = 16;
/** Files that the lock of a running node leaves in its folder. */
export const LOCK = /^lock(\.|$)/;

const SnapshotFacts = Type.Object({
  id: Type.Integer({ minimum: 1 }),
  /** Number of the last block. */
  height: Type.Integer(),
  /** Unix seconds on the clock of the chain. */
  time: Type.Integer(),
  clock_ahead_ms: Type.Integer({ minimum: -MAX_AHEAD, maximum: MAX_AHEAD }),
});
export type SnapshotFacts = Static<typeof SnapshotFacts>;

export class Snapshots {
  readonly #folder: string;
  readonly #record: Pick<DevRecord, 'setClockAhead'>;
  #known: readonly SnapshotFacts[];

  /** Finishes a revert that was begun, and lists the snapshots. The nodes must not run. */
  static async open(folder: string, record: Pick<DevRecord, 'setClockAhead'>): Promise<Snapshots> {
    const names = await namesIn(join(folder, SNAPSHOTS));
    const whole = names.filter((name) => /^\d+$/.test(name));
    for (const name of names) {
      if (name.endsWith(UNFINISHED)) await rm(join(folder, SNAPSHOTS, name), { recursive: true, force: true });
    }
    const known = await Promise.all(whole.map((name) => readFacts(join(folder, SNAPSHOTS, name, FACTS_FILE))));
    const inOrder = known.filter((facts) => facts !== undefined).sort((a, b) => a.id - b.id);
    const snapshots = new Snapshots(folder, record, inOrder);
    const begun = await readFacts(join(folder, REVERT_FILE));
    if (begun !== undefined) await snapshots.#putBack(begun);
    return snapshots;
  }

  private constructor(folder: string, record: Pick<DevRecord, 'setClockAhead'>, known: readonly SnapshotFacts[]) {
    this.#folder = folder;
    this.#record = record;
    this.#known = known;
  }

  get all(): readonly SnapshotFacts[] {
    return this.#known;
  }

  /** Facts of a snapshot. Throws `not_found`. */
  get(id: number): SnapshotFacts {
    const found = this.#known.find((facts) => facts.id === id);
    if (found !== undefined) return found;
    const ids = this.#known.map((facts) => facts.id).join(', ');
    throw new TesseraError('not_found', `There is no snapshot ${id}; there ${ids === '' ? 'is none' : `are ${ids}`}.`);
  }

  async take(facts: Omit<SnapshotFacts, 'id'>): Promise<SnapshotFacts> {
    const snapshot = { id: (this.#known.at(-1)?.id ?? 0) + 1, ...facts };
    const folder = this.#folderOf(snapshot.id);
    const unfinished = `${folder}${UNFINISHED}`;
    await makeFolder(join(this.#folder, SNAPSHOTS));
    await rm(unfinished, { recursive: true, force: true });
    await mkdir(unfinished, { mode: 0o700 });
    for (const role of NODE_ROLES) await copyNode(join(this.#folder, role), join(unfinished, role));
    await writeFacts(join(unfinished, FACTS_FILE), snapshot);
    await rename(unfinished, folder);
    await syncFolder(join(this.#folder, SNAPSHOTS));
    const [...known] = [...this.#known, snapshot];
    for (const { id } of known.splice(0, Math.max(0, known.length - KEPT))) await this.#remove(id);
    this.#known = known;
    return snapshot;
  }

  /** Replaces the folders of the nodes, which must not run, by those of a snapshot. Throws `not_found`. */
  async restore(id: number): Promise<SnapshotFacts> {
    const facts = this.get(id);
    await writeFacts(join(this.#folder, REVERT_FILE), facts);
    await this.#putBack(facts);
    return facts;
  }

  /** Copies a snapshot to the place of the nodes; after an interruption it can be called again. */
  async #putBack(facts: SnapshotFacts): Promise<void> {
    for (const role of NODE_ROLES) {
      const folder = join(this.#folder, role);
      await rm(folder, { recursive: true, force: true });
      await copyNode(join(this.#folderOf(facts.id), role), folder);
    }
    await this.#record.setClockAhead(facts.clock_ahead_ms);
    await rm(join(this.#folder, REVERT_FILE));
    await syncFolder(this.#folder);
  }

  async #remove(id: number): Promise<void> {
    // The folder is renamed first, so that remains after a crash are not taken for a snapshot.
    await rename(this.#folderOf(id), `${this.#folderOf(id)}${UNFINISHED}`);
    await rm(`${this.#folderOf(id)}${UNFINISHED}`, { recursive: true, force: true });
  }

  #folderOf(id: number): string {
    return join(this.#folder, SNAPSHOTS, String(id));
  }
}

async function copyNode(from: string, to: string): Promise<void> {
  const isKept = (path: string): boolean => path === from || !LOCK.test(basename(path));
  await cp(from, to, { recursive: true, filter: isKept });
}

async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (isSystemError(error, 'ENOENT')) return [];
    throw error;
  }
}

function writeFacts(file: string, facts: SnapshotFacts): Promise<void> {
  return writeFileDurable(file, utf8(`${JSON.stringify(facts)}\n`), OWNER_ONLY);
}

/** The facts in a file; undefined when there is no such file. */
async function readFacts(file: string): Promise<SnapshotFacts | undefined> {
  try {
    return Value.Parse(SnapshotFacts, JSON.parse((await readWhole(file)).toString('utf8')));
  } catch (error) {
    if (isSystemError(error, 'ENOENT')) return undefined;
    throw new TesseraError('data_corrupt', `${file} is damaged: choose another folder`, { cause: error });
  }
}
