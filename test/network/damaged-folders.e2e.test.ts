/**
 * Each role's node on a folder whose store was damaged while it was off: it does not start, says what is wrong by its code
 * and what to do, and starts again with what the backup has (rules P3, P7). A storage node heals: by itself when there is
 * another one, else with `tessera rebuild` (docs/adr/0015-damaged-archives-heal.md).
 */

import { cp, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCli } from '../../src/cli/run.js';
import { NodeClient } from '../../src/client/client.js';
import { devAccounts } from '../../src/config/dev-accounts.js';
import { createContext } from '../support/cli-context.js';
import { createNetwork, type Network, type NodeProcess, until } from '../support/processes.js';

let network: Network;
const nodes = new Map<string, NodeProcess>();

/** Nodes that have made blocks and paid, were stopped, and were started once more: their stores have tables and logs. */
beforeAll(async () => {
  network = await createNetwork();
  const add = async (...args: Parameters<Network['add']>): Promise<NodeProcess> => {
    const node = await network.add(...args);
    nodes.set(node.role, node);
    return node;
  };
  const storage = await add('storage', 'storage');
  const mempool = await add('mempool', 'mempool', { 'peers.storage': storage.peerAddress, 'mining.instant': true });
  const peers = { 'peers.mempool': mempool.peerAddress };
  const miner = await add('miner', 'miner', { ...peers, 'wallet.genesis_seed_index': 1 });
  const user = await add('user', 'user', { ...peers, 'wallet.genesis_seed_index': 0 });
  const all = [storage, mempool, miner, user];
  await payOnce(user, storage);
  for (const node of [...all].reverse()) await node.stop();
  await Promise.all(all.map((node) => node.start()));
  await payOnce(user, storage);
  for (const node of [...all].reverse()) await node.stop();
});

afterAll(() => network?.stopAll());

/** A payment, and the block that has it, in storage. */
async function payOnce(user: NodeProcess, storage: NodeProcess): Promise<void> {
  const address = devAccounts().accounts[0]?.address ?? '';
  const api = new NodeClient({ url: user.apiUrl }).api;
  const hash = await until('a payment', async () => {
    const paid = await api.createPayment({ body: { kind: 'address', address, amount: 1_000n, passphrase: '' } });
    return paid.tx_hash ?? undefined;
  });
  const key = { body: { keys: [hash] } };
  await until('its block', async () =>
    (await new NodeClient({ url: storage.apiUrl }).api.queryBlockchainEntries(key)).length > 0 ? true : undefined,
  );
}

/** The largest file of a database with that ending. */
async function largest(database: string, ending: string): Promise<string> {
  const names = (await readdir(database)).filter((name) => name.endsWith(ending));
  const sized = await Promise.all(
    names.map(async (name) => ({ file: join(database, name), size: (await stat(join(database, name))).size })),
  );
  const [first] = sized.sort((a, b) => b.size - a.size);
  if (first === undefined || first.size === 0) throw new Error(`no ${ending} file with anything in it`);
  return first.file;
}

type Damage = (database: string) => Promise<void>;

const cutLog: Damage = async (database) => {
  const file = await largest(database, '.log');
  await truncate(file, Math.floor((await stat(file)).size / 2));
};
const deleteLog: Damage = async (database) => rm(await largest(database, '.log'));
const emptyTable: Damage = async (database) => truncate(await largest(database, '.ldb'), 0);

const LOST = /tessera: data_lost: /;
const CORRUPT = /tessera: data_corrupt: /;
const WAYS_BACK: Readonly<Record<string, RegExp>> = {
  mempool: /restore the data directory from a backup/,
  user: /restore the data directory from a backup, and keep what is there/,
};

const DAMAGES: readonly [what: string, damage: Damage, said: RegExp][] = [
  ['has a log that was cut', cutLog, LOST],
  ['lost its log', deleteLog, LOST],
  ['has a table that was emptied', emptyTable, CORRUPT],
];

describe.each([
  ['mempool', 'journal', DAMAGES],
  // A miner has the same wallet. What finds damage is the same for all databases.
  ['user', 'wallet', process.env.LONG_TESTS === undefined ? DAMAGES.slice(-1) : DAMAGES],
] as const)('a %s node whose %s', (role, database, damages) => {
  it.each(damages)(
    '%s: ends with status 1, the error by its name, and the way back, which works',
    async (_what, damage, said) => {
      const node = nodes.get(role);
      if (node === undefined) throw new Error(`no ${role} node`);
      const backup = `${node.folder}.backup`;
      await cp(node.folder, backup, { recursive: true });
      // A journal has no tables.
      await damage(join(node.folder, 'db', damage === emptyTable && database === 'journal' ? 'mempool' : database));
      const error = await node.start().then(
        () => new Error('it has started'),
        (thrown: unknown) => thrown as Error,
      );
      expect(error.message).toContain(`${role} ended with 1`);
      expect(error.message).toMatch(said);
      expect(error.message).toMatch(WAYS_BACK[role] ?? /^$/);
      const restore = async (): Promise<void> => {
        await rm(node.folder, { recursive: true });
        await cp(backup, node.folder, { recursive: true });
      };
      await restore();
      // The same folder is put back after each damage: one start of it is enough.
      if (damage === emptyTable) {
        await node.start();
        expect(await node.stop()).toBe(0);
        // The start has moved what was in the log into tables.
        await restore();
      }
      await rm(backup, { recursive: true });
    },
  );
});

describe('a storage node whose archive is damaged', () => {
  let storage: NodeProcess;
  let truth: readonly string[];

  const of = (role: string): NodeProcess => {
    const node = nodes.get(role);
    if (node === undefined) throw new Error(`no ${role} node`);
    return node;
  };

  /** The answers for all blocks, as they are. */
  async function blocksOf({ apiUrl }: NodeProcess): Promise<string[]> {
    const latest = (await (await fetch(`${apiUrl}/v1/blocks/latest`)).json()) as Latest;
    const count = latest.block.block.header.b_num + 1;
    const texts: string[] = [];
    for (let height = 0; height < count; height++) {
      const response = await fetch(`${apiUrl}/v1/blocks/${height}`);
      if (!response.ok) throw new Error(`block ${height}: ${response.status}`);
      texts.push(await response.text());
    }
    return texts;
  }

  async function flipByte({ folder }: NodeProcess): Promise<void> {
    const segments = join(folder, 'segments');
    const [first = ''] = (await readdir(segments)).sort();
    const bytes = await readFile(join(segments, first));
    bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 0x08;
    await writeFile(join(segments, first), bytes);
  }

  async function expectHealed(node: NodeProcess): Promise<void> {
    await until('all blocks', async () => ((await blocksOf(node)).length === truth.length ? true : undefined));
    expect(await blocksOf(node)).toEqual(truth);
    await until('the end of it in the log', async () => node.log().includes('the archive is whole again') || undefined);
    expect((await readdir(node.folder)).filter((name) => /^(damaged|removed)/.test(name))).toEqual([]);
  }

  beforeAll(async () => {
    storage = of('storage');
    await storage.start();
    await of('mempool').start();
    truth = await blocksOf(storage);
    expect(truth.length).toBeGreaterThan(1);
  });

  it.each<[what: string, damage: Damage]>([
    ['a table that was emptied', emptyTable],
    ['nothing', (database) => rm(database, { recursive: true })],
  ])('makes its database again from the segments when it starts, of which %s is left', async (_what, damage) => {
    await storage.stop();
    await damage(join(storage.folder, 'db', 'archive'));
    await storage.start();
    await expectHealed(storage);
  });

  it('takes a damaged block from another storage node, and serves every block as before', async () => {
    const mirror = await network.add('mirror', 'storage', { 'peers.storage': storage.peerAddress });
    await until('the copy', async () => ((await blocksOf(mirror)).length === truth.length ? true : undefined));
    await mirror.stop();
    await flipByte(mirror);
    await rm(join(mirror.folder, 'db', 'archive'), { recursive: true });
    await mirror.start();
    await expectHealed(mirror);
    expect(mirror.log()).toMatch(/block \d+ is damaged in the segment 0000000000\.open/);
    expect(await mirror.stop()).toBe(0);
  });

  it('alone, with a segment that was cut: is refused by name, and after tessera rebuild the mempool node delivers the rest', async () => {
    await storage.stop();
    const file = join(storage.folder, 'segments', '0000000000.open');
    await truncate(file, Math.floor((await stat(file)).size * 0.9));
    const error = await storage.start().then(
      () => new Error('it has started'),
      (thrown: unknown) => thrown as Error,
    );
    expect(error.message).toMatch(LOST);
    expect(error.message).toMatch(
      /run tessera rebuild.* or restore the data directory from a backup; .*other storage nodes/s,
    );
    const context = createContext();
    const status = await runCli(
      ['rebuild', '--role', 'storage', '--config', 'config/dev.toml', '--data', storage.folder],
      context,
    );
    expect([status, context.out()], context.err()).toEqual([0, expect.stringMatching(/^rebuilt with \d+ blocks$/m)]);
    await storage.start();
    await until('all blocks', async () => ((await blocksOf(storage)).length === truth.length ? true : undefined));
    expect(await blocksOf(storage)).toEqual(truth);
  });

  it('has all blocks for a mempool node with two damaged databases, after tessera rebuild', async () => {
    const mempool = of('mempool');
    await mempool.stop();
    await deleteLog(join(mempool.folder, 'db', 'journal'));
    await emptyTable(join(mempool.folder, 'db', 'mempool'));
    const error = await mempool.start().then(
      () => new Error('it has started'),
      (thrown: unknown) => thrown as Error,
    );
    expect(error.message).toMatch(/tessera: data_(lost|corrupt): .*run tessera rebuild/s);
    const context = createContext();
    const flags = ['--role', 'mempool', '--config', 'config/dev.toml', '--data', mempool.folder];
    expect(await runCli(['rebuild', ...flags], context), context.err()).toBe(0);
    await mempool.start();
    await Promise.all([of('miner').start(), of('user').start()]);
    await payOnce(of('user'), storage);
    expect((await blocksOf(storage)).slice(0, truth.length)).toEqual(truth);
  });
});

interface Latest {
  readonly block: { readonly block: { readonly header: { readonly b_num: number } } };
}
