/** Several nodes in this process: they are started together, and the end of one is that of all, by its name. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { loadProcess } from '../../src/config/load.js';
import { PACKAGE_CONFIG_DIR } from '../../src/config/option-table.js';
import { IN_CODE } from '../../src/config/sources.js';
import { runningNode } from '../../src/db/folder-lock.js';
import { NodeGroup, type NodeGroupOptions } from '../../src/node/node-group.js';
import { NodeLogger } from '../../src/observability/logger.js';
import { until } from '../support/processes.js';

/** Without wallets, which are slow to open on purpose. */
function optionsIn(folder: string, options: Readonly<Record<string, unknown>>): NodeGroupOptions {
  const all = {
    'node.data_dir': folder,
    'api.port': 0,
    'peers.port': 0,
    'wallet.enabled': false,
    'mining.static_address': 'ab'.repeat(32),
    ...options,
  };
  const { nodes, joint } = loadProcess({
    role: 'mempool,storage,miner',
    file: join(PACKAGE_CONFIG_DIR, 'dev.toml'),
    flags: Object.entries(all).map(([option, value]) => ({ option, value, flag: IN_CODE })),
  });
  if (joint === undefined) throw new Error('several roles are given');
  return { nodes, joint: joint.config };
}

const silent = NodeLogger.create({ level: 'silent', format: 'json' });

function groupIn(folder: string, options: Readonly<Record<string, unknown>>): NodeGroup {
  const group = new NodeGroup(optionsIn(folder, options), { logger: silent });
  onTestFinished(() => group.stop());
  return group;
}

async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'tessera-test-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

const height = (group: NodeGroup): number => group.nodes.get('mempool')?.services.mempool?.figures().height ?? -1;

/** Makes block 0 in the folder, and ends. */
async function begin(folder: string, address: string): Promise<void> {
  const group = groupIn(folder, { 'mining.static_address': address });
  await group.start();
  await until('block 0 to be stored', async () => (height(group) >= 0 ? true : undefined));
  await group.stop();
}

it('fails with the error of a node that cannot go on, and can be stopped', async () => {
  const [one, other] = [await temporaryFolder(), await temporaryFolder()];
  await begin(one, 'aa'.repeat(32));
  await begin(other, 'bb'.repeat(32));
  // A mempool node that finds another chain in storage must not go on (rule P4).
  const mixed = groupIn(one, { 'role.storage.node.data_dir': join(other, 'storage') });
  const failure = mixed.failed.catch((error: unknown) => error);
  // The failure may come before all of them are up.
  await mixed.start().catch(() => undefined);
  expect(await failure).toMatchObject({
    code: 'other_chain',
    message: expect.stringContaining('the mempool node: the storage node'),
  });
  await mixed.stop();
  await expect(fetch(`${mixed.apiUrl}/livez`)).rejects.toThrow();
  const folders = [join(one, 'mempool'), join(other, 'storage'), join(one, 'miner')];
  expect(folders.map((folder) => runningNode(folder).isThere)).toEqual([false, false, false]);
});

it('goes on with the keys of a configuration that is read again while they start', async () => {
  const folder = await temporaryFolder();
  const options = (key: string) =>
    optionsIn(folder, { 'api.auth': 'keys', 'api.keys': [{ name: 'ops', key }], 'role.mempool.api.port': 0 });
  const group = new NodeGroup(options('first-key-0123456789'), { logger: silent });
  onTestFinished(() => group.stop());
  const starting = group.start();
  await group.reload(options('second-key-0123456789'));
  await starting;
  const urls = [group.apiUrl, group.nodes.get('mempool')?.apiUrl ?? ''];
  expect(new Set(urls).size).toBe(2);
  for (const url of urls) {
    const status = async (key: string): Promise<number> =>
      (await fetch(`${url}/v1/items`, { method: 'POST', headers: { 'x-api-key': key } })).status;
    expect([url, await status('first-key-0123456789'), await status('second-key-0123456789')]).toEqual([url, 401, 400]);
  }
});

it('does not start when one of them cannot, and says which', async () => {
  const folder = await temporaryFolder();
  const group = groupIn(folder, { 'role.storage.node.data_dir': join(folder, 'mempool') });
  await expect(group.start()).rejects.toMatchObject({
    // One of the two is first.
    code: expect.stringMatching(/^data_dir_(locked|invalid)$/),
    message: expect.stringMatching(/^the (mempool|storage) node: .*the data directory/),
  });
  await group.stop();
});
