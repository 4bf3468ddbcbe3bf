/**
 * A storage node of a running network whose old blocks are in an object store, which goes away: what the node has goes on, and what it
 * has not is answered with the reason (docs/adr/0059-old-blocks-in-an-object-store.md).
 */

import { execFile } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { transactionToCreateJson } from '../../src/chain/create-transaction.js';
import { transactionHash } from '../../src/chain/hash.js';
import { NodeClient } from '../../src/client/client.js';
import { type DevAccount, devAccounts } from '../../src/config/dev-accounts.js';
import { splitFor } from '../soak/writers.js';
import { canMakeFaultyDisks, FaultyDisk } from '../support/faulty-disk/faulty-disk.js';
import { hasObjectStore, type RunningStore, SECRET_KEY, startObjectStore } from '../support/object-store.js';
import { createNetwork, MAIN, type Network, type NodeProcess, type Nodes, until } from '../support/processes.js';

/** One transaction with so many outputs fills a segment. */
const OUTPUTS = 900;

let store: RunningStore;
let disk: FaultyDisk | undefined;
let network: Network;
let nodes: Nodes;
/** Accounts whose coin is not spent yet. */
const owners: DevAccount[] = [...devAccounts().accounts];

const options = () => ({
  ...store.options(),
  'network.name': 'test',
  'storage.index': true,
  'storage.segment_bytes': 65_536,
  'storage.segments.local_bytes': 0,
  'storage.segments.cache_bytes': 0,
  'storage.cache_bytes': 0,
});

beforeAll(async () => {
  if (!hasObjectStore) return;
  store = await startObjectStore();
  if (canMakeFaultyDisks) disk = await FaultyDisk.create();
  const environment = () => ({ TESSERA_STORAGE__SEGMENTS__SECRET_KEY: SECRET_KEY, ...disk?.environment() });
  network = await createNetwork({ environment });
  nodes = await network.addAll({ 'network.name': 'test' }, { storage: options() });
  while (owners.length > 2) await pay();
  await until('blocks that only the store has', async () => ((await far(nodes.storage)) > 3 ? true : undefined));
});

afterAll(async () => {
  await network?.stopAll();
  await store?.dispose();
  await disk?.remove();
});

/** Closed segments that the folder of a node has no file of. */
async function far({ folder }: NodeProcess): Promise<number> {
  const names = await readdir(join(folder, 'segments'));
  return names.filter((name) => name.endsWith('.stored') && !names.includes(name.replace('.stored', '.blocks'))).length;
}

/** All closed segments of a node. */
async function closed({ folder }: NodeProcess): Promise<number> {
  const names = await readdir(join(folder, 'segments'));
  return new Set(names.flatMap((name) => (name.includes('-') ? [name.slice(0, 10)] : []))).size;
}

/** Fills a block; resolves with the hash of its transaction when storage has it. */
async function pay(): Promise<string> {
  const owner = owners.shift();
  if (owner === undefined) throw new Error('all coins are spent');
  const transaction = splitFor(owner, [owner.address], OUTPUTS);
  const body = { transactions: [transactionToCreateJson(transaction)] };
  await new NodeClient({ url: nodes.mempool.apiUrl }).api.createTransactions({ body });
  const hash = transactionHash(transaction);
  await until('the block', async () =>
    (await ask(`/v1/blockchain-entries/${hash}`)).status === 200 ? true : undefined,
  );
  return hash;
}

async function ask(path: string, { apiUrl }: NodeProcess = nodes.storage) {
  const response = await fetch(`${apiUrl}${path}`);
  const body = (await response.json()) as Record<string, unknown>;
  return {
    status: response.status,
    type: response.headers.get('content-type')?.split(';')[0],
    body,
    headers: response.headers,
  };
}

/** `tessera verify --store`: exit status, and what it says. */
async function verify(): Promise<readonly [code: number, text: string]> {
  const sets = Object.entries(options()).flatMap(([name, value]) => ['--set', `${name}=${value}`]);
  const env = { ...process.env, TESSERA_STORAGE__SEGMENTS__SECRET_KEY: SECRET_KEY };
  const words = [MAIN, 'verify', '--store', '--role', 'storage', '--config', 'config/dev.toml', ...sets];
  return promisify(execFile)(process.execPath, words, { env }).then(
    ({ stdout }) => [0, stdout] as const,
    ({ code, stderr }: { code: number; stderr: string }) => [code, stderr] as const,
  );
}

describe.runIf(hasObjectStore)('tessera verify --store', () => {
  let segments: string[] = [];

  it('says how many segments and blocks a sound bucket has', async () => {
    const isThere = async () => ((await store.names()).length === (await closed(nodes.storage)) ? true : undefined);
    await until('uploads', isThere);
    segments = await store.names();
    const last = Number(segments.at(-1)?.slice(11, 21));
    const found = `${segments.length} segments with ${last + 1} blocks, all with the digests of their names\n`;
    expect(await verify()).toEqual([0, found]);
  });

  it('names a segment with other bytes, or one that lacks a block', async () => {
    const [, , name = ''] = segments;
    const bytes = await store.bytes(name);
    await store.write(name, Buffer.from(bytes).fill(1, 500, 501));
    expect(await verify()).toEqual([
      1,
      expect.stringMatching(`archive_incomplete.*other bytes for the segment ${name}`),
    ]);
    await store.remove(name);
    const missing = Number(name.slice(0, 10));
    expect(await verify()).toEqual([1, expect.stringMatching(`archive_incomplete.*no segment with block ${missing}`)]);
    await store.write(name, bytes);
    expect((await verify())[0]).toBe(0);
  });

  it('says so when the store is away, and does not show the key', async () => {
    await store.kill();
    const [code, text] = await verify();
    expect([code, text]).toEqual([1, expect.stringMatching(/cannot be reached/)]);
    expect(text).not.toContain(SECRET_KEY);
    await store.start();
  });
});

describe.runIf(hasObjectStore && canMakeFaultyDisks)('with a disk that has no room for what is fetched', () => {
  it('old blocks are read all the same', async () => {
    await disk?.set('change fetched ENOSPC');
    expect(await ask('/v1/blocks/3')).toMatchObject({ status: 200 });
    expect(await ask('/v1/blocks/3')).toMatchObject({ status: 200 });
    expect((await disk?.hits())?.length).toBeGreaterThan(0);
    await disk?.set();
  });

  it('a new node waits for room, as with every full disk, says so in its log, and takes its blocks then', async () => {
    await disk?.set('change fetched ENOSPC');
    const fresh = network.make('fresh', 'storage', options());
    const starting = fresh.start();
    await until('the reason', async () => (/ENOSPC|no space/.test(fresh.log()) ? true : undefined));
    await disk?.set();
    await starting;
    expect(await ask('/v1/blocks/3', fresh)).toMatchObject({ status: 200 });
    await fresh.stop();
  });
});

describe.runIf(hasObjectStore)('a new node', () => {
  it('whose store is away waits for it, says so, and takes its blocks when it is back', async () => {
    await store.kill();
    const late = await network.add('late', 'storage', options());
    const { status, body } = await ask('/readyz', late);
    const reasons = [/gives no more blocks.* cannot be reached/, /the object store at/];
    expect([status, body.reasons]).toEqual([503, reasons.map((reason) => expect.stringMatching(reason))]);
    await store.start();
    await until('blocks', async () => ((await ask('/v1/blocks/3', late)).status === 200 ? true : undefined));
    await late.stop();
  });
});

describe.runIf(hasObjectStore)('while the object store cannot be reached', () => {
  /** No part of them has been read before. */
  const old = ['/v1/blocks/4', '/v1/chain/blocks/5/transactions'];
  let first = '';

  beforeAll(async () => {
    const block = await ask('/v1/blocks/2');
    first = JSON.stringify(block.body);
    expect(block.status).toBe(200);
    await store.kill();
  });

  it('old blocks are answered with 503, a problem document and the reason', async () => {
    for (const path of old) {
      const { status, type, body, headers } = await ask(path);
      expect([path, status, type]).toEqual([path, 503, 'application/problem+json']);
      expect(body).toMatchObject({
        code: 'archive_incomplete',
        detail: expect.stringMatching(/the object store at .* cannot be reached/),
      });
      expect(headers.get('retry-after')).not.toBeNull();
    }
  });

  it('new blocks are stored, and recent ones are read', async () => {
    const hash = await pay();
    expect(await ask(`/v1/chain/transactions/${hash}`)).toMatchObject({ status: 200 });
    expect(await ask('/v1/blocks/latest')).toMatchObject({ status: 200 });
    expect(await ask('/v1/blocks/0')).toMatchObject({ status: 200 });
  });

  it('/readyz stays at 200, so that no balancer takes the node out, and names it, as the log does', async () => {
    const reason =
      /^closed segments stay here until the object store takes them: the object store at .* cannot be reached/;
    await until('the reason', async () => ((await ask('/readyz')).body.status === 'degraded' ? true : undefined));
    expect(await ask('/readyz')).toMatchObject({ status: 200, body: { reasons: [expect.stringMatching(reason)] } });
    expect(nodes.storage.log()).toMatch(/"level":50.*closed segments stay here until the object store takes them/);
    expect(nodes.storage.log()).not.toContain(SECRET_KEY);
  });

  it('it starts, and goes on when the store is back', async () => {
    await nodes.storage.stop();
    await nodes.storage.start();
    expect(await ask('/v1/blocks/2')).toMatchObject({ status: 503, body: { code: 'archive_incomplete' } });
    await pay();
    await store.start();
    await until('all well', async () => ((await ask('/readyz')).body.status === 'ok' ? true : undefined));
    expect(JSON.stringify((await ask('/v1/blocks/2')).body)).toBe(first);
  });
});
