/**
 * The start of a storage node whose disk refuses what healing, or counting its unspent outputs, writes: it starts, says why it
 * is not ready, and goes on when there is room (docs/adr/0014-a-full-disk-ends-no-node.md, rule P7).
 */

import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm, truncate, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { encodeTxOut } from '../../src/chain/codec.js';
import { createConfig } from '../../src/config/load.js';
import { keyPairFromSeed } from '../../src/crypto/ed25519.js';
import { DataDir } from '../../src/db/data-dir.js';
import { endlessRoom } from '../../src/db/disk-room.js';
import type { Kv } from '../../src/db/kv.js';
import { TesseraError } from '../../src/lib/errors.js';
import { silentLogger } from '../../src/lib/logger.js';
import { systemRandom } from '../../src/lib/random.js';
import { openArchiveFiles } from '../../src/node/archive-files.js';
import type { RoleContext } from '../../src/node/roles/role.js';
import { StorageRole } from '../../src/node/roles/storage.js';
import { noMetrics } from '../../src/observability/metrics.js';
import { Progress } from '../../src/observability/progress.js';
import { Archive } from '../../src/storage/archive/archive.js';
import { UNSPENT, UNSPENT_TIP_KEY, unspentKey } from '../../src/storage/archive/layout.js';
import { unspentIn } from '../../src/storage/archive/unspent-outputs.js';
import { withWrite } from '../support/kv.js';
import { ManualClock, settle } from '../support/manual-clock.js';
import { createFakeNode } from '../support/storage/fake-network.js';
import { createTestChain, GENESIS, RULES } from '../support/storage/test-chain.js';

const BLOCKS = 4;
const chain = createTestChain().grow(BLOCKS);
const disk = { isFull: false, onWrite: (): void => undefined };

let path: string;
let directory: DataDir;
let clock: ManualClock;

beforeEach(async () => {
  path = await mkdtemp(join(tmpdir(), 'tessera-storage-role-'));
  clock = new ManualClock();
  disk.isFull = false;
  disk.onWrite = () => undefined;
  directory = await DataDir.open(path, { role: 'storage', networkName: 'test' });
  const archive = await Archive.open({ rules: RULES }, await openArchiveFiles(directory));
  for (const block of chain.blocks) await archive.store(block);
});

afterEach(async () => {
  await directory.close();
  await rm(path, { recursive: true });
});

async function change(edit: (kv: Kv, batch: ReturnType<Kv['batch']>) => Promise<void>): Promise<void> {
  await directory.close();
  directory = await DataDir.open(path, { role: 'storage', networkName: 'test' });
  const kv = await directory.open('archive');
  const batch = kv.batch();
  await edit(kv, batch);
  await kv.write(batch, { sync: true });
}

const onDisk = (kv: Kv): Kv =>
  withWrite(kv, async (batch, options) => {
    disk.onWrite();
    if (disk.isFull) throw new TesseraError('database_failed', 'no space left on device');
    await kv.write(batch, options);
  });

/** A role on the folder, whose disk is full while `disk` says so. */
async function openRole(settings: Readonly<Record<string, unknown>> = {}): Promise<StorageRole> {
  await directory.close();
  directory = await DataDir.open(path, { role: 'storage', networkName: 'test' });
  const dataDir = {
    path,
    adopt: (...args: Parameters<DataDir['adopt']>) => directory.adopt(...args),
    removeDerived: (name: string) => directory.removeDerived(name),
    open: async (...args: Parameters<DataDir['open']>) => onDisk(await directory.open(...args)),
    openDerived: async (name: string) => onDisk(await directory.openDerived(name)),
  };
  const context: Partial<RoleContext> = {
    config: createConfig('storage', {
      'network.secret': 'a secret of this test',
      'node.data_dir': path,
      'storage.verify_threads': 0,
      'mining.asert_activation_height': RULES.activationHeight,
      ...settings,
    }),
    genesis: GENESIS,
    dataDir: dataDir as unknown as DataDir,
    nodeKey: keyPairFromSeed(new Uint8Array(32).fill(1)),
    producers: undefined,
    network: createFakeNode('node', 'storage').network as RoleContext['network'],
    room: endlessRoom,
    clock,
    random: systemRandom,
    stopping: new AbortController().signal,
    logger: () => silentLogger,
    metrics: noMetrics,
    progress: (_name, options) => new Progress(options, { clock }),
  };
  return StorageRole.open(context as RoleContext);
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) {
    clock.advance(1_000);
    await settle();
  }
}

it('a full disk while its database is made again: it starts, says so, and goes on when there is room', async () => {
  await directory.removeDerived('archive');
  disk.isFull = true;
  const role = await openRole();
  await role.load();
  await role.start();
  expect(role.readiness()).toContain(
    'the archive cannot be prepared now, which is tried again: no space left on device',
  );
  await expect(role.services.storage?.blockAt(2)).rejects.toMatchObject({ code: 'archive_incomplete' });
  disk.isFull = false;
  await until(async () => role.readiness().length === 0);
  expect(await role.services.storage?.blockAt(BLOCKS - 1)).toMatchObject({ height: BLOCKS - 1 });
  await until(async () => role.services.chainIndex?.status().state === 'ready');
  await role.stop();
});

it('a full disk at its start: it asks its object store for blocks when there is room', async () => {
  let asked = 0;
  const empty = '<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>';
  const store = createServer((_request, response) => {
    asked += 1;
    response.setHeader('content-type', 'application/xml').end(empty);
  });
  await once(store.listen(0, '127.0.0.1'), 'listening');
  const { port } = store.address() as AddressInfo;
  await directory.removeDerived('archive');
  disk.isFull = true;
  const role = await openRole({
    'storage.segments.store': 's3',
    'storage.segments.endpoint': `http://127.0.0.1:${port}`,
    'storage.segments.bucket': 'blocks',
    'storage.segments.access_key': 'of this test',
    'storage.segments.secret_key': 'of this test, too',
  });
  await role.load();
  expect(asked).toBe(0);
  disk.isFull = false;
  await until(async () => asked > 0 && role.readiness().length === 0);
  expect(role.services.storage?.nextHeight).toBe(BLOCKS);
  await role.stop();
  store.close();
});

it('a damaged database is made again from the segments, without other nodes', async () => {
  await directory.close();
  const [log = ''] = (await readdir(join(path, 'db', 'archive'))).filter((name) => name.endsWith('.log'));
  await truncate(join(path, 'db', 'archive', log), 100);
  const role = await openRole();
  await role.load();
  expect(role.services.storage?.nextHeight).toBe(BLOCKS);
  expect(await role.services.storage?.blockAt(BLOCKS - 1)).toMatchObject({ height: BLOCKS - 1 });
  await role.stop();
});

it('blocks of an older data format go to segments while it serves', async () => {
  await directory.close();
  await rm(path, { recursive: true });
  directory = await DataDir.open(path, { role: 'storage', networkName: 'test' });
  const old = await Archive.open({ rules: RULES }, { kv: await directory.open('archive') });
  for (const block of chain.blocks) await old.store(block);
  const role = await openRole();
  await role.load();
  const said = new Set<string>();
  await role.start();
  expect(await role.services.storage?.blockAt(2)).toMatchObject({ height: 2 });
  await until(async () => {
    for (const reason of role.degraded()) said.add(reason);
    return role.readiness().length === 0 && existsSync(join(path, 'segments', 'whole'));
  });
  expect([...said]).toContainEqual(expect.stringMatching(/^bringing over the archive: \d+ %, \d of 4 blocks$/));
  await until(async () => role.degraded().length === 0);
  expect(await role.services.storage?.blockAt(2)).toMatchObject({ height: 2 });
  await role.stop();
});

it('unspent outputs of an older version are rewritten, and it says how far that is until it is ready', async () => {
  await change(async (kv, batch) => {
    for await (const [{ tHash, n }, txOut] of unspentIn(kv)) {
      const key = Buffer.from(`u${tHash}....`);
      key.writeUInt32BE(n >>> 0, key.length - 4);
      batch.del(unspentKey({ tHash, n })).put(key, encodeTxOut(txOut));
    }
  });
  const role = await openRole();
  const said: string[] = [];
  disk.onWrite = () => void said.push(...role.readiness());
  await role.load();
  const ofRewriting = said.filter((one) => /^rewriting the unspent outputs: \d+ %, \d+ of 256 parts$/.test(one));
  expect(ofRewriting).toEqual(said);
  expect(said).not.toEqual([]);
  expect(role.readiness()).toEqual([]);
  await role.stop();
});

it('a full disk while it counts what is unspent: it starts, serves blocks, and counts when there is room', async () => {
  await change(async (kv, batch) => {
    batch.del(UNSPENT_TIP_KEY);
    for await (const [key] of kv.entries(UNSPENT)) batch.del(key);
  });
  disk.isFull = true;
  const role = await openRole();
  await role.load();
  await role.start();
  expect(role.readiness()).toContain(
    'the archive cannot be prepared now, which is tried again: no space left on device',
  );
  expect(await role.services.storage?.blockAt(2)).toMatchObject({ height: 2 });
  disk.isFull = false;
  await until(async () => role.readiness().length === 0);
  await role.stop();
});

it('what an interrupted removal has left is removed at the start', async () => {
  const left = join(path, 'removed-archive-1');
  await mkdir(left);
  await writeFile(join(left, '000005.ldb'), 'a part');
  const role = await openRole();
  await role.load();
  expect(existsSync(left)).toBe(false);
  expect(role.services.storage?.nextHeight).toBe(BLOCKS);
  await role.stop();
});
