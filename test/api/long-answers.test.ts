/** Long answers are made in slices, a few at a time. */

import { describe, expect, it, vi } from 'vitest';
import { IdempotencyCache } from '../../src/api/routes/envelope/idempotency.js';
import { createDeferred } from '../../src/lib/deferred.js';
import { stringifyExact } from '../../src/lib/json.js';
import type { Holding, MempoolService } from '../../src/mempool/service.js';
import type { StoredEntry } from '../../src/storage/service.js';
import { groupByAddress } from '../../src/wallet/wallet.js';
import { openApp, send } from '../support/api/app.js';
import {
  ADDRESS,
  fakeMempool,
  fakeStorage,
  fakeWallet,
  holdingsOf,
  TX_ENTRY,
  transactionBody,
} from '../support/api/fakes.js';
import { processorClock } from '../support/processor-clock.js';
import { tickingClock } from '../support/ticking-clock.js';

const OUTPUTS = 12_000;

const OUTPUT_LIST: readonly Holding[] = Array.from({ length: OUTPUTS }, (_, i) => ({
  outPoint: { tHash: `g${String(i).padStart(31, '0')}`, n: 0 },
  value: { kind: 'token', amount: BigInt(i) * 10n ** 12n },
  locktime: 0n,
}));

/** An iteration over the entries, and the most of them that were read within one turn of the loop. */
function countedInTurns<T>(entries: Iterable<T>) {
  const seen = { mostInATurn: 0, inThisTurn: 0 };
  function* counted(): Generator<T> {
    for (const entry of entries) {
      if (seen.inThisTurn === 0) setImmediate(() => Object.assign(seen, { inThisTurn: 0 }));
      seen.inThisTurn++;
      seen.mostInATurn = Math.max(seen.mostInATurn, seen.inThisTurn);
      yield entry;
    }
  }
  return { seen, counted };
}

/** A mempool whose address has 12,000 outputs, and the most outputs that were read within one turn of the loop. */
function mempoolWithManyOutputs() {
  const holdings = holdingsOf(OUTPUT_LIST);
  const { seen, counted } = countedInTurns(holdings);
  const slow = { ...holdings, [Symbol.iterator]: counted };
  const mempool = {
    ...fakeMempool(),
    countOutputs: (_addresses: readonly string[], limit: number) => Math.min(OUTPUTS, limit),
    balances: () => ({ tokens: holdings.tokens, items: new Map(), addresses: new Map([[ADDRESS, slow]]) }),
  };
  return { mempool, seen };
}

const ADDRESS_LIST = stringifyExact(
  OUTPUT_LIST.map(({ outPoint, value }) => ({
    out_point: { t_hash: outPoint.tHash, n: outPoint.n },
    value: { Token: value.amount },
  })),
);

describe('12,000 outputs', () => {
  it.each([
    ['GET /v1/balances', { url: `/v1/balances?address=${ADDRESS}` }],
    ['POST /v1/balances/query', { method: 'POST', url: '/v1/balances/query', payload: `{"addresses":["${ADDRESS}"]}` }],
    ['POST /fetch_balance', { method: 'POST', url: '/fetch_balance', payload: `["${ADDRESS}"]` }],
  ] as const)('%s: read a few in each turn of the loop, and answered whole', async (_name, request) => {
    const { mempool, seen } = mempoolWithManyOutputs();
    const app = await openApp('mempool', { modules: { mempool, clock: tickingClock() } });
    const { status, text, headers } = await send(app, request);
    expect(status).toBe(200);
    expect(text).toContain(`"address_list":{"${ADDRESS}":${ADDRESS_LIST}}`);
    expect(Number(headers['content-length'])).toBe(Buffer.byteLength(text));
    expect(seen.mostInATurn).toBeGreaterThan(0);
    expect(seen.mostInATurn).toBeLessThan(2_000);
  });

  it('beyond the bound of answers that are made at once: 503 with Retry-After, and others are served', async () => {
    const { mempool, seen } = mempoolWithManyOutputs();
    const app = await openApp('mempool', { modules: { mempool } });
    const many = Array.from({ length: 50 }, () => send(app, { url: `/v1/balances?address=${ADDRESS}` }));
    const small = send(app, { url: '/v1/supply' });
    const answers = await Promise.all(many);
    const refused = answers.filter(({ status }) => status === 503);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(8);
    expect(refused).toHaveLength(42);
    for (const { body, headers } of refused) {
      expect(body.code).toBe('overloaded');
      expect(headers['retry-after']).toBe('1');
    }
    expect((await small).status).toBe(200);
    expect(seen.mostInATurn).toBeLessThan(50 * 1_000);
    expect((await send(app, { url: `/v1/balances?address=${ADDRESS}` })).status).toBe(200);
  });
});

describe('a wallet of 12,000 addresses', () => {
  it('is shown whole, a few addresses in each turn of the loop (rule P6)', async () => {
    const { seen, counted } = countedInTurns(OUTPUT_LIST.map((one) => [one.outPoint.tHash, [one]] as const));
    // A map as the wallet gives it, whose entries are counted as they are read.
    const addresses = Object.assign(new Map<string, readonly Holding[]>(), { [Symbol.iterator]: counted });
    const info = async () => ({ addresses, running: 1n, available: 1n, locked: 0n, items: new Map() });
    const app = await openApp('user', { modules: { wallet: { ...fakeWallet(), info }, clock: tickingClock() } });
    const { status, body } = await send(app, { url: '/v1/wallet' });
    expect(status).toBe(200);
    expect(Object.keys(body.addresses as object)).toEqual(OUTPUT_LIST.map(({ outPoint }) => outPoint.tHash));
    expect(seen.mostInATurn).toBeGreaterThan(0);
    expect(seen.mostInATurn).toBeLessThan(2_000);
  });

  it('is grouped a thousand coins at a time', () => {
    const work = groupByAddress(OUTPUT_LIST.map((one) => ({ ...one, address: one.outPoint.tHash })));
    let pieces = 1;
    for (let step = work.next(); !step.done; step = work.next()) pieces++;
    expect(pieces).toBe(Math.ceil(OUTPUTS / 1_024));
  });
});

describe('an answer that is known to be long', () => {
  it.each([
    ['GET /v1/balances', { url: `/v1/balances?address=${ADDRESS}` }],
    ['POST /v1/balances/query', { method: 'POST', url: '/v1/balances/query', payload: `{"addresses":["${ADDRESS}"]}` }],
    ['POST /fetch_balance', { method: 'POST', url: '/fetch_balance', payload: `["${ADDRESS}"]` }],
  ] as const)(
    '%s: what it is made of is copied for those who get a place, one in a turn (rule P6)',
    async (_name, request) => {
      const { mempool } = mempoolWithManyOutputs();
      const clock = tickingClock();
      const copies = { all: 0, inThisTurn: 0, mostInATurn: 0 };
      const balances = () => {
        if (copies.inThisTurn === 0) setImmediate(() => Object.assign(copies, { inThisTurn: 0 }));
        clock.pass(8);
        copies.all++;
        copies.inThisTurn++;
        copies.mostInATurn = Math.max(copies.mostInATurn, copies.inThisTurn);
        return mempool.balances();
      };
      const app = await openApp('mempool', { modules: { mempool: { ...mempool, balances }, clock } });
      const answers = await Promise.all(Array.from({ length: 50 }, () => send(app, request)));
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(8);
      expect(copies.all).toBe(8);
      // One more when the loop comes to this test's own turn after the next copy.
      expect(copies.mostInATurn).toBeLessThanOrEqual(2);
      expect((await send(app, request)).status).toBe(200);
    },
  );
});

/** A storage that notes how many reads are under way. */
function countingStorage(entry: StoredEntry) {
  const reads = { now: 0, most: 0 };
  const read = async () => {
    reads.now++;
    reads.most = Math.max(reads.most, reads.now);
    await new Promise((resolve) => setImmediate(resolve));
    reads.now--;
    return entry;
  };
  return { reads, storage: { ...fakeStorage(), entry: read } };
}

it('a long answer of few entries counts as one, and only a few are read before it does (rule P6)', async () => {
  const large: StoredEntry = { ...TX_ENTRY, json: Buffer.from(stringifyExact('x'.repeat(100 * 1024))) };
  const { reads, storage } = countingStorage(large);
  const app = await openApp('storage', { modules: { storage } });
  const keys = Array.from({ length: 20 }, (_, i) => `g${String(i).padStart(31, '0')}`);
  const ask = () =>
    send(app, { method: 'POST', url: '/v1/blockchain-entries/query', payload: stringifyExact({ keys }) });
  const answers = await Promise.all(Array.from({ length: 20 }, ask));
  expect(answers.map(({ status }) => status).sort()).toEqual([...Array(8).fill(200), ...Array(12).fill(503)]);
  expect(reads.most).toBeLessThanOrEqual(20 * 4 + 8 * 20);
  expect((await ask()).status).toBe(200);
});

describe('many entries', () => {
  const keys = stringifyExact(Array.from({ length: 1_000 }, (_, i) => `g${String(i).padStart(31, '0')}`));

  it.each([
    ['POST /v1/blockchain-entries/query', '/v1/blockchain-entries/query', `{"keys":${keys}}`],
    ['POST /blockchain_entry', '/blockchain_entry', keys],
  ])('%s reads a few dozen at a time', async (_name, url, payload) => {
    const { reads, storage } = countingStorage(TX_ENTRY);
    const app = await openApp('storage', { modules: { storage } });
    expect((await send(app, { method: 'POST', url, payload })).status).toBe(200);
    expect(reads.most).toBeLessThanOrEqual(32);
  });

  it.each([
    ['/v1/blockchain-entries/query', `{"keys":${keys}}`],
    ['/blockchain_entry', keys],
  ])('%s: more than 32 MiB together are refused', async (url, payload) => {
    const { storage } = countingStorage({ ...TX_ENTRY, json: Buffer.alloc(1024 * 1024, 0x20) });
    const app = await openApp('storage', { modules: { storage } });
    const { status, text } = await send(app, { method: 'POST', url, payload });
    expect(status).toBe(400);
    expect(text).toContain('ask for fewer at once');
  });
});

it('answers to clients that are gone do not count as unread ones (rule P6)', async () => {
  const json = Buffer.alloc(16 * 1024 * 1024 - 8, 0x20);
  let [asked, gate] = [createDeferred<void>(), createDeferred<void>()];
  const entry = async () => {
    asked.resolve();
    await gate.promise;
    return { ...TX_ENTRY, json };
  };
  const app = await openApp('storage', { modules: { storage: { ...fakeStorage(), entry } } });
  const url = `${await app.listen()}/v1/blockchain-entries/query`;
  const request = {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: stringifyExact({ keys: [`g${'0'.repeat(31)}`, `g${'1'.repeat(31)}`] }),
  };
  // Nine answers of 32 MiB are more than may wait for their readers.
  for (let i = 0; i < 9; i++) {
    const [closed, leaving] = [createDeferred<void>(), new AbortController()];
    app.server.once('request', ({ socket }) => socket.once('close', () => closed.resolve()));
    const answer = fetch(url, { ...request, signal: leaving.signal }).catch(() => 'gone');
    await asked.promise;
    leaving.abort();
    await Promise.all([answer, closed.promise]);
    gate.resolve();
    [asked, gate] = [createDeferred(), createDeferred()];
  }
  gate.resolve();
  expect((await fetch(url, request)).status).toBe(200);
});

describe('1,000 transactions in one body', () => {
  const list = stringifyExact(Array.from({ length: 1_000 }, (_, i) => transactionBody(i + 1)));

  it.each([
    ['POST /v1/transactions', '/v1/transactions', `{"transactions":${list}}`, 201],
    ['POST /create_transactions', '/create_transactions', list, 200],
  ])('%s reads a few of them in each turn of the loop', async (_name, url, payload, expected) => {
    let turns = 0;
    let submitted = 0;
    const tick = (): void => {
      turns++;
      if (submitted === 0) setImmediate(tick);
    };
    const submit: MempoolService['submit'] = async (transactions) => {
      submitted = transactions.length;
      return fakeMempool().submit(transactions);
    };
    const app = await openApp('mempool', { modules: { mempool: { ...fakeMempool(), submit }, clock: tickingClock() } });
    setImmediate(tick);
    expect((await send(app, { method: 'POST', url, payload })).status).toBe(expected);
    expect(submitted).toBe(1_000);
    expect(turns).toBeGreaterThan(5);
  });
});

describe('the answer to what has been taken', () => {
  const payload = stringifyExact(Array.from({ length: 200 }, (_, i) => transactionBody(i + 1)));

  it('is never refused, however many long answers are made (rule P6)', async () => {
    const { mempool } = mempoolWithManyOutputs();
    const app = await openApp('mempool', { modules: { mempool } });
    const reads = Array.from({ length: 20 }, () => send(app, { url: `/v1/balances?address=${ADDRESS}` }));
    const posts = Array.from({ length: 20 }, () => send(app, { method: 'POST', url: '/create_transactions', payload }));
    expect((await Promise.all(posts)).map(({ status }) => status)).toEqual(Array(20).fill(200));
    expect((await Promise.all(reads)).filter(({ status }) => status === 503)).toHaveLength(12);
  });

  it('is made to its end when its client has gone: another may wait for it with the same x-cache-id', async () => {
    const [submitted, gone, gate] = [createDeferred<void>(), createDeferred<void>(), createDeferred<void>()];
    const submit: MempoolService['submit'] = async (transactions) => {
      submitted.resolve();
      await gate.promise;
      return fakeMempool().submit(transactions);
    };
    const keptAnswers = IdempotencyCache.of({ cacheEntries: 10, cacheTtlSeconds: 60 }, { clock: processorClock });
    const asks = vi.spyOn(keptAnswers, 'run');
    const app = await openApp('mempool', { modules: { mempool: { ...fakeMempool(), submit }, keptAnswers } });
    app.server.once('request', ({ socket }) => socket.once('close', () => gone.resolve()));
    const headers = { 'content-type': 'application/json', 'x-cache-id': 'a1d46199e5c89b00509e118f5af83172' };
    const leaving = new AbortController();
    const url = `${await app.listen()}/create_transactions`;
    const first = fetch(url, { method: 'POST', headers, body: payload, signal: leaving.signal }).catch(() => 'gone');
    await submitted.promise;
    leaving.abort();
    await Promise.all([first, gone.promise]);
    const second = send(app, { method: 'POST', url: '/create_transactions', payload, headers });
    await expect.poll(() => asks.mock.calls.length, { timeout: 60_000 }).toBe(2);
    gate.resolve();
    expect((await second).status).toBe(200);
  });
});
