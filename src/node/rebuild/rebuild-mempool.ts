/**
 * Makes a mempool node's state anew from the blocks of an archive, with the transactions of the old journal and pool.
 * The state is built beside the old databases, which are kept. After an interruption at any point, the next call goes on.
 */

import { existsSync } from 'node:fs';
import { copyFile, mkdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Static, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { DataDir } from '../../db/data-dir.js';
import { lockFolder } from '../../db/folder-lock.js';
import { MARKER_FILE, readMarker, writeMarker } from '../../db/marker.js';
import { syncFolder, writeFileDurable } from '../../db/write-file-durable.js';
import { utf8 } from '../../lib/bytes.js';
import { systemClock } from '../../lib/clock.js';
import { TesseraError } from '../../lib/errors.js';
import { buildState, DATABASE_FOLDER, type RebuildOptions } from './build-state.js';

const BUILD_FOLDER = 'rebuild';
/** The file of the result, in that folder, which exists when the new databases only have to replace the old ones. */
const DONE_FILE = 'done.json';
const RebuildResult = Type.Object({
  /** Number of the last block in the new state; -1 for none. */
  height: Type.Integer({ minimum: -1 }),
  /** Groups of transactions that will be submitted again after the node has started. */
  carried: Type.Integer({ minimum: 0 }),
  /** Problems in reading the old databases, in words. */
  problems: Type.Array(Type.String()),
  /** Folder of the old databases; absent when there were none. */
  aside: Type.Optional(Type.String()),
});
export type RebuildResult = Static<typeof RebuildResult>;

/** Rebuilds the state. Throws `data_dir_locked` while the node runs, `aborted` by the signal, and errors of the archive. */
export async function rebuildMempool(options: RebuildOptions): Promise<RebuildResult> {
  const { node, network } = options.config;
  await mkdir(node.dataDir, { recursive: true, mode: 0o700 });
  const unlock = await lockFolder(node.dataDir);
  try {
    const folder = join(node.dataDir, BUILD_FOLDER);
    // The folder may remain from a call that ended between its last two steps.
    if (!existsSync(join(folder, DATABASE_FOLDER))) await rm(folder, { recursive: true, force: true });
    const old = join(node.dataDir, DATABASE_FOLDER);
    // If the databases are still in place, a node may have used them since: then an earlier result is out of date.
    const done = existsSync(old) ? undefined : await readDone(folder);
    const result = done ?? (await build(folder, network.name, options));
    await takeOver(node.dataDir, result);
    return result;
  } finally {
    await unlock();
  }
}

/** The result of a call that ended after the old databases were put aside. */
async function readDone(folder: string): Promise<RebuildResult | undefined> {
  const path = join(folder, DONE_FILE);
  if (!existsSync(path)) return undefined;
  const value: unknown = JSON.parse(await readFile(path, 'utf8'));
  if (Value.Check(RebuildResult, value)) return value;
  const wayBack = 'move db of the newest before-rebuild- folder back to its place, and run tessera rebuild again';
  throw new TesseraError('data_corrupt', `${path} is damaged: ${wayBack}`);
}

async function build(folder: string, networkName: string, options: RebuildOptions): Promise<RebuildResult> {
  const { journal, node } = options.config;
  const { dataDir } = node;
  await rm(join(folder, DONE_FILE), { force: true });
  // A half-built state does not have the numbers of a journal in etcd yet, so the build starts anew.
  if (journal.kind === 'etcd') await rm(join(folder, DATABASE_FOLDER), { recursive: true, force: true });
  const building = await DataDir.open(folder, { role: 'mempool', networkName });
  const built = await buildState(building, options).finally(() => building.close());
  if (journal.kind === 'etcd') await rm(join(folder, DATABASE_FOLDER, 'journal'), { recursive: true });
  const name = `before-rebuild-${new Date(systemClock.now()).toISOString().replaceAll(':', '')}`;
  const result = existsSync(join(dataDir, DATABASE_FOLDER)) ? { ...built, aside: join(dataDir, name) } : built;
  await writeFileDurable(join(folder, DONE_FILE), utf8(JSON.stringify(result)), 0o600);
  return result;
}

/** Replaces the old databases, which are kept. After a crash the next call does the remaining steps. */
async function takeOver(path: string, { aside }: RebuildResult): Promise<void> {
  const old = join(path, DATABASE_FOLDER);
  const built = join(path, BUILD_FOLDER, DATABASE_FOLDER);
  if (aside !== undefined && existsSync(old)) {
    await mkdir(aside, { mode: 0o700 });
    if (existsSync(join(path, MARKER_FILE))) await copyFile(join(path, MARKER_FILE), join(aside, MARKER_FILE));
    await rename(old, join(aside, DATABASE_FOLDER));
    await syncFolder(aside);
  }
  const marker = await readMarker(join(path, BUILD_FOLDER));
  if (marker !== undefined) await writeMarker(path, marker);
  await rename(built, old);
  await syncFolder(path);
  await rm(join(path, BUILD_FOLDER), { recursive: true });
}
