/** The one address of several nodes: before, while and after they are there (docs/adr/0035-one-address.md). */

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { nodeFetch } from '../../src/client/node-fetch.js';
import { createConfig } from '../../src/config/load.js';
import { TesseraError } from '../../src/lib/errors.js';
import { NODE_ROLES, type NodeRole } from '../../src/lib/roles.js';
import { SignalSource } from '../../src/lib/signal.js';
import { JointApi, type JointPart } from '../../src/node/joint-api.js';
import type { RoleServices } from '../../src/node/roles/role.js';
import { fakeMempool, fakeMiner, fakeStorage, fakeUser, fakeWallet } from '../support/api/fakes.js';
import { NODE_CERT, NODE_TLS_KEY } from '../support/certificates.js';
import { ManualClock } from '../support/manual-clock.js';
import { silentLogger } from '../support/silent-logger.js';

interface Setup {
  readonly roles?: readonly NodeRole[];
  readonly options?: Readonly<Record<string, unknown>>;
}

async function startJoint({ roles = NODE_ROLES, options = {} }: Setup = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'tessera-test-'));
  const config = createConfig('user', { 'api.port': 0, 'api.auth': 'open', ...options });
  const joint = new JointApi(
    { roles, config, folder, portOption: 'api.port' },
    // A busy machine must not be taken for an overloaded node.
    { logger: silentLogger, clock: new ManualClock() },
  );
  onTestFinished(async () => {
    await joint.stop();
    await rm(folder, { recursive: true, force: true });
  });
  await joint.start();
  const get = async (path: string, headers: Record<string, string> = {}) => {
    const answer = await fetch(joint.url + path, { headers });
    return { status: answer.status, headers: answer.headers, body: JSON.parse(await answer.text()) };
  };
  return { joint, folder, get };
}

const signal = () => new SignalSource<never>(silentLogger);
const settlement = () => ({ settled: signal(), changed: signal() });

/** As much of the services as the address and its events need. */
function partOf(role: NodeRole, change: Partial<JointPart> = {}) {
  const signals = { transactionsAdmitted: signal(), transactionRejected: signal(), blockConfirmed: signal() };
  const blocks = new SignalSource<{ height: number; hash: string; transactions: number }>(silentLogger);
  const mined = new SignalSource<{ height: number; hash: string; transactions: number }>(silentLogger);
  const confirmed = new SignalSource<{ height: number; hash: string; transactions: string[] }>(silentLogger);
  const wallet = {
    wallet: {
      ...fakeWallet(),
      coins: { totals: () => ({ running: 0n, available: 0n, locked: 0n }) },
      settlement: settlement(),
    },
    user: { ...fakeUser(), blockMined: mined },
  };
  const services = {
    mempool: { mempool: { ...fakeMempool(), ...signals, blockConfirmed: confirmed } },
    storage: { storage: { ...fakeStorage(), blockStored: blocks } },
    miner: { miner: fakeMiner(), ...wallet },
    user: wallet,
  }[role] as unknown as RoleServices;
  const part: JointPart = { role, services, peers: () => [], readiness: () => [], ...change };
  return { part, blocks, mined, confirmed };
}

const STORAGE_PEER = { address: '127.0.0.1:12330', node_type: 'Storage' } as const;
const MEMPOOL_PEER = { address: '127.0.0.1:12300', node_type: 'Mempool' } as const;

describe('before a node is there', () => {
  it('its operations are asked for later, the health says why, and the others work', async () => {
    const { joint, get } = await startJoint();
    joint.join(partOf('storage').part);
    const early = await get('/v1/supply');
    expect([early.status, early.body.code, early.headers.get('retry-after')]).toEqual([503, 'overloaded', '1']);
    expect(early.body.detail).toContain('mempool node');
    expect((await get('/v1/wallet')).status).toBe(503);
    expect((await get('/v1/blocks/latest')).status).toBe(200);
    expect((await get('/livez')).status).toBe(200);
    const ready = await get('/readyz');
    expect(ready.status).toBe(503);
    expect(ready.body.reasons).toEqual(['mempool', 'miner', 'user'].map((role) => `${role}: the node is starting`));
  });

  it('and after it has left, the same', async () => {
    const { joint, get } = await startJoint();
    const leave = joint.join(partOf('mempool').part);
    expect((await get('/v1/supply')).status).toBe(200);
    leave();
    expect((await get('/v1/supply')).status).toBe(503);
    // A node that was started again is not taken away by the end of the one before it.
    joint.join(partOf('mempool').part);
    leave();
    expect((await get('/v1/supply')).status).toBe(200);
  });
});

describe('while the nodes of a dev network are started again', () => {
  it('what needs one is asked to come back, though one is half there', async () => {
    const { joint, get } = await startJoint();
    const notUp = new TesseraError('mempool_unreachable', 'the mempool is not up yet');
    const mempool = {
      ...partOf('mempool').part.services.mempool,
      supply: () => {
        throw notUp;
      },
    };
    joint.hold();
    joint.join(partOf('mempool', { services: { mempool } as unknown as RoleServices }).part);
    const early = await get('/v1/supply');
    expect([early.status, early.body.code, early.headers.get('retry-after')]).toEqual([503, 'overloaded', '1']);
    for (const role of NODE_ROLES) joint.join(partOf(role).part);
    expect((await get('/readyz')).body.reasons).toEqual(['the network is starting']);
    joint.release();
    expect((await get('/readyz')).status).toBe(200);
    expect((await get('/v1/supply')).status).toBe(200);
  });
});

describe('keys', () => {
  it('may be limited to routes of dev networks, and not to routes that there are nowhere', async () => {
    const key = (route: string) => ({
      'api.auth': 'keys',
      'api.keys': [{ name: 'ci', key: 'k'.repeat(16), routes: [route] }],
    });
    await startJoint({ options: key('POST /v1/dev/blocks') });
    await expect(startJoint({ options: key('POST /v1/dev/nothing') })).rejects.toThrow('is no protected route');
  });
});

describe('a configuration that is read again while the address is being opened', () => {
  const FIRST = 'first-key-0123456789';
  const SECOND = 'second-key-0123456789';
  const keysIn = (key: string, route?: string) =>
    createConfig('user', {
      'api.port': 0,
      'api.auth': 'keys',
      'api.keys': [{ name: 'ops', key, ...(route !== undefined && { routes: [route] }) }],
    });

  it.each(['before', 'during'])('is in effect when it is open: %s the start', async (when) => {
    // Not there yet, as at the first start.
    const folder = join(await mkdtemp(join(tmpdir(), 'tessera-test-')), 'data');
    onTestFinished(() => rm(dirname(folder), { recursive: true, force: true }));
    const modules = { logger: silentLogger, clock: new ManualClock() };
    const joint = new JointApi({ roles: ['user'], config: keysIn(FIRST), folder, portOption: 'api.port' }, modules);
    onTestFinished(() => joint.stop());
    if (when === 'before') await joint.reload(keysIn(SECOND));
    const starting = joint.start();
    if (when === 'during') await joint.reload(keysIn(SECOND));
    await expect(joint.reload(keysIn(FIRST, 'POST /v1/nothing'))).rejects.toThrow('is no protected route');
    await starting;
    joint.join(partOf('user').part);
    const status = async (key: string): Promise<number> =>
      (await fetch(`${joint.url}/v1/wallet/history`, { headers: { 'x-api-key': key } })).status;
    expect([await status(FIRST), await status(SECOND)]).toEqual([401, 200]);
  });
});

describe('while they are there', () => {
  it('it is ready when all are, and each reason begins with its role', async () => {
    const { joint, get } = await startJoint();
    let reasons: readonly string[] = ['no miner has joined', 'no storage node is linked'];
    for (const role of NODE_ROLES) {
      joint.join(partOf(role, role === 'mempool' ? { readiness: () => reasons } : {}).part);
    }
    const ready = await get('/readyz');
    expect([ready.status, ready.body.reasons]).toEqual([
      503,
      ['mempool: no miner has joined', 'mempool: no storage node is linked'],
    ]);
    reasons = [];
    expect((await get('/readyz')).body).toEqual({ status: 'ok', reasons: [] });
    joint.join(partOf('storage', { degraded: () => ['the object store is away'] }).part);
    expect((await get('/readyz')).body).toEqual({
      status: 'degraded',
      reasons: ['storage: the object store is away'],
    });
  });

  it('the debug data has the types of all, and each peer once', async () => {
    const { joint, get } = await startJoint();
    joint.join(partOf('user', { peers: () => [STORAGE_PEER, MEMPOOL_PEER] }).part);
    joint.join(partOf('miner', { peers: () => [MEMPOOL_PEER, STORAGE_PEER] }).part);
    joint.join(partOf('mempool', { peers: () => [STORAGE_PEER] }).part);
    joint.join(partOf('storage', { peers: () => [MEMPOOL_PEER] }).part);
    const { node_type: type, node_peers: peers } = (await get('/v1/debug')).body;
    expect(type).toBe('Mempool/Storage/Miner/User');
    expect(peers).toEqual([MEMPOOL_PEER, STORAGE_PEER]);
  });

  it('the wallet is the user’s, and the miner’s where there is no user', async () => {
    const own = (name: string) => ({ wallet: { ...fakeWallet(), newAddress: async () => name } });
    for (const [roles, name] of [
      [['miner', 'user'], 'user'],
      [['miner', 'storage'], 'miner'],
    ] as const) {
      const { joint } = await startJoint({ roles });
      for (const role of ['miner', 'user'] as const) {
        if (!(roles as readonly string[]).includes(role)) continue;
        const { part } = partOf(role);
        const services = { ...part.services, wallet: { ...part.services.wallet, ...own(role).wallet } };
        joint.join({ ...part, services: services as unknown as RoleServices });
      }
      const answer = await fetch(`${joint.url}/v1/wallet/addresses`, { method: 'POST' });
      expect(await answer.json()).toEqual({ address: name });
    }
  });
});

describe('the events of blocks', () => {
  const event = (height: number) => ({ height, hash: `b${height}`, transactions: 0 });

  async function heights(roles: readonly NodeRole[], tell: (parts: Parts) => void, count: number): Promise<number[]> {
    const { joint } = await startJoint({ roles });
    const parts = Object.fromEntries(roles.map((role) => [role, partOf(role)])) as Parts;
    for (const { part } of Object.values(parts)) joint.join(part);
    const stop = new AbortController();
    onTestFinished(() => stop.abort());
    const answer = await fetch(`${joint.url}/v1/events?topics=blocks`, { signal: stop.signal });
    tell(parts);
    const seen: number[] = [];
    const text = new TextDecoder();
    for await (const chunk of answer.body ?? []) {
      for (const [, num] of text.decode(chunk).matchAll(/"block_num":(\d+)/g)) seen.push(Number(num));
      if (seen.length >= count) break;
    }
    return seen;
  }
  type Parts = Readonly<Record<NodeRole, ReturnType<typeof partOf>>>;

  it('are told once, by storage', async () => {
    const told = await heights(
      NODE_ROLES,
      ({ mempool, storage, miner, user }) => {
        for (const height of [1, 2]) {
          miner.mined.emit(event(height));
          mempool.confirmed.emit({ ...event(height), transactions: [] });
          user.mined.emit(event(height));
          storage.blocks.emit(event(height));
        }
      },
      2,
    );
    expect(told).toEqual([1, 2]);
  });

  it('are told by the wallet where nobody else can', async () => {
    const told = await heights(
      ['miner', 'user'],
      ({ miner, user }) => {
        miner.mined.emit(event(1));
        user.mined.emit(event(7));
      },
      1,
    );
    expect(told).toEqual([7]);
  });
});

describe('the key of the address', () => {
  it('is made in the folder above those of the nodes, and opens what is protected', async () => {
    const { joint, folder, get } = await startJoint({ options: { 'api.auth': 'keys' } });
    for (const role of NODE_ROLES) joint.join(partOf(role).part);
    expect((await get('/v1/wallet/history')).status).toBe(401);
    const key = (await readFile(join(folder, 'api-key'), 'utf8')).trim();
    expect((await get('/v1/wallet/history', { 'x-api-key': key })).status).toBe(200);
    const changed = createConfig('user', { 'api.keys': [{ name: 'new', key: 'a-key-of-the-operator' }] });
    await joint.reload(changed);
    expect((await get('/v1/wallet/history', { 'x-api-key': key })).status).toBe(401);
    expect((await get('/v1/wallet/history', { 'x-api-key': 'a-key-of-the-operator' })).status).toBe(200);
  });
});

describe('the limits of the configuration hold there too', () => {
  it('origins, sizes, rates and who is counted behind a proxy', async () => {
    const { joint } = await startJoint({
      options: {
        'api.cors': ['https://wallet.example'],
        'api.limits.body_bytes': 1_024,
        'api.rate_limit.enabled': true,
        'api.rate_limit.per_minute': 3,
        'api.trusted_proxies': ['127.0.0.1'],
      },
    });
    for (const role of NODE_ROLES) joint.join(partOf(role).part);
    const ask = (client: string, init: RequestInit = {}) =>
      fetch(`${joint.url}/v1/balances/query`, {
        ...init,
        headers: { origin: 'https://wallet.example', 'x-forwarded-for': client, 'content-type': 'application/json' },
      });
    const large = await ask('192.0.2.1', { method: 'POST', body: ' '.repeat(2_000) });
    expect([large.status, large.headers.get('access-control-allow-origin')]).toEqual([413, 'https://wallet.example']);
    const statuses = [];
    for (let i = 0; i < 3; i++) statuses.push((await ask('192.0.2.1')).status);
    expect(statuses).toEqual([405, 405, 429]);
    expect((await ask('192.0.2.2')).status).toBe(405);
  });

  it('permissions of keys, across the roles', async () => {
    const key = 'reads-and-pays-nothing-else';
    const { joint, get } = await startJoint({
      options: { 'api.auth': 'keys', 'api.keys': [{ name: 'reader', key, permissions: ['read'] }] },
    });
    for (const role of NODE_ROLES) joint.join(partOf(role).part);
    const headers = { 'x-api-key': key };
    expect((await get('/v1/wallet/history', headers)).status).toBe(200);
    expect((await get('/v1/wallet/keypairs', headers)).status).toBe(401);
    for (const item of [{}, { signature: 'cd'.repeat(64) }]) {
      const body = JSON.stringify({ genesis_hash_spec: 'Create', item_amount: 1, ...item });
      const post = { method: 'POST', body, headers: { ...headers, 'content-type': 'application/json' } };
      expect((await fetch(`${joint.url}/v1/items`, post)).status).toBe(401);
    }
  });

  it('https, when there are certificates', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'tessera-test-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    await writeFile(join(folder, 'cert.pem'), NODE_CERT);
    await writeFile(join(folder, 'key.pem'), NODE_TLS_KEY);
    const tls = { 'api.tls.cert_file': join(folder, 'cert.pem'), 'api.tls.key_file': join(folder, 'key.pem') };
    const { joint } = await startJoint({ options: tls });
    expect(joint.url).toMatch(/^https:/);
    const answer = await nodeFetch({ certificate: NODE_CERT })(`${joint.url}/livez`, {});
    expect(answer.status).toBe(200);
    await expect(fetch(`${joint.url.replace('https', 'http')}/livez`)).rejects.toThrow();
  });
});

it('a port that somebody has is an error that names the option', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void other.close());
  await new Promise((resolve) => other.once('listening', resolve));
  const { port } = other.address() as AddressInfo;
  await expect(startJoint({ options: { 'api.port': port } })).rejects.toMatchObject({
    code: 'port_in_use',
    message: `another program listens on 127.0.0.1:${port}: stop it, or choose another api.port (\`tessera dev\` has --port-offset)`,
  });
});

it.each([
  ['an address of somebody else', '192.0.2.1'],
  ['a name that nobody has', 'nobody.invalid'],
])('%s to listen on is an error that names the option', async (_what, host) => {
  await expect(startJoint({ options: { 'api.host': host, 'api.auth': 'keys' } })).rejects.toMatchObject({
    code: 'invalid_config',
    message: expect.stringContaining('api.port, and the host beside it'),
  });
});
