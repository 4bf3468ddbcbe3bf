/** Commands and configurations of several roles (docs/operations.md#a-small-network-in-one-process). */

import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse as parseToml } from 'smol-toml';
import { describe, expect, it, onTestFinished } from 'vitest';
import { accessNode, type WantedNode } from '../../src/cli/node-access.js';
import { runCli } from '../../src/cli/run.js';
import { runNode } from '../../src/cli/start.js';
import { lockFolder, noteApi } from '../../src/db/folder-lock.js';
import { createDeferred } from '../../src/lib/deferred.js';
import type { NodeGroupOptions } from '../../src/node/node-group.js';
import { createContext, parseFor } from '../support/cli-context.js';

const ALL = 'mempool,storage,miner,user';
const KEY = 'a'.repeat(64);
const WALLET: WantedNode = { roles: ['user', 'miner'], refusal: (role) => `${role} has no wallet` };
const STORAGE: WantedNode = { roles: ['storage'], refusal: (role) => `${role} has no blocks` };

/** The data folder of a process with all roles, and a file that names both. */
async function network(): Promise<{ readonly data: string; readonly file: string }> {
  const data = await mkdtemp(join(tmpdir(), 'tessera-test-'));
  onTestFinished(() => rm(data, { recursive: true, force: true }));
  const file = join(data, 'network.toml');
  const options = `node = { role = "${ALL}", data_dir = "." }\nnetwork.secret = "${'s'.repeat(16)}"\n`;
  await writeFile(file, `${options}api.port = 1\nrole.miner.api.port = 2\n`);
  await writeFile(join(data, 'api-key'), `${KEY}\n`);
  return { data, file };
}

describe('start with several roles', () => {
  it('makes their nodes and the one address, and hands them what SIGHUP reads', async () => {
    const { file } = await network();
    const context = createContext();
    const started = createDeferred<void>();
    const reloaded = createDeferred<NodeGroupOptions>();
    let made: NodeGroupOptions | undefined;
    const createGroup = (options: NodeGroupOptions) => {
      made = options;
      return {
        start: async () => started.resolve(),
        stop: async () => undefined,
        failed: new Promise<never>(() => undefined),
        reload: async (next: NodeGroupOptions) => reloaded.resolve(next),
        apiUrl: 'http://127.0.0.1:1',
        nodes: new Map(),
      };
    };
    const createNode = () => Promise.reject(new Error('several nodes are wanted'));
    const args = await parseFor('start', '--config', file, '-l', 'silent');
    const status = runNode(args, context, async () => ({ createNode, createGroup }));
    await started.promise;
    expect(made?.joint.api.port).toBe(1);
    expect(made?.nodes.map(({ config, hasOwnApi }) => [config.node.role, hasOwnApi])).toEqual([
      ['mempool', false],
      ['storage', false],
      ['miner', true],
      ['user', false],
    ]);
    await writeFile(file, `node.role = "${ALL}"\nnetwork.secret = "${'s'.repeat(16)}"\napi.auth = "open"\n`);
    context.raise('SIGHUP');
    expect((await reloaded.promise).joint.api.auth).toBe('open');
    context.raise('SIGTERM');
    expect(await status).toBe(0);
  });
});

describe('a command that asks a node of such a process', () => {
  const access = async (file: string, wanted: WantedNode, ...flags: string[]) => {
    const args = await parseFor('wallet balance', '--config', file, ...flags);
    return accessNode(args, createContext(), wanted);
  };

  it('takes the one that can do it, at the address of the process, with its key', async () => {
    const { file } = await network();
    expect(await access(file, WALLET)).toMatchObject({ url: 'http://127.0.0.1:1', apiKey: KEY });
    expect(await access(file, STORAGE)).toMatchObject({ url: 'http://127.0.0.1:1', apiKey: KEY });
  });

  it('finds the address in the folder of its role while the process runs', async () => {
    const { data, file } = await network();
    const folder = join(data, 'user');
    await mkdir(folder);
    const unlock = await lockFolder(folder);
    onTestFinished(unlock);
    await noteApi(folder, 'http://127.0.0.1:4321');
    expect(await access(file, WALLET)).toMatchObject({ url: 'http://127.0.0.1:4321', apiKey: KEY });
  });

  it('asks a node with an address of its own there, with the key of its own folder', async () => {
    const { data, file } = await network();
    const asked = await access(file, WALLET, '--role', 'miner');
    expect(asked).toMatchObject({ url: 'http://127.0.0.1:2', apiKey: undefined });
    await mkdir(join(data, 'miner'));
    await writeFile(join(data, 'miner', 'api-key'), `${'b'.repeat(64)}\n`);
    expect((await access(file, WALLET, '--role', 'miner')).apiKey).toBe('b'.repeat(64));
  });
});

describe('config', () => {
  it('shows the nodes and the address that they have in common, or the one that --role names', async () => {
    const { data, file } = await network();
    const context = createContext();
    expect(await runCli(['config', '--config', file], context)).toBe(0);
    const parts = context.out().split(/^# The .*$/m);
    const folders = parts.slice(1).map((part) => parseToml(part) as { node: { data_dir: string } });
    const places = ['', 'mempool', 'storage', 'miner', 'user'].map((role) => join(data, role).replace(/\/$/, ''));
    expect(folders.map(({ node }) => node.data_dir)).toEqual(places);

    const json = createContext();
    expect(await runCli(['config', '--json', '--config', file], json)).toBe(0);
    expect(Object.keys(JSON.parse(json.out()))).toEqual(['network', 'mempool', 'storage', 'miner', 'user']);
    const one = createContext();
    expect(await runCli(['config', '--json', '--config', file, '--role', 'user'], one)).toBe(0);
    expect(Array.isArray(JSON.parse(one.out()))).toBe(true);
  });
});

it.each([[['backup', 'DIR']], [['restore', 'DIR']], [['verify']], [['rebuild']]])(
  '%j says which roles it can be called for',
  async (words) => {
    const { file } = await network();
    const context = createContext();
    expect(await runCli([...words, '--config', file], context)).toBe(1);
    expect(context.err()).toContain('--role mempool|storage|miner|user');
  },
);
