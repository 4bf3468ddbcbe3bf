/** Checks the data folder: its owner, the node that it belongs to, who uses it, whether a node would start on it; segments and their store. */

import { type Stats, statSync } from 'node:fs';
import { readdir, stat, statfs } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import type { Config } from '../../config/schema.js';
import { lockHolder } from '../../db/folder-lock.js';
import { inspectDatabase } from '../../db/kept-files.js';
import { DATA_FORMAT, type Marker, readMarker, refuseHalfRestored } from '../../db/marker.js';
import { damagedFolders } from '../../db/put-aside.js';
import { factsOf } from '../../lib/roles.js';
import { closedAmong, gapIn } from '../../storage/segments/names.js';
import { KEYSTORE_FILE } from '../../wallet/keys/keystore.js';
import { keystoreCopies } from '../../wallet/keys/keystore-copies.js';
import { segmentsOf } from '../archive-files.js';
import { type Examination, type Finding, fail, ok, reasonOf, warn } from './finding.js';

/** Permission bits of group and others. */
const OTHERS = 0o077;
const TABLE_BYTES = 64 * 1024 * 1024;
const MIB = 1024 * 1024;
/** Free bytes below which an operator should act, and below which a node soon refuses writes. */
const LOW_SPACE = 2_048 * MIB;
const NO_SPACE = 256 * MIB;
const RESTORE = 'restore a backup (tessera restore), or see docs/operations.md#backup-and-restore';

export function folderExamination({ node, network }: Config): Examination {
  const path = resolve(node.dataDir);
  return {
    name: 'folder',
    async run(signal) {
      const stats = statSync(path, { throwIfNoEntry: false });
      if (stats === undefined)
        return [ok('folder', `${path} does not exist: the first start makes it`), ...(await disk(path))];
      if (!stats.isDirectory())
        return [fail('folder', `${path} is not a folder`, 'name another one with node.data_dir')];
      const owned = owner(path, stats);
      if (owned.verdict === 'fail') return [owned];
      return [
        owned,
        await holder(path),
        ...(await contents(path, node.role, network.name, signal)),
        ...(await disk(path)),
      ];
    },
  };
}

function owner(path: string, { uid, mode }: Stats): Finding {
  const user = userInfo();
  if (user.uid !== 0 && uid !== user.uid) {
    const advice = `run the node, and this command, as the owner of the folder, or change the owner to ${user.username}`;
    return fail('folder', `${path} belongs to user ${uid}, and this is user ${user.uid}`, advice);
  }
  const shown = `${path}, mode ${(mode & 0o777).toString(8)}`;
  if ((mode & OTHERS) !== 0)
    return warn('folder', `${shown}: others may read it`, 'run chmod -R go= on it; a start does that too');
  return ok('folder', shown);
}

async function holder(path: string): Promise<Finding> {
  const pid = await lockHolder(path);
  return ok('lock', pid === undefined ? 'no process uses the folder' : `process ${pid} uses the folder`);
}

async function contents(path: string, role: string, network: string, signal: AbortSignal): Promise<readonly Finding[]> {
  let marker: Marker | undefined;
  try {
    await refuseHalfRestored(path);
    marker = await readMarker(path);
  } catch (error) {
    return [fail('marker', reasonOf(error), RESTORE)];
  }
  if (marker === undefined) return [await unmarked(path)];
  return [
    markerFinding(marker, role, network),
    ...(await keystore(path, marker)),
    ...(await databases(path, marker, signal)),
    ...(await putAside(path, marker)),
  ];
}

/** Findings about archives that were put aside because parts of them are not in the new one yet. */
async function putAside(path: string, { databases: names }: Marker): Promise<readonly Finding[]> {
  const folders = await Promise.all(names.map((name) => damagedFolders(path, name)));
  const advice =
    'start the node and look at /readyz, which says what is missing; if the folder stays, see docs/operations.md#a-damaged-archive';
  return folders.flat().map((folder) => warn('damage', `${folder} was damaged and put aside`, advice));
}

async function unmarked(path: string): Promise<Finding> {
  const found = await readdir(join(path, 'db')).catch(() => []);
  if (found.length === 0) return ok('marker', 'no node has used the folder yet');
  return fail('marker', 'there are databases but no marker (tessera.json)', RESTORE);
}

function markerFinding(marker: Marker, role: string, network: string): Finding {
  const other = 'name the right folder with node.data_dir, or the right configuration';
  if (marker.role !== role)
    return fail('marker', `the folder belongs to a ${marker.role} node, not to a ${role} node`, other);
  if (marker.network !== network) return fail('marker', `the folder belongs to the network "${marker.network}"`, other);
  if (marker.format > DATA_FORMAT) {
    const found = `the folder has format ${marker.format}, and this program knows formats up to ${DATA_FORMAT}`;
    return fail('marker', found, 'run the program that wrote it, or a newer one');
  }
  return ok('marker', `${marker.role} of the network "${marker.network}", format ${marker.format}`);
}

/** Checks the master key of a wallet, without which the wallet cannot be opened. */
async function keystore(path: string, { databases: names }: Marker): Promise<readonly Finding[]> {
  if (!names.includes('wallet')) return [];
  if (statSync(join(path, KEYSTORE_FILE), { throwIfNoEntry: false }) === undefined) {
    return [fail('keystore', `${KEYSTORE_FILE} is missing, and the wallet has keys`, RESTORE)];
  }
  const copies = await keystoreCopies(join(path, KEYSTORE_FILE));
  if (copies.length === 0) return [ok('keystore', `${KEYSTORE_FILE} is present`)];
  const found = `${KEYSTORE_FILE} is present; copies open with the passphrase of their time: ${copies.join(', ')}`;
  return [warn('keystore', found, 'remove them when no earlier version will be started again')];
}

async function databases(path: string, { databases: names }: Marker, signal: AbortSignal): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  for (const name of names) {
    if (signal.aborted) break;
    const check = `database ${name}`;
    try {
      const writes = await inspectDatabase(path, name, TABLE_BYTES);
      findings.push(ok(check, `${writes} writes, as its seal says; tessera verify reads all of it`));
    } catch (error) {
      findings.push(fail(check, reasonOf(error), RESTORE));
    }
  }
  return findings;
}

async function disk(path: string): Promise<readonly Finding[]> {
  let place = path;
  while (dirname(place) !== place && (await stat(place).catch(() => undefined)) === undefined) place = dirname(place);
  const { bavail, bsize, ffree, files } = await statfs(place);
  const free = bavail * bsize;
  const shown = `${Math.floor(free / MIB)} MiB free at ${place}`;
  const advice = 'free space, or move the folder to a larger disk';
  const inodes = files > 0 && ffree < 10_000 ? [warn('disk', `${ffree} inodes free at ${place}`, advice)] : [];
  if (free < NO_SPACE) return [fail('disk', shown, advice), ...inodes];
  return [free < LOW_SPACE ? warn('disk', shown, advice) : ok('disk', shown), ...inodes];
}

export function segmentExaminations(config: Config): readonly Examination[] {
  if (!factsOf(config.node.role).databases.includes('archive')) return [];
  return [
    { name: 'segments', run: () => segmentFindings(config) },
    { name: 'object store', run: (signal) => storeFindings(config, signal) },
  ];
}

async function segmentFindings({ node, storage }: Config): Promise<readonly Finding[]> {
  const names = await readdir(join(node.dataDir, 'segments')).catch(() => undefined);
  if (names === undefined) return [];
  const closed = closedAmong(names);
  const gap = gapIn(closed);
  const far = closed.filter(({ isHere }) => !isHere).length;
  if (gap !== undefined) {
    const advice = 'restore the file or a backup, or run tessera rebuild: missing blocks come from other storage nodes';
    return [fail('segments', `the file with the blocks from ${gap} on is missing`, advice)];
  }
  if (far > 0 && storage.segments.store === 'local') {
    const found = `${far} of ${closed.length} closed files are only in an object store, and none is configured`;
    return [fail('segments', found, 'set storage.segments as it was when they were put there')];
  }
  return [ok('segments', `${closed.length} closed files of blocks, ${far} of them only in the object store`)];
}

async function storeFindings(config: Config, signal: AbortSignal): Promise<readonly Finding[]> {
  const { far } = await segmentsOf({ path: config.node.dataDir }, config);
  if (far === undefined) return [];
  signal.addEventListener('abort', () => far.close(), { once: true });
  try {
    await far.store.probe();
    const { endpoint, bucket } = config.storage.segments;
    return [ok('object store', `${endpoint}, bucket ${bucket}, answers; tessera verify --store checks what it has`)];
  } catch (error) {
    return [fail('object store', reasonOf(error), 'see docs/operations.md#old-blocks-in-an-object-store')];
  }
}
