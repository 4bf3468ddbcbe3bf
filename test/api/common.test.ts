/** What every app does: debug data, health, request ids, CORS, rates, overload, one line for each request, headers. */

import { EventEmitter, once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { OverloadGuard } from '../../src/api/http/access.js';
import { limitConnections } from '../../src/api/http/connections.js';
import { RequestLog } from '../../src/api/http/request-log.js';
import { operationsOf } from '../../src/api/operations.js';
import type { Logger } from '../../src/lib/logger.js';
import type { NodeRole } from '../../src/lib/roles.js';
import { noMetrics } from '../../src/observability/metrics.js';
import { API_KEY, openApp, send } from '../support/api/app.js';
import { fakeMempool } from '../support/api/fakes.js';
import { ManualClock } from '../support/manual-clock.js';

const ROLES: readonly NodeRole[] = ['mempool', 'storage', 'miner', 'user'];

describe('GET /v1/debug (decision V20)', () => {
  it.each([
    ['mempool', 'Mempool'],
    ['storage', 'Storage'],
    ['miner', 'Miner/User'],
    ['user', 'User'],
  ] as const)('names the type of a %s node', async (role, type) => {
    const app = await openApp(role);
    expect((await send(app, { url: '/v1/debug' })).body.node_type).toBe(type);
  });

  it.each(ROLES)('lists exactly the paths that a %s node answers', async (role) => {
    const app = await openApp(role);
    const { node_api: paths } = (await send(app, { url: '/v1/debug' })).body;
    const own = operationsOf(role).filter(({ family }) => family === 'v1');
    expect([...paths].sort()).toEqual([...new Set(own.map(({ path }) => path))].sort());
    // A stream of events does not end, so it cannot be injected.
    for (const { method, path } of own.filter(({ events }) => events === undefined)) {
      const url = path.replace(/\{\w+\}/, '1');
      const sent = await send(app, { method, url, headers: { 'x-api-key': API_KEY } });
      expect([path, sent.body?.code]).not.toEqual([path, 'not_found']);
    }
  });

  it('shows peers as they come and go', async () => {
    const clock = new ManualClock();
    const peers: { address: string; node_type: 'Mempool' }[] = [];
    const node = { type: () => 'Storage', peers: () => peers, routesPow: { create_transactions: 2 } };
    const app = await openApp('storage', { modules: { node, clock } });
    expect((await send(app, { url: '/v1/debug' })).body).toMatchObject({
      node_peers: [],
      routes_pow: { create_transactions: 2 },
    });
    peers.push({ address: '127.0.0.1:12300', node_type: 'Mempool' });
    clock.advance(1000);
    expect((await send(app, { url: '/v1/debug' })).body.node_peers).toEqual(peers);
  });
});

describe('mounting by role', () => {
  it('gives a miner the payments and items of a user, and no user-only route (decision V22)', async () => {
    const app = await openApp('miner');
    const { node_api: paths } = (await send(app, { url: '/v1/debug' })).body;
    expect(paths).toEqual(expect.arrayContaining(['/v1/payments', '/v1/items', '/v1/mining/current-block']));
    expect(paths).not.toContain('/v1/donation-requests');
    expect(paths).not.toContain('/v1/transactions:serialize');
  });

  it.each(ROLES)('gives a %s node the stateless tools when asked to (decision V23)', async (role) => {
    const app = await openApp(role, { api: { toolingEverywhere: true } });
    const { node_api: paths } = (await send(app, { url: '/v1/debug' })).body;
    expect(paths).toEqual(expect.arrayContaining(['/v1/transactions:serialize', '/v1/transactions:deserialize']));
  });
});

describe('supply', () => {
  it('is exact and follows the issued supply', async () => {
    const mempool = fakeMempool();
    let issued = 90_090_000_000_000_001n;
    const app = await openApp('mempool', {
      modules: { mempool: { ...mempool, supply: () => ({ total: 360_360_000_000_000_000n, issued }) } },
    });
    expect((await send(app, { url: '/v1/supply' })).text).toBe(
      '{"total":360360000000000000,"issued":90090000000000001}',
    );
    issued += 2n;
    expect((await send(app, { url: '/v1/supply' })).text).toContain('"issued":90090000000000003');
  });
});

describe('health (decision H10)', () => {
  it('is ready when nothing stands against it', async () => {
    const app = await openApp('mempool');
    expect((await send(app, { url: '/readyz' })).body).toEqual({ status: 'ok', reasons: [] });
  });

  it('says why it is not ready, and lives on', async () => {
    const app = await openApp('mempool', { modules: { readiness: () => ['no storage node is linked'] } });
    const ready = await send(app, { url: '/readyz' });
    expect([ready.status, ready.body.reasons]).toEqual([503, ['no storage node is linked']]);
    expect((await send(app, { url: '/livez' })).status).toBe(200);
  });

  it('says what a ready node cannot do, with 200, and after what keeps another from being ready', async () => {
    const degraded = () => ['the object store is away'];
    const ready = await send(await openApp('storage', { modules: { degraded } }), { url: '/readyz' });
    expect([ready.status, ready.body]).toEqual([200, { status: 'degraded', reasons: degraded() }]);
    const modules = { readiness: () => ['catching up'], degraded };
    const other = await send(await openApp('storage', { modules }), { url: '/readyz' });
    const reasons = ['catching up', 'the object store is away'];
    expect([other.status, other.body]).toEqual([503, { status: 'unavailable', reasons }]);
  });
});

describe('request ids (decision H7)', () => {
  it('come back as they were sent', async () => {
    const app = await openApp('mempool');
    const sent = await send(app, { url: '/v1/supply', headers: { 'x-request-id': 'abc-123.x_y:z' } });
    expect(sent.headers['x-request-id']).toBe('abc-123.x_y:z');
  });

  it.each(['', 'a b', 'x'.repeat(129), '"quoted"', 'é'])('are made when the sent one is not sane: %j', async (id) => {
    const app = await openApp('mempool');
    const sent = await send(app, { url: '/v1/supply', headers: { 'x-request-id': id } });
    expect(sent.headers['x-request-id']).toMatch(/^[0-9a-f]{8}-[0-9a-z]+$/);
  });

  it.each(['/v1/nothing', '/nothing', '/v1/blockchain-entries/%ff', '/v1/blocks/x'])(
    'come with the error of %s',
    async (url) => {
      const app = await openApp('storage');
      expect((await send(app, { url })).headers['x-request-id']).toBeDefined();
    },
  );
});

describe('faults inside the node', () => {
  it('are hidden from the client and logged under the request id', async () => {
    const lines: object[] = [];
    const logger = { ...silent(), error: (fields: object) => lines.push(fields) };
    const supply = () => {
      throw new Error('the secret of the database');
    };
    const app = await openApp('mempool', { modules: { logger, mempool: { ...fakeMempool(), supply } } });
    const sent = await send(app, { url: '/v1/supply', headers: { 'x-request-id': 'here' } });
    expect(sent.body).toMatchObject({ status: 500, code: 'internal_error' });
    expect(sent.text).not.toContain('secret');
    expect(lines).toEqual([expect.objectContaining({ request_id: 'here', error: 'the secret of the database' })]);
  });
});

describe('one line for each request', () => {
  it('goes to the logger with id, operation, status and duration', async () => {
    const lines: object[] = [];
    const logger = { ...silent(), info: (fields: object) => lines.push(fields) };
    const app = await openApp('mempool', { modules: { logger } });
    await send(app, { url: '/v1/supply', headers: { 'x-request-id': 'one' } });
    await send(app, { url: '/v1/nothing', headers: { 'x-request-id': 'two' } });
    expect(lines).toEqual([
      { request_id: 'one', operation: 'getSupply', status: 200, duration_ms: expect.any(Number) },
      { request_id: 'two', operation: 'not_found', status: 404, duration_ms: expect.any(Number) },
    ]);
  });

  it('is collected where lines may be written many at once', async () => {
    const clock = new ManualClock();
    const written: string[] = [];
    const log = new RequestLog({
      logger: silent(),
      clock,
      metrics: noMetrics,
      sink: { write: (text) => written.push(text) },
    });
    const app = await openApp('mempool', {
      modules: { requestLines: { write: (text: string) => written.push(text) }, clock },
    });
    await send(app, { url: '/v1/supply' });
    await send(app, { url: '/v1/supply' });
    expect(written).toEqual([]);
    clock.advance(1000);
    expect(written).toHaveLength(1);
    const lines = written
      .join('')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines).toMatchObject([{ operation: 'getSupply' }, { operation: 'getSupply', status: 200, msg: 'request' }]);
    log.flush();
  });

  it('is written when the app closes', async () => {
    const written: string[] = [];
    const app = await openApp('mempool', {
      modules: { requestLines: { write: (text: string) => written.push(text) } },
    });
    await send(app, { url: '/v1/supply' });
    await app.close();
    expect(written.join('')).toContain('getSupply');
  });
});

describe('CORS (decision H8)', () => {
  const preflight = {
    method: 'OPTIONS' as const,
    url: '/fetch_balance',
    headers: {
      origin: 'https://wallet.example',
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'x-cache-id, x-nonce, x-api-key, content-type',
    },
  };

  it('is off by default', async () => {
    const app = await openApp('mempool');
    const sent = await send(app, { url: '/v1/supply', headers: { origin: 'https://wallet.example' } });
    expect(sent.headers['access-control-allow-origin']).toBeUndefined();
  });

  it.each(['/fetch_balance', '/v1/transactions', '/v1/nothing'])('answers a preflight of %s', async (url) => {
    const app = await openApp('mempool', { api: { cors: 'all' } });
    const sent = await send(app, { ...preflight, url });
    expect(sent.status).toBe(204);
    expect(sent.headers['access-control-allow-origin']).toBe('*');
    for (const header of ['x-cache-id', 'x-nonce', 'x-api-key', 'content-type', 'last-event-id']) {
      expect(sent.headers['access-control-allow-headers']).toContain(header);
    }
  });

  it('lets pages read the request id and errors', async () => {
    const app = await openApp('mempool', { api: { cors: 'all' } });
    const sent = await send(app, { url: '/v1/nothing', headers: { origin: 'https://wallet.example' } });
    expect(sent.headers['access-control-allow-origin']).toBe('*');
    expect(sent.headers['access-control-expose-headers']).toContain('x-request-id');
  });

  it('knows pages of this machine, whatever their port', async () => {
    const app = await openApp('mempool', { api: { cors: 'loopback' } });
    const allowed = async (origin: string) =>
      (await send(app, { url: '/v1/supply', headers: { origin } })).headers['access-control-allow-origin'];
    for (const origin of ['http://localhost:5173', 'https://127.0.0.1', 'http://127.9.9.9:1', 'http://[::1]:3000']) {
      expect(await allowed(origin)).toBe(origin);
    }
    for (const origin of [
      'https://localhost.evil.example',
      'http://127.0.0.1.evil.example',
      'http://10.0.0.5',
      'null',
      'x',
    ]) {
      expect(await allowed(origin)).toBeUndefined();
    }
  });

  it('knows the listed origins only', async () => {
    const app = await openApp('mempool', { api: { cors: ['https://wallet.example'] } });
    const allowed = await send(app, { url: '/v1/supply', headers: { origin: 'https://wallet.example' } });
    expect(allowed.headers['access-control-allow-origin']).toBe('https://wallet.example');
    const other = await send(app, { url: '/v1/supply', headers: { origin: 'https://evil.example' } });
    expect(other.headers['access-control-allow-origin']).toBeUndefined();
  });
});

describe('the rate limit', () => {
  it.each([
    ['/v1/supply', 'application/problem+json'],
    ['/v1/nothing', 'application/problem+json'],
    ['/total_supply', 'application/json; charset=utf-8'],
  ])('answers 429 on %s', async (url, type) => {
    const app = await openApp('mempool', { api: { rateLimit: { enabled: true, perMinute: 2 } } });
    await send(app, { url });
    await send(app, { url });
    const sent = await send(app, { url });
    expect(sent.status).toBe(429);
    expect(sent.headers['content-type']).toBe(type);
    expect(Number(sent.headers['retry-after'])).toBeGreaterThan(0);
  });
});

describe('overload (rule P6)', () => {
  /** A loop in which each turn of the timer is late by that much; a request comes in each, unless nobody asks. */
  function lateBy(turns: readonly number[], { isAsked = true } = {}) {
    const clock = new ManualClock();
    let lag = 0;
    let wakes = 0;
    const guard = new OverloadGuard({
      ...clock,
      monotonic: () => clock.monotonic() + lag,
      after: (ms, run) => {
        wakes++;
        return clock.after(ms, run);
      },
    });
    onTestFinished(() => guard.stop());
    const isRefused = (): boolean => {
      try {
        guard.check();
        return false;
      } catch {
        return true;
      }
    };
    for (const turn of turns) {
      if (isAsked) isRefused();
      lag = lag + turn;
      clock.advance(100);
    }
    return { check: () => guard.check(), wakes };
  }

  it('refuses when the loop stays behind', () => {
    expect(() => lateBy([1000, 1000, 1000]).check()).toThrow(/behind/);
  });

  it('takes one long pause for what it is', () => {
    expect(() => lateBy([5000]).check()).not.toThrow();
  });

  it('takes requests again when the loop has caught up', () => {
    expect(() => lateBy([1000, 1000, 1000, 0]).check()).not.toThrow();
  });

  it('wakes the process seldom while nobody asks, and measures all the same', () => {
    const second = Array.from({ length: 10 }, () => 0);
    expect(lateBy([...second, ...second, ...second], { isAsked: false }).wakes).toBeLessThan(5);
    const late = [1000, ...second.slice(1)];
    expect(() => lateBy([...late, ...late, ...late], { isAsked: false }).check()).toThrow(/behind/);
  });
});

describe('on a real socket', () => {
  async function listening(role: NodeRole = 'mempool') {
    const app = await openApp(role);
    await app.listen({ host: '127.0.0.1', port: 0 });
    const address = app.server.address();
    if (address === null || typeof address === 'string') throw new Error('not listening');
    return { app, port: address.port };
  }

  async function exchange(port: number, text: string): Promise<string> {
    const socket = connect(port, '127.0.0.1');
    socket.write(text);
    let answer = '';
    socket.on('data', (data) => {
      answer += data.toString();
    });
    await once(socket, 'close');
    return answer;
  }

  it('answers what is no HTTP with a problem', async () => {
    const { port } = await listening();
    const answer = await exchange(port, 'hello\r\n\r\n');
    expect(answer).toContain('HTTP/1.1 400');
    expect(answer).toContain('application/problem+json');
  });

  it('answers a header that is too large with 431', async () => {
    const { port } = await listening();
    const answer = await exchange(port, `GET /v1/supply HTTP/1.1\r\nhost: x\r\nx: ${'x'.repeat(20_000)}\r\n\r\n`);
    expect(answer).toContain('HTTP/1.1 431');
    expect(answer).toContain('"status":431');
  });

  it('answers a method that nobody knows on a known path with 405', async () => {
    const { port } = await listening();
    const answer = await exchange(port, 'PROPFIND /v1/supply HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
    expect(answer).toContain('HTTP/1.1 405');
    expect(answer.toLowerCase()).toContain('allow: get, head');
  });
});

describe('limitConnections', () => {
  it('closes connections of one address beyond the limit, and counts again when one ends', () => {
    const server = new EventEmitter();
    limitConnections(server as never, 2);
    const open = (remoteAddress: string) => {
      const socket = Object.assign(new EventEmitter(), { remoteAddress, destroyed: false, answer: '', end: noop });
      socket.end = (answer: string) => Object.assign(socket, { destroyed: true, answer });
      server.emit('connection', socket);
      return socket;
    };
    const first = open('10.0.0.1');
    expect(open('10.0.0.1').destroyed).toBe(false);
    expect(open('10.0.0.1').answer).toMatch(/^HTTP\/1.1 503 [\s\S]*retry-after: 1[\s\S]*"code":"overloaded"/i);
    expect(open('10.0.0.2').destroyed).toBe(false);
    first.emit('close');
    expect(open('10.0.0.1').destroyed).toBe(false);
    // Whoever has one IPv6 address has the /64 around it.
    expect(['2001:db8::1', '2001:db8::2', '2001:db8::3', '2001:db8:0:1::1'].map((ip) => open(ip).destroyed)).toEqual([
      false,
      false,
      true,
      false,
    ]);
    // Loopback is not counted: a proxy may stand there.
    expect([1, 2, 3, 4].map(() => open('127.0.0.1').destroyed)).toEqual([false, false, false, false]);
  });
});

const noop = (_answer: string): unknown => undefined;

function silent(): Logger {
  const ignore = () => undefined;
  return { debug: ignore, info: ignore, warn: ignore, error: ignore };
}
