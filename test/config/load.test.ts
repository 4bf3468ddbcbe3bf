import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type ConfigInput, createConfig, loadConfig } from '../../src/config/load.js';
import { OPTIONS, PACKAGE_CONFIG_DIR } from '../../src/config/option-table.js';
import { ignoredVariables } from '../../src/config/sources.js';
import type { ConfigProblem } from '../../src/config/values.js';
import { isTesseraError } from '../../src/lib/errors.js';
import { NODE_ROLES, type NodeRole } from '../../src/lib/roles.js';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tessera-config-'));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

function write(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

function problemsOf(input: ConfigInput): readonly ConfigProblem[] {
  try {
    loadConfig(input);
  } catch (error) {
    if (!isTesseraError(error, 'invalid_config')) throw error;
    return error.details.problems as ConfigProblem[];
  }
  return [];
}

const user = (input: ConfigInput = {}): ConfigInput => ({ role: 'user', file: null, ...input });

describe('defaults', () => {
  it('gives each role its ports', () => {
    const ports = NODE_ROLES.map((role) => {
      const { api, peers } = loadConfig({ role }).config;
      return [role, api.port, peers.port];
    });
    expect(ports).toEqual([
      ['mempool', 3003, 12300],
      ['storage', 3001, 12330],
      ['miner', 3004, 12340],
      ['user', 3000, 12360],
    ]);
  });

  it('has the limits of decision H4 and the closed door of decision H3', () => {
    const { api } = createConfig('user');
    expect(api.limits).toMatchObject({
      bodyBytes: 2_097_152,
      batch: 1_000,
      queryValues: 100,
      connectionsPerAddress: 64,
    });
    expect(api.auth).toBe('keys');
    expect(api.cors).toBe('off');
  });

  it('freezes the result at every level', () => {
    const config = createConfig('user', { 'api.keys': [{ name: 'a', key: 'k'.repeat(16) }] });
    expect([config, config.api, config.api.limits, config.api.keys, config.api.keys[0]].every(Object.isFrozen)).toBe(
      true,
    );
  });
});

describe('precedence', () => {
  it('is default, file, environment, flag', () => {
    const file = write('node.toml', '[api]\nport = 1\n[envelope]\ncache_entries = 1\n[mempool]\nverify_threads = 1\n');
    const env = { TESSERA_ENVELOPE__CACHE_ENTRIES: '2', TESSERA_MEMPOOL__VERIFY_THREADS: '2' };
    const loaded = loadConfig({ role: 'user', file, env, flags: [{ option: 'mempool.verify_threads', value: '3' }] });
    expect([loaded.config.api.port, loaded.config.envelope.cacheEntries, loaded.config.mempool.verifyThreads]).toEqual([
      1, 2, 3,
    ]);
    expect(loaded.sources.get('api.port')).toBe(`file ${file}`);
    expect(loaded.sources.get('envelope.cache_entries')).toBe('env TESSERA_ENVELOPE__CACHE_ENTRIES');
    expect(loaded.sources.get('mempool.verify_threads')).toBe('flag --set');
    expect(loaded.sources.get('log.level')).toBe('default');
  });

  it('reads the file that ships for the role only when no other is named', () => {
    const file = write('node.toml', '');
    expect(loadConfig({ role: 'user' }).config.peers.mempool).toEqual(['127.0.0.1:12300']);
    expect(loadConfig({ role: 'user', file }).config.peers.mempool).toEqual([]);
    expect(loadConfig({ role: 'user', env: { TESSERA_CONFIG: file } }).config.peers.mempool).toEqual([]);
  });

  it('takes the role from the file when nothing else gives it', () => {
    const file = write('node.toml', '[node]\nrole = "user"\n');
    expect(loadConfig({ file }).config.api.port).toBe(3000);
  });

  it('starts relative paths of a file at that file', () => {
    const genesis = write('genesis.json', '{}');
    const file = write('node.toml', '[network]\ngenesis_file = "genesis.json"\n[node]\ndata_dir = "data"\n');
    const { config } = loadConfig({ role: 'user', file, cwd: tmpdir() });
    expect(config.network.genesisFile).toBe(genesis);
    expect(config.node.dataDir).toBe(join(folder, 'data'));
  });

  it('starts relative paths from elsewhere at the working directory', () => {
    const { config } = loadConfig(user({ cwd: folder, env: { TESSERA_NODE__DATA_DIR: 'data' } }));
    expect(config.node.dataDir).toBe(join(folder, 'data'));
    expect(config.network.genesisFile).toBe(join(PACKAGE_CONFIG_DIR, 'genesis.json'));
  });
});

describe('environment', () => {
  it('has one variable for each option', () => {
    expect(new Set(OPTIONS.map((option) => option.env)).size).toBe(OPTIONS.length);
  });

  it('reads every type', () => {
    const { config } = loadConfig(
      user({
        env: {
          TESSERA_API__RATE_LIMIT__ENABLED: 'true',
          TESSERA_API__RATE_LIMIT__PER_MINUTE: '7',
          TESSERA_PEERS__MEMPOOL: '10.0.0.1:1, [::1]:2',
          TESSERA_API__CORS: 'https://a.example,https://b.example',
          TESSERA_API__KEYS: '[{ name = "ops", key = "0123456789abcdef" }]',
          TESSERA_API__TRUSTED_PROXIES: '10.0.0.9, 2001:db8::/64',
          TESSERA_LOG__LEVEL: 'warn',
        },
      }),
    );
    expect(config.api.rateLimit).toEqual({ enabled: true, perMinute: 7 });
    expect(config.peers.mempool).toEqual(['10.0.0.1:1', '[::1]:2']);
    expect(config.api.cors).toEqual(['https://a.example', 'https://b.example']);
    expect(config.api.keys).toEqual([{ name: 'ops', key: '0123456789abcdef' }]);
    expect(config.api.trustedProxies).toEqual(['10.0.0.9', '2001:db8::/64']);
    expect(config.log.level).toBe('warn');
  });

  it('refuses a mistyped variable of an option and names the one that was meant', () => {
    expect(problemsOf(user({ env: { TESSERA_API__PROT: '3001' } }))).toEqual([
      {
        option: 'TESSERA_API__PROT',
        source: 'environment',
        problem: 'no option has this variable; did you mean TESSERA_API__PORT?',
      },
    ]);
  });

  it('ignores what an orchestrator sets for a service of the same name, and says so', () => {
    const links = {
      TESSERA_PORT: '3001',
      TESSERA_SERVICE_HOST: '10.1.2.3',
      TESSERA_PORT_3001_TCP: 'tcp://10.1.2.3:3001',
    };
    expect(problemsOf(user({ env: links }))).toEqual([]);
    expect(ignoredVariables(links)).toBe(
      'variables that are not options are ignored: TESSERA_PORT, TESSERA_SERVICE_HOST, TESSERA_PORT_3001_TCP',
    );
    expect(ignoredVariables({ TESSERA_API_PORT: '3001' })).toContain('; did you mean TESSERA_API__PORT?');
    const known = { TESSERA_CONFIG: 'a', TESSERA_CA_FILE: 'b', TESSERA_API__PORT: '1', PATH: 'c' };
    expect(ignoredVariables(known)).toBeUndefined();
  });
});

describe('errors', () => {
  it('tells all problems at once, each with option, source and what is allowed', () => {
    const file = write('node.toml', '[api]\nprot = 1\nport = 70000\n[apis]\nx = 1\n[log]\nlevel = "loud"\n');
    const env = { TESSERA_MEMPOOL__VERIFY_THREADS: 'many' };
    const problems = problemsOf({ role: 'user', file, env, flags: [{ option: 'metrics.enabled', value: 'yes' }] });
    expect(problems).toEqual([
      { option: 'api.prot', source: `file ${file}`, problem: 'no such option; did you mean api.port?' },
      {
        option: 'api.port',
        source: `file ${file}`,
        problem: '70000 is not allowed; it must be an integer from 0 to 65535',
      },
      { option: 'apis', source: `file ${file}`, problem: expect.stringContaining('no such option') },
      {
        option: 'log.level',
        source: `file ${file}`,
        problem: '"loud" is not allowed; it must be debug, info, warn, error or silent',
      },
      {
        option: 'mempool.verify_threads',
        source: 'env TESSERA_MEMPOOL__VERIFY_THREADS',
        problem: '"many" is not allowed; it must be an integer from 0 to 64',
      },
      {
        option: 'metrics.enabled',
        source: 'flag --set',
        problem: '"yes" is not allowed; it must be true or false',
      },
    ]);
  });

  it('gives line and column of a file that is not TOML', () => {
    const file = write('node.toml', '[api]\nport = = 1\n');
    expect(problemsOf({ role: 'user', file })[0]).toMatchObject({
      option: 'config file',
      problem: expect.stringMatching(/^line 2, column \d+: /),
    });
  });

  it('says that a file cannot be read', () => {
    expect(problemsOf({ role: 'user', file: join(folder, 'none.toml') })[0]?.problem).toMatch(
      /^cannot be read: ENOENT/,
    );
  });

  it('asks for the role and lists the roles', () => {
    expect(problemsOf({ file: null })[0]?.problem).toContain('--role mempool|storage|miner|user');
    expect(problemsOf({ role: 'king', file: null })[0]).toMatchObject({ option: 'node.role', source: 'flag --role' });
  });

  it.each([
    ['api.auth', 'user', { 'api.auth': 'open', 'api.host': '0.0.0.0' }],
    ['api.keys', 'user', { 'api.keys': [{ name: 'a' }] }],
    ['api.trusted_proxies', 'user', { 'api.trusted_proxies': ['10.0.0.9', '10.0.0.0/0'] }],
    ['api.trusted_proxies', 'user', { 'api.trusted_proxies': ['10.0.0.256'] }],
    ['api.trusted_proxies', 'user', { 'api.trusted_proxies': ['loopback'] }],
    ['api.trusted_proxies', 'user', { 'api.trusted_proxies': ['proxy.example'] }],
    ['peers.port', 'user', { 'peers.port': 3000 }],
    ['peers.mempool', 'user', { 'peers.mempool': ['10.0.0.9:65536'] }],
    ['peers.mempool', 'user', { 'peers.mempool': ['10.0.0.9:0'] }],
    ['api.tls.cert_file', 'user', { 'api.tls.cert_file': join(PACKAGE_CONFIG_DIR, 'dev.toml') }],
    ['network.genesis_file', 'user', { 'network.genesis_file': 'none.json' }],
    ['network.secret', 'storage', {}],
    ['network.secret', 'storage', { 'network.secret': 'loopback-only-test-secret', 'peers.host': '0.0.0.0' }],
    ['mining.min_miners', 'mempool', { 'network.secret': 's'.repeat(16), 'mining.min_miners': 11 }],
    ['mining.unicorn.modulus', 'mempool', { 'network.secret': 's'.repeat(16), 'mining.unicorn.modulus': '13' }],
  ] satisfies [string, NodeRole, Record<string, unknown>][])(
    'refuses a contradiction: %s on %s',
    (option, role, values) => {
      const flags = Object.entries(values).map(([path, value]) => ({ option: path, value, flag: 'code' }));
      expect(problemsOf({ role, file: null, flags }).map((problem) => problem.option)).toEqual([option]);
    },
  );

  it('allows the open API on loopback (decision H3)', () => {
    expect(createConfig('user', { 'api.auth': 'open', 'api.host': '::1' }).api.auth).toBe('open');
  });
});

describe('secrets', () => {
  const secret = 'a very secret passphrase';

  it('are read from a file', () => {
    const file = write('secret', `${secret}\n`);
    const { config, sources } = loadConfig(user({ env: { TESSERA_WALLET__PASSPHRASE_FILE: file } }));
    expect(config.wallet.passphrase).toBe(secret);
    expect(sources.get('wallet.passphrase')).toBe(`file ${file}, named by wallet.passphrase_file`);
  });

  it('are read from a file that takes the place of the config file’s value', () => {
    const file = write('secret', `${secret}\n`);
    const { config } = loadConfig({ role: 'storage', flags: [{ option: 'network.secret_file', value: file }] });
    expect(config.network.secret).toBe(secret);
  });

  it('are refused when one source gives both forms', () => {
    const file = write('secret', secret);
    const env = { TESSERA_NETWORK__SECRET: secret, TESSERA_NETWORK__SECRET_FILE: file };
    expect(problemsOf(user({ env })).map((problem) => problem.option)).toEqual(['network.secret_file']);
  });

  it.each(['wallet.passphrase', 'network.secret', 'api.keys'])(
    'are never taken from the command line: %s',
    (option) => {
      const problems = problemsOf(user({ flags: [{ option, value: secret }] }));
      expect(problems[0]?.problem).toContain('not taken from the command line');
      expect(JSON.stringify(problems)).not.toContain(secret);
    },
  );

  it.each([
    ['TESSERA_NETWORK__SECRET', 'short'],
    ['TESSERA_API__KEYS', 'my-key-in-the-wrong-form'],
    ['TESSERA_API__KEYS', '[{ name = "a", key = "short" }]'],
  ])('never stand in an error: %s', (name, value) => {
    const problems = problemsOf(user({ env: { [name]: value } }));
    expect(problems).toHaveLength(1);
    expect(JSON.stringify(problems)).not.toMatch(/short|my-key/);
  });
});
