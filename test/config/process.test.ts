/** Configurations of several roles: what is said once, what of one role, and what each node has for itself. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type ConfigInput, type LoadedConfig, loadConfig, loadProcess } from '../../src/config/load.js';
import { IN_CODE } from '../../src/config/sources.js';
import type { ConfigProblem } from '../../src/config/values.js';
import { isTesseraError } from '../../src/lib/errors.js';
import { NODE_ROLES, type NodeRole } from '../../src/lib/roles.js';

const ALL = NODE_ROLES.join(',');

function file(text: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'tessera-config-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'network.toml');
  writeFileSync(path, text);
  return path;
}

function problemsOf(load: () => unknown): readonly ConfigProblem[] {
  try {
    load();
  } catch (error) {
    if (!isTesseraError(error, 'invalid_config')) throw error;
    return error.details.problems as ConfigProblem[];
  }
  return [];
}

const flags = (options: Readonly<Record<string, unknown>>): NonNullable<ConfigInput['flags']> =>
  Object.entries(options).map(([option, value]) => ({ option, value, flag: IN_CODE }));

/** The nodes by role, from the file that ships and these options. */
function nodesOf(options: Readonly<Record<string, unknown>> = {}, role = ALL): Record<NodeRole, LoadedConfig> {
  const { nodes } = loadProcess({ role, cwd: '/home', flags: flags(options) });
  return Object.fromEntries(nodes.map((node) => [node.config.node.role, node])) as Record<NodeRole, LoadedConfig>;
}

describe('the network that ships (config/network.toml)', () => {
  it('has four nodes with the folders and ports that they have as four processes, linked to each other', () => {
    for (const [role, { config, warnings }] of Object.entries(nodesOf())) {
      const alone = loadConfig({ role, cwd: '/home' }).config;
      expect(config.node).toEqual(alone.node);
      expect([config.peers, config.network.name, config.mining, config.mempool]).toEqual([
        alone.peers,
        alone.network.name,
        role === 'mempool' ? alone.mining : config.mining,
        role === 'mempool' ? alone.mempool : config.mempool,
      ]);
      expect(config.wallet).toEqual(alone.wallet);
      expect(warnings).toEqual([]);
    }
  });

  it('is reached at one address, port 8080, and its miner at another too, whose wallet would be out of reach', () => {
    const { joint, nodes } = loadProcess({ role: ALL, cwd: '/home' });
    expect(joint?.config.api.port).toBe(8080);
    expect(nodes.map(({ config, hasOwnApi, keyFolder }) => [config.api.port, hasOwnApi, keyFolder])).toEqual([
      [8080, false, '/home/.tessera'],
      [8080, false, '/home/.tessera'],
      [3004, true, '/home/.tessera/miner'],
      [8080, false, '/home/.tessera'],
    ]);
    expect(nodesOf({}, 'miner,mempool').miner.hasOwnApi).toBe(false);
  });
});

describe('what is said once', () => {
  it('is the folder above those of the nodes, the address of all, and the beginning of their names', () => {
    const options = { 'node.data_dir': '/data', 'api.port': 80, 'node.name': 'home' };
    const { joint, nodes } = loadProcess({ role: 'mempool,storage', flags: flags(options) });
    expect(joint?.config.node).toMatchObject({ dataDir: '/data', name: 'home' });
    expect(joint?.config.api.port).toBe(80);
    expect(nodes.map(({ config }) => config.node)).toMatchObject([
      { role: 'mempool', dataDir: '/data/mempool', name: 'home-mempool' },
      { role: 'storage', dataDir: '/data/storage', name: 'home-storage' },
    ]);
  });

  it('adds peers elsewhere to those of the process', () => {
    const { mempool, user } = nodesOf({ 'peers.storage': ['10.0.0.9:12330'], 'peers.host': '::1' });
    expect(mempool.config.peers.storage).toEqual(['[::1]:12330', '10.0.0.9:12330']);
    expect(user.config.peers.mempool).toEqual(['[::1]:12300']);
  });

  it('names the peers of the process as their certificates do', () => {
    const cert = file('');
    const { mempool } = nodesOf({
      'peers.tls.cert_file': cert,
      'peers.tls.key_file': cert,
      'role.storage.peers.advertise': 'storage.example.net:12330',
    });
    expect(mempool.config.peers.storage).toEqual(['storage.example.net:12330']);
  });

  it('cannot be what two nodes cannot share', () => {
    const shared = { 'peers.port': 1, 'metrics.port': 2, 'peers.advertise': 'a:1' };
    const problems = problemsOf(() => nodesOf(shared));
    expect(problems.map(({ option }) => option)).toEqual(['peers.port', 'peers.advertise', 'metrics.port']);
    expect(problems[0]?.problem).toContain('role.mempool.peers.port');
    expect(nodesOf({ 'peers.port': 0 }).user.config.peers).toMatchObject({ port: 0, mempool: [], storage: [] });
  });
});

describe('what is said of one role', () => {
  const TABLES = `
    [node]
    role = "mempool, storage,user"
    data_dir = "data"
    [network]
    secret = "sixteen characters"
    [peers]
    max_links = 5
    [role.storage.peers]
    port = 7
    max_links = 6
    [role.storage.api]
    port = 9
    [role.user.node]
    data_dir = "wallet"
  `;

  it('is for its node, and beats what is said of all in the same source', () => {
    const path = file(TABLES);
    const { nodes } = loadProcess({ file: path, env: { TESSERA_ROLE__STORAGE__PEERS__MAX_LINKS: '8' } });
    const [mempool, storage, user] = nodes.map(({ config }) => config);
    expect(nodes.map(({ config }) => config.node.role)).toEqual(['mempool', 'storage', 'user']);
    expect([mempool?.peers.maxLinks, storage?.peers.maxLinks, storage?.peers.port]).toEqual([5, 8, 7]);
    expect(mempool?.peers.storage).toEqual(['127.0.0.1:7']);
    expect(nodes.map(({ hasOwnApi }) => hasOwnApi)).toEqual([false, true, false]);
    expect(storage?.api.port).toBe(9);
    expect(user?.node.dataDir).toBe(join(path, '../wallet'));
    expect(storage?.node.dataDir).toBe(join(path, '../data/storage'));
    expect(nodes[1]?.sources.get('peers.port')).toBe(`file ${path} [role.storage]`);
    // A later source beats it, as it does anything in the file.
    const later = loadProcess({ file: path, flags: [{ option: 'peers.max_links', value: '9' }] }).nodes[1]?.config;
    expect(later?.peers.maxLinks).toBe(9);
  });

  it('counts for a node that is alone too', () => {
    const options = flags({ 'role.storage.storage.cache_bytes': 1_048_576, 'role.mempool.api.port': 1 });
    const { config, hasOwnApi } = loadConfig({ role: 'storage', flags: options });
    expect([config.storage.cacheBytes, config.api.port, hasOwnApi]).toEqual([1_048_576, 3001, true]);
  });

  it('must be an option, of a role', () => {
    const problems = problemsOf(() =>
      loadProcess({
        file: file(`${TABLES}\n[role.strage.api]\nport = 1\n[role.mempool]\nnode.role = "user"\napi.prt = 1\n`),
        env: { TESSERA_ROLE__NOBODY__API__PORT: '1' },
        flags: [
          { option: 'role.nobody.api.port', value: '1' },
          { option: 'role.user.node.role', value: 'user' },
          { option: 'role.user.network.secret', value: 'on the command line' },
        ],
      }),
    );
    expect(problems.map(({ option, problem }) => `${option}: ${problem.split(';')[0]}`)).toEqual([
      'role.strage: there is no such role',
      'role.mempool.api.prt: no such option',
      'role.mempool.node.role: is an option of the whole process',
      'TESSERA_ROLE__NOBODY__API__PORT: no option has this variable',
      'role.nobody.api.port: there is no such role',
      'role.user.node.role: no such option',
      expect.stringContaining('role.user.network.secret: a secret is not taken from the command line'),
    ]);
  });
});

describe('which node is meant', () => {
  const network = () =>
    file(`node = { role = "mempool,storage", data_dir = "/data" }\nnetwork.secret = "${'s'.repeat(16)}"`);

  it('is said by --role, and it has its folder in that of the process', () => {
    const { config, hasOwnApi, keyFolder } = loadConfig({ file: network(), role: 'storage' });
    expect([config.node.dataDir, config.api.port, hasOwnApi, keyFolder]).toEqual([
      '/data/storage',
      8080,
      false,
      '/data',
    ]);
  });

  it('has to be said', () => {
    expect(problemsOf(() => loadConfig({ file: network() }))).toMatchObject([
      { option: 'node.role', problem: expect.stringContaining('--role mempool|storage') },
    ]);
    const user = problemsOf(() => loadConfig({ file: network(), role: 'user' }));
    expect(user[0]?.problem).toBe('user is not a role of this process; its roles are mempool, storage');
  });

  it.each([
    ['mempool,mempool', 'twice'],
    ['mempool,', 'not allowed'],
    ['mempool,wallet', 'not allowed'],
  ])('is refused: %s', (role, problem) => {
    expect(problemsOf(() => loadProcess({ role }))[0]?.problem).toContain(problem);
  });
});

it('two nodes cannot have one port', () => {
  const options = { 'role.storage.peers.port': 12_300, 'role.user.api.port': 8080 };
  expect(problemsOf(() => nodesOf(options)).map(({ option, problem }) => `${option}: ${problem}`)).toEqual([
    'role.storage.peers.port: 12300 is the port of role.mempool.peers.port too; choose another',
    'role.user.api.port: 8080 is the port of api.port too; choose another',
  ]);
});
