/** The routes under /v1/dev: what they take and answer, and that only dev networks have them. */

import { describe, expect, it } from 'vitest';
import { operationsOf } from '../../src/api/operations.js';
import { devOperations } from '../../src/api/routes/dev/operations.js';
import type { DevService } from '../../src/api/routes/dev/service.js';
import { TesseraError } from '../../src/lib/errors.js';
import { NODE_ROLES } from '../../src/lib/roles.js';
import { API_KEY, openApp, type Request, send } from '../support/api/app.js';
import { ADDRESS, TX_HASH } from '../support/api/fakes.js';

const SNAPSHOT = { id: 2, height: 7, time: 1_800_000_000 };
const KEY = { 'x-api-key': API_KEY };

function fakeDev(calls: unknown[] = []): DevService {
  const urls = { mempool: 'http://m', storage: 'http://s', miner: 'http://r', user: 'http://u' };
  return {
    facts: () => ({
      accounts: [{ account: '1', address: ADDRESS, tokens: 2n ** 60n }],
      urls,
      intervalMs: null,
      automine: true,
    }),
    async faucet(order) {
      calls.push(order);
      return { txHash: TX_HASH, to: order.address, amount: order.amount, height: 8 };
    },
    mine: async (count) => Array.from({ length: count }, (_, i) => 8 + i),
    setAutomine: async (isOn) => isOn,
    time: () => 1_800_000_000,
    async setTime(seconds) {
      calls.push(seconds);
      return seconds;
    },
    snapshots: () => [SNAPSHOT],
    takeSnapshot: async () => SNAPSHOT,
    async revert(id) {
      if (id === SNAPSHOT.id) return SNAPSHOT;
      throw new TesseraError('not_found', `There is no snapshot ${id}.`);
    },
    saveState: async () => ({ file: '/chain.state', bytes: 10, height: 7 }),
  };
}

async function devApp(dev: DevService | undefined = fakeDev()) {
  const app = await openApp(NODE_ROLES, { modules: { dev: () => dev }, api: { toolingEverywhere: true } });
  return (request: Request) => send(app, { headers: KEY, ...request });
}

const post = (url: string, body?: unknown): Request => ({
  method: 'POST',
  url,
  ...(body === undefined ? {} : { payload: JSON.stringify(body) }),
});

describe('a node that is not of a dev network', () => {
  it.each([...NODE_ROLES.map((role) => [role]), NODE_ROLES])('has no such route: %s', async (...roles) => {
    const app = await openApp(roles);
    for (const { method, path } of devOperations) {
      const sent = await send(app, { method, url: path.replace('{id}', '1'), headers: KEY });
      expect([path, sent.status, sent.body.code]).toEqual([path, 404, 'not_found']);
    }
    const { body } = await send(app, { url: '/v1/openapi.json' });
    expect(Object.keys(body.paths).filter((path) => path.startsWith('/v1/dev'))).toEqual([]);
  });
});

describe('a dev network', () => {
  it('answers each operation', async () => {
    const calls: unknown[] = [];
    const ask = await devApp(fakeDev(calls));
    expect((await ask({ url: '/v1/dev' })).body).toEqual({
      accounts: [{ account: '1', address: ADDRESS, tokens: 2n ** 60n }],
      urls: { mempool: 'http://m', storage: 'http://s', miner: 'http://r', user: 'http://u' },
      interval_ms: null,
      automine: true,
      time: 1_800_000_000,
    });
    const paid = { tx_hash: TX_HASH, to_address: ADDRESS, block_num: 8 };
    expect((await ask(post('/v1/dev/faucet', { address: ADDRESS, amount: 5 }))).body).toEqual({ ...paid, amount: 5 });
    const unnamed = await ask(post('/v1/dev/faucet', { address: ADDRESS }));
    expect([unnamed.status, unnamed.body]).toEqual([200, { ...paid, amount: 72_072_000_000 }]);
    expect((await ask(post('/v1/dev/blocks'))).body).toEqual({ block_nums: [8] });
    expect((await ask(post('/v1/dev/blocks', { count: 2 }))).body).toEqual({ block_nums: [8, 9] });
    expect((await ask(post('/v1/dev/automine', { automine: false }))).body).toEqual({ automine: false });
    expect((await ask({ url: '/v1/dev/time' })).body).toEqual({ time: 1_800_000_000 });
    expect((await ask(post('/v1/dev/time', { time: 1_900_000_000 }))).body).toEqual({ time: 1_900_000_000 });
    expect((await ask(post('/v1/dev/time', { advance: 60 }))).body).toEqual({ time: 1_800_000_060 });
    const snapshot = { id: 2, block_num: 7, time: 1_800_000_000 };
    const taken = await ask(post('/v1/dev/snapshots'));
    expect([taken.status, taken.body]).toEqual([201, snapshot]);
    expect((await ask({ url: '/v1/dev/snapshots' })).body).toEqual({ snapshots: [snapshot] });
    expect((await ask(post('/v1/dev/snapshots/2/revert'))).body).toEqual(snapshot);
    expect((await ask(post('/v1/dev/state'))).body).toEqual({ file: '/chain.state', bytes: 10, block_num: 7 });
    expect(calls).toEqual([
      { address: ADDRESS, amount: 5n },
      { address: ADDRESS, amount: 72_072_000_000n },
      1_900_000_000,
      1_800_000_060,
    ]);
  });

  it('traces scripts: each entry, the stack after it, and why one is not true', async () => {
    const ask = await devApp();
    const trace = async (...stack: object[]) => {
      const previous_out = { t_hash: TX_HASH, n: 0 };
      const output = { value: { Token: 1 }, locktime: 0, script_public_key: ADDRESS };
      const inputs = [{ previous_out, script_signature: { stack } }];
      const transaction = { inputs, outputs: [output], version: 6, fees: [], druid_info: null };
      const { body } = await ask(post('/v1/dev/trace', { transaction }));
      return body.inputs[0];
    };
    const op = (name: string) => ({ Op: `OP_${name}` });
    const step = (entry: string, stack: string[], is_taken = true) => ({ entry, is_taken, stack });
    expect(
      await trace({ Num: 1 }, { Bytes: '6869' }, op('DUP'), op('EQUAL'), op('IF'), op('ELSE'), { Num: 0 }, op('ENDIF')),
    ).toEqual({
      fault: null,
      steps: [
        step('1', ['1']),
        step('"6869"', ['1', '"6869"']),
        step('OP_DUP', ['1', '"6869"', '"6869"']),
        step('OP_EQUAL', ['1', '1']),
        step('OP_IF', ['1']),
        step('OP_ELSE', ['1']),
        step('0', ['1'], false),
        step('OP_ENDIF', ['1']),
      ],
    });
    expect(await trace({ Num: 1 }, op('ADD'))).toEqual({
      fault: 'entry 1 fails',
      steps: [step('1', ['1']), step('OP_ADD', expect.any(Array))],
    });
    expect((await trace({ Num: 1 }, op('IF'))).fault).toBe('1 conditions are not closed by OP_ENDIF');
    expect((await trace({ Num: 0 })).fault).toBe('the number 0 is left on the stack');
    expect((await trace({ Num: 1 }, ...Array.from({ length: 202 }, () => op('NOP')))).fault).toMatch(/201 opcodes/);
    const deep = await trace(...Array.from({ length: 1_001 }, () => ({ Num: 1 })));
    expect([deep.fault, deep.steps.at(-1).stack.length]).toEqual(['more than 1000 entries are on its stacks', 20]);
  });

  it.each([
    [post('/v1/dev/faucet', {}), 400],
    [post('/v1/dev/faucet', { address: ADDRESS, amount: -1 }), 400],
    [post('/v1/dev/blocks', { count: 101 }), 400],
    [post('/v1/dev/automine', {}), 400],
    [post('/v1/dev/time', {}), 400],
    [post('/v1/dev/time', { time: 1, advance: 1 }), 400],
    [post('/v1/dev/snapshots/3/revert'), 404],
    [post('/v1/dev/snapshots/x/revert'), 400],
  ])('refuses %j', async (request, status) => {
    const ask = await devApp();
    expect((await ask(request)).status).toBe(status);
  });

  it('asks for a key where keys are asked for, but for what it only tells', async () => {
    const ask = await devApp();
    for (const { method, path } of devOperations) {
      const { status } = await ask({ method, url: path.replace('{id}', '2'), headers: {} });
      expect([path, status]).toEqual([path, method === 'GET' ? 200 : path.endsWith('/trace') ? 400 : 401]);
    }
  });

  it('says to try again while it starts', async () => {
    const app = await openApp(NODE_ROLES, { modules: { dev: () => undefined } });
    const sent = await send(app, { url: '/v1/dev/time' });
    expect([sent.status, sent.body.code]).toEqual([503, 'overloaded']);
  });

  it('describes exactly what it serves', async () => {
    const ask = await devApp();
    const { body } = await ask({ url: '/v1/openapi.json' });
    const described = Object.entries<object>(body.paths).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
    );
    const served = [...operationsOf(NODE_ROLES, true), ...devOperations].flatMap(({ method, path, ...more }) =>
      [method, ...('aliases' in more ? (more.aliases ?? []) : [])].map((one) => `${one} ${path}`),
    );
    expect(described.sort()).toEqual(served.sort());
  });
});
