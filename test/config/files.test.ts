import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse as parseToml } from 'smol-toml';
import { describe, expect, it } from 'vitest';
import { parseGenesis } from '../../src/chain/genesis.js';
import { describeConfig } from '../../src/config/describe.js';
import { DEV_AMOUNT, devAccounts, devGenesis, devProducer } from '../../src/config/dev-accounts.js';
import { devConfig } from '../../src/config/dev-config.js';
import { loadConfig, loadProcess } from '../../src/config/load.js';
import { OPTIONS, PACKAGE_CONFIG_DIR } from '../../src/config/option-table.js';
import { sampleConfig } from '../../src/config/sample.js';
import { toHex } from '../../src/lib/bytes.js';
import { parseExactJson } from '../../src/lib/json.js';
import { NODE_ROLES } from '../../src/lib/roles.js';

const shipped = (name: string): string => readFileSync(join(PACKAGE_CONFIG_DIR, name), 'utf8');

describe('config/default.toml', () => {
  it('is what the schema says (npx tsx scripts/write-config.ts writes it again)', () => {
    expect(shipped('default.toml')).toBe(sampleConfig());
  });

  it('names every option with its variable, and sets none', () => {
    const text = shipped('default.toml');
    for (const { env, keys } of OPTIONS) expect(text).toMatch(new RegExp(`^# ${env}\\n#${keys.at(-1)} = `, 'm'));
    expect(JSON.stringify(parseToml(text))).not.toMatch(/:(?!\{)/);
  });

  it('holds the defaults when its lines are uncommented', () => {
    const uncommented = sampleConfig().replace(/^#(?=[a-z_]+ = )/gm, '');
    // Where a line is a second form or has no value to show, only the first that is valid can be taken.
    const seen = new Set<string>();
    let section = '';
    const lines = uncommented.split('\n').filter((line) => {
      if (line.startsWith('[')) section = line;
      const key = /^([a-z_0-9]+) = /.exec(line)?.[1];
      if (key === undefined) return true;
      const name = section + key;
      return seen.has(name) ? false : seen.add(name);
    });
    const table = parseToml(lines.join('\n')) as { mempool: object; mining: { unicorn: object } };
    expect(table.mempool).toMatchObject({ pool_max_bytes: 268_435_456, druid_lifetime_blocks: 1_000 });
    expect(table.mining.unicorn).toMatchObject({ iterations: 1_000, modulus: (2n ** 521n - 1n).toString() });
  });
});

describe('the role files', () => {
  it.each(NODE_ROLES)('loads as it is: %s', (role) => {
    const { config, warnings, file } = loadConfig({ role });
    expect(config.node.role).toBe(role);
    expect(warnings).toEqual([]);
    expect(file).toBe(join(PACKAGE_CONFIG_DIR, `${role}.toml`));
  });

  it('make one network: same name, secret and genesis, linked to each other', () => {
    const [mempool, storage, miner, user] = NODE_ROLES.map((role) => loadConfig({ role }).config);
    expect(new Set([mempool, storage, miner, user].map((config) => config?.network.name)).size).toBe(1);
    expect(new Set([mempool, storage, miner, user].map((config) => config?.network.genesisFile)).size).toBe(1);
    expect(mempool?.network.secret).toBe(storage?.network.secret);
    expect(mempool?.peers.storage).toEqual([`${storage?.peers.host}:${storage?.peers.port}`]);
    expect(miner?.peers.mempool).toEqual([`${mempool?.peers.host}:${mempool?.peers.port}`]);
    expect(user?.peers.mempool).toEqual(miner?.peers.mempool);
    for (const wallet of [miner, user]) expect(wallet?.peers.storage).toEqual(mempool?.peers.storage);
  });
});

describe('the producers of the networks that ship (decision record 0010)', () => {
  const together = loadProcess({ role: NODE_ROLES.join(',') }).nodes.map(({ config }) => config);
  const files = [...NODE_ROLES.map((role) => loadConfig({ role }).config), devConfig('mempool', { dataDir: '/data' })];

  it('are the published key, on every node', () => {
    for (const { network } of [...files, ...together])
      expect(network.producerKeys).toEqual([toHex(devProducer().publicKey)]);
    expect(files.map(({ mempool }) => mempool.producerKey).filter((key) => key !== undefined)).toEqual([
      toHex(devProducer().seed),
      toHex(devProducer().seed),
    ]);
    const compose = readFileSync('docker-compose.yml', 'utf8');
    expect(compose).toContain(`TESSERA_NETWORK__PRODUCER_KEYS: ${toHex(devProducer().publicKey)}`);
    expect(compose).toContain(`TESSERA_MEMPOOL__PRODUCER_KEY: ${toHex(devProducer().seed)}`);
  });

  it('are warned of where others can reach the mempool node, as is a network without any', () => {
    const warnings = (role: 'mempool' | 'user', flags: Readonly<Record<string, unknown>>) =>
      loadConfig({
        role,
        flags: Object.entries(flags).map(([option, value]) => ({ option, value, flag: 'code' })),
      }).warnings.filter((warning) => warning.includes('producer'));
    const secret = { 'network.secret': 'a secret of one operator' };
    expect(warnings('mempool', { ...secret, 'peers.host': '0.0.0.0' })).toEqual([
      expect.stringContaining('everyone can sign blocks'),
    ]);
    expect(warnings('user', { 'network.producer_keys': [] })).toEqual([
      expect.stringContaining('network.producer_keys is empty'),
    ]);
  });
});

describe('the genesis files', () => {
  it.each([
    ['genesis.json', 90_090_000_000_000_000n],
    ['genesis-dev.json', 12n * DEV_AMOUNT],
  ])('are read by the chain: %s', (name, issued) => {
    expect(parseGenesis(parseExactJson(shipped(name))).initialIssuance).toBe(issued);
  });

  it('hold the keys of the wallets that the dev nodes take in', () => {
    const { user, miner } = devAccounts();
    const { walletSeeds } = parseGenesis(parseExactJson(shipped('genesis-dev.json')));
    expect(walletSeeds.map((seeds) => seeds.length)).toEqual([user.outputs.length, miner.outputs.length]);
    expect(walletSeeds.map((seeds) => toHex(seeds[0]?.publicKey ?? new Uint8Array()))).toEqual(
      [user, miner].map(({ keyPair }) => toHex(keyPair.publicKey)),
    );
  });
});

describe('the dev network (decision V25)', () => {
  it('has the genesis file that its accounts make', () => {
    expect(shipped('genesis-dev.json')).toBe(devGenesis());
  });

  it('funds twelve different keys, each with the same amount', () => {
    const { accounts, user, miner } = devAccounts();
    const owners = [...accounts, user, miner];
    expect(new Set(owners.map((owner) => owner.address)).size).toBe(12);
    expect(new Set(owners.map((owner) => owner.outputAmount * BigInt(owner.outputs.length))).size).toBe(1);
    const seeds = JSON.parse(devGenesis()).mempool_seed_utxo['000000'];
    expect(owners.flatMap((owner) => owner.outputs)).toEqual(seeds.map((_: unknown, index: number) => index));
  });

  it('never changes its keys', () => {
    expect(devAccounts().accounts[0]?.address).toBe('a5684800b1fb871d78120745ca82847810763fdb6ffaed3f8a72a4ce5d4bb14d');
  });

  it('is open on loopback, with instant blocks and the tooling routes on every role', () => {
    const config = devConfig('miner', { dataDir: '/data' });
    expect(config.api).toMatchObject({
      auth: 'open',
      cors: 'loopback',
      toolingEverywhere: true,
      host: '127.0.0.1',
      port: 3004,
    });
    expect(config.mining.instant).toBe(true);
    expect(config.wallet).toMatchObject({ passphrase: '', genesisSeedIndex: 1 });
    expect(config.node.dataDir).toBe('/data/miner');
  });

  it('moves all ports together', () => {
    const { api, peers } = devConfig('storage', { dataDir: '/data', ports: 100 });
    expect([api.port, peers.port]).toEqual([3101, 12430]);
  });

  it('makes blocks at a steady pace when an interval is given', () => {
    expect(devConfig('mempool', { dataDir: '/data', intervalMs: 250 }).mining).toMatchObject({
      instant: false,
      blockIntervalMs: 250,
    });
  });
});

describe('describeConfig', () => {
  it('shows every option with its source, and no secret', () => {
    const env = {
      TESSERA_NETWORK__SECRET: 'network-secret-0123',
      TESSERA_API__KEYS: '[{ name = "ops", key = "api-key-0123456789" }]',
      TESSERA_WALLET__PASSPHRASE: 'wallet-secret-0123',
    };
    const described = describeConfig(loadConfig({ role: 'user', env }));
    expect(described.map((option) => option.path)).toEqual(OPTIONS.map((option) => option.path));
    expect(JSON.stringify(described)).not.toMatch(/0123/);
    expect(described.find((option) => option.path === 'api.keys')?.value).toEqual([{ name: 'ops', key: '<redacted>' }]);
    expect(described.find((option) => option.path === 'network.secret')).toMatchObject({
      value: '<redacted>',
      source: 'env TESSERA_NETWORK__SECRET',
    });
    expect(described.find((option) => option.path === 'peers.advertise')).toMatchObject({ source: 'unset' });
  });
});
