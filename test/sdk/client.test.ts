/** The client library over real sockets: what it sends, what it reads, and when it asks again. */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, expectTypeOf, it, onTestFinished } from 'vitest';
import { EventHub } from '../../src/api/routes/events/event-hub.js';
import { stringifyExact } from '../../src/lib/json.js';
import type { NodeRole } from '../../src/lib/roles.js';
import {
  type ClientOptions,
  createClient,
  NoAnswer,
  type NodeEvent,
  RefusedCall,
  type TesseraClient,
  TesseraError,
  UnknownOutcome,
} from '../../src/sdk/client.js';
import { API_KEY, type AppSetup, openApp } from '../support/api/app.js';
import { ADDRESS, ODD_AMOUNT, OTHER_ADDRESS, TX_HASH } from '../support/api/fakes.js';

async function clientOf(
  role: NodeRole | readonly NodeRole[],
  setup: AppSetup = {},
  options: Partial<ClientOptions> = {},
) {
  const app = await openApp(role, setup);
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  return createClient({ url, apiKey: API_KEY, ...options });
}

interface Asked {
  readonly request: IncomingMessage;
  readonly path: string;
  readonly body: string;
}
type Answer = (asked: Asked, response: ServerResponse) => void;

/** A node that answers in this way, the last one for ever; `asked` is what it got. */
async function nodeThat(...answers: readonly Answer[]) {
  const asked: Asked[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const one = { request, path: request.url ?? '', body: Buffer.concat(chunks).toString() };
    asked.push(one);
    answers[Math.min(asked.length, answers.length) - 1]?.(one, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

const json =
  (value: unknown): Answer =>
  (_, response) =>
    void response.setHeader('content-type', 'application/json').end(stringifyExact(value));
const problem =
  (status: number, code: string, headers: Record<string, string> = {}): Answer =>
  (_, response) =>
    void response
      .writeHead(status, { 'content-type': 'application/problem+json', ...headers })
      .end(JSON.stringify({ type: 'about:blank', title: 'Error', status, detail: `it is ${code}`, code }));
const lost: Answer = ({ request }) => void request.socket.destroy();
const describing: Answer = json({
  paths: { '/v1/payments': { post: { parameters: [{ name: 'Idempotency-Key', in: 'header' }] } } },
});
const SUPPLY = json({ total: 7, issued: 5 });
const PAID = json({ to_address: ADDRESS, amount: { kind: 'token', amount: 1 }, tx_hash: TX_HASH });
const PAYMENT = { kind: 'address', address: ADDRESS, amount: 1n, passphrase: '' } as const;

describe('the client', () => {
  it('reads every integer of 64 bits as a bigint, exactly', async () => {
    const client = await clientOf('mempool');
    expect(await client.getSupply()).toEqual({ total: 360_360_000_000_000_000n, issued: ODD_AMOUNT });
    const { balance } = await client.getBalances({ address: [OTHER_ADDRESS, ADDRESS] });
    expect(Object.keys(balance.address_list)).toEqual([OTHER_ADDRESS, ADDRESS]);
    expect(balance.total.tokens).toBeTypeOf('bigint');
    expect(balance.address_list[ADDRESS]?.[0]?.out_point.n).toBeTypeOf('number');
    const status = await client.queryTransactionStatus({ hashes: [TX_HASH] });
    expect(status[TX_HASH]?.timestamp).toBeTypeOf('bigint');
  });

  it('writes bigints exactly, and refuses a number that is not', async () => {
    const node = await nodeThat(PAID);
    const client = createClient({ url: node.url });
    await client.createPayment({ ...PAYMENT, amount: ODD_AMOUNT });
    expect(node.asked[0]?.body).toBe(
      `{"kind":"address","address":"${ADDRESS}","amount":${ODD_AMOUNT},"passphrase":""}`,
    );
    const rounded = { ...PAYMENT, amount: (2 ** 60) as never };
    await expect(client.createPayment(rounded)).rejects.toMatchObject({
      code: 'invalid_request',
      message: 'amount is a number beyond 2^53, which is not exact: give a bigint',
    });
  });

  it('puts what it is given into the path, the query or the body', async () => {
    const node = await nodeThat(json({}));
    const client = createClient({ url: `${node.url}/tessera/` });
    await client.getBlock({ num: 7n });
    await client.getBlockchainEntry({ key: 'a/b?c d' });
    await client.getBalances({ address: ['a', 'b'] });
    await client.queryTransactionStatus({ hashes: ['g1'] });
    await client.createWalletAddress();
    expect(node.asked.map(({ request, path, body }) => `${request.method} ${path} ${body}`.trim())).toEqual([
      'GET /tessera/v1/blocks/7',
      'GET /tessera/v1/blockchain-entries/a%2Fb%3Fc%20d',
      'GET /tessera/v1/balances?address=a&address=b',
      'POST /tessera/v1/transactions/status:query {"hashes":["g1"]}',
      'POST /tessera/v1/wallet/addresses',
    ]);
    await expect(client.getBlockchainEntry({ key: '' })).rejects.toMatchObject({ code: 'invalid_request' });
  });

  it('shows its key to protected operations only', async () => {
    const node = await nodeThat(json({}));
    const client = createClient({ url: node.url, apiKey: 'secret-key-of-a-test' });
    await client.getSupply();
    await client.createWalletAddress();
    expect(node.asked.map(({ request }) => request.headers['x-api-key'])).toEqual([undefined, 'secret-key-of-a-test']);
  });

  it('asks the node of the role that has the operation', async () => {
    const [mempool, storage] = [await nodeThat(json({})), await nodeThat(json({}))];
    const client = createClient({ url: { mempool: mempool.url, storage: storage.url } });
    await client.getSupply();
    await client.getLatestBlock();
    await client.getDebug({}, { role: 'storage' });
    expect([mempool, storage].map(({ asked }) => asked.map(({ path }) => path))).toEqual([
      ['/v1/supply'],
      ['/v1/blocks/latest', '/v1/debug'],
    ]);
    await expect(client.getWallet()).rejects.toThrow('this client knows no address of a miner or user node');
  });

  it('works with all roles at one address', async () => {
    const client = await clientOf(['mempool', 'storage', 'user']);
    expect((await client.getSupply()).issued).toBe(ODD_AMOUNT);
    expect((await client.getLatestBlock()).block).toBeDefined();
    expect((await client.getWallet()).running_total_tokens).toBeTypeOf('bigint');
  });

  it('takes an answer of a node that is not ready for an answer', async () => {
    const client = await clientOf('mempool', { modules: { readiness: () => ['no storage node is connected'] } });
    expect(await client.getReadiness()).toMatchObject({ reasons: ['no storage node is connected'] });
  });
});

describe('errors', () => {
  it('are the node’s, with code, status and detail', async () => {
    const client = await clientOf('storage');
    const error = await client.getBlock({ num: 99 }).catch((cause: unknown) => cause);
    expect(error).toBeInstanceOf(RefusedCall);
    expect(error).toBeInstanceOf(TesseraError);
    expect(error).toMatchObject({ code: 'block_not_found', status: 404, detail: expect.any(String) });
    expect((error as RefusedCall).requestId).toMatch(/./);
  });

  it('say when to ask again', async () => {
    const node = await nodeThat(problem(429, 'rate_limited', { 'retry-after': '17' }));
    const client = createClient({ url: node.url, retryForMs: 1_000 });
    await expect(client.getSupply()).rejects.toMatchObject({ code: 'rate_limited', status: 429, retryAfter: 17 });
    // The time that the node names is longer than there is.
    expect(node.asked).toHaveLength(1);
  });

  it('say no time that no timer has', async () => {
    const node = await nodeThat(problem(429, 'rate_limited', { 'retry-after': '9999999999' }));
    const client = createClient({ url: node.url, retryForMs: 1_000 });
    await expect(client.getSupply()).rejects.toMatchObject({ code: 'rate_limited', retryAfter: 86_400 });
  });

  it('of the way there say that nothing was answered', async () => {
    const client = createClient({ url: 'http://127.0.0.1:1', retryForMs: 0 });
    await expect(client.getSupply()).rejects.toBeInstanceOf(NoAnswer);
  });

  it('of a server that is no node come at once', async () => {
    const node = await nodeThat((_, response) => void response.writeHead(404).end('<html>not here</html>'));
    await expect(createClient({ url: node.url }).getSupply()).rejects.toMatchObject({ code: 'node_unreachable' });
    expect(node.asked).toHaveLength(1);
  });

  it('are the reason of the caller’s signal when that ends the call, between attempts too', async () => {
    const reason = new Error('not needed any more');
    const hanging = await nodeThat(() => undefined);
    const busy = await nodeThat(problem(503, 'overloaded', { 'retry-after': '20' }));
    for (const { url, asked } of [hanging, busy]) {
      const stop = new AbortController();
      const call = createClient({ url }).getSupply({}, { signal: stop.signal });
      const ended = expect(call).rejects.toBe(reason);
      await expect.poll(() => asked.length).toBe(1);
      stop.abort(reason);
      await ended;
    }
  });

  it('come when the time of an attempt is over', async () => {
    const node = await nodeThat(() => undefined);
    const call = createClient({ url: node.url, timeoutMs: 50, retryForMs: 0 }).getSupply();
    await expect(call).rejects.toBeInstanceOf(NoAnswer);
  });
});

describe('a request', () => {
  it.each<[string, Answer]>([
    ['is lost', lost],
    ['meets a busy node', problem(503, 'overloaded', { 'retry-after': '0' })],
    ['comes too often', problem(429, 'rate_limited', { 'retry-after': '0' })],
    ['meets a proxy without a node', (_, response) => void response.writeHead(502).end('bad gateway')],
  ])('that reads is sent again when it %s', async (_, answer) => {
    const node = await nodeThat(answer, SUPPLY);
    expect(await createClient({ url: node.url }).getSupply()).toEqual({ total: 7n, issued: 5n });
    expect(node.asked).toHaveLength(2);
  });

  it('that reads goes on to the next node of the role', async () => {
    const [first, second] = [await nodeThat(problem(503, 'shutting_down')), await nodeThat(SUPPLY)];
    const client = createClient({ url: { mempool: [first.url, second.url] } });
    expect(await client.getSupply()).toEqual({ total: 7n, issued: 5n });
    expect([first.asked.length, second.asked.length]).toEqual([1, 1]);
  });

  it('that pays is sent again with its key after a lost answer, once the node says that it takes keys', async () => {
    const node = await nodeThat(lost, describing, PAID);
    const { tx_hash } = await createClient({ url: node.url }).createPayment(PAYMENT);
    expect(tx_hash).toBe(TX_HASH);
    expect(node.asked.map(({ path }) => path)).toEqual(['/v1/payments', '/v1/openapi.json', '/v1/payments']);
    const keys = [0, 2].map((at) => node.asked[at]?.request.headers['idempotency-key']);
    expect(keys[0]).toMatch(/^[0-9a-f]{32}$/);
    expect(keys[1]).toBe(keys[0]);
  });

  it('that pays is not sent again to a node that would pay twice', async () => {
    const node = await nodeThat(lost, json({ paths: {} }));
    await expect(createClient({ url: node.url }).createPayment(PAYMENT)).rejects.toBeInstanceOf(UnknownOutcome);
    expect(node.asked.map(({ path }) => path)).toEqual(['/v1/payments', '/v1/openapi.json']);
  });

  it('that pays has the key that it is given, and a new one each time otherwise', async () => {
    const node = await nodeThat(PAID);
    const client = createClient({ url: node.url });
    await client.createPayment(PAYMENT, { idempotencyKey: 'order-17' });
    await client.createPayment(PAYMENT);
    await client.createPayment(PAYMENT);
    const keys = node.asked.map(({ request }) => request.headers['idempotency-key']);
    expect(keys[0]).toBe('order-17');
    expect(new Set(keys).size).toBe(3);
  });

  it('that writes without a key is sent once', async () => {
    for (const answer of [lost, problem(503, 'overloaded')]) {
      const node = await nodeThat(answer);
      await expect(createClient({ url: node.url }).createWalletAddress()).rejects.toBeInstanceOf(TesseraError);
      expect(node.asked).toHaveLength(1);
    }
  });

  it('takes a key where the node does, and refuses it elsewhere: mempool nodes keep none', async () => {
    const node = await nodeThat(json({}));
    const client = createClient({ url: node.url });
    const signed = { genesis_hash_spec: 'Create', item_amount: 1n, signature: 'ab' };
    await client.createItem({ genesis_hash_spec: 'Create', item_amount: 1n });
    await client.createItem(signed);
    await client.createItem({ ...signed, signature: null, public_key: 'ab' });
    expect(node.asked.map(({ request }) => typeof request.headers['idempotency-key'])).toEqual([
      'string',
      'undefined',
      'undefined',
    ]);
    await expect(client.createItem(signed, { idempotencyKey: 'k' })).rejects.toMatchObject({ code: 'invalid_request' });
  });
});

/** The first events, and then the end of the iteration. */
async function take(count: number, events: AsyncIterable<NodeEvent>): Promise<NodeEvent[]> {
  const taken: NodeEvent[] = [];
  for await (const event of events) {
    taken.push(event);
    if (taken.length === count) break;
  }
  return taken;
}

describe('events', () => {
  const block = (num: number) => ({ block_num: BigInt(num), hash: `b${num}`, transactions: 2n });

  it('come as an iteration, with bigints', async () => {
    const hub = new EventHub({ epoch: 1 });
    hub.publish('blocks', 'block', { block_num: 1, hash: 'b1', transactions: 2 });
    const client = await clientOf('mempool', { modules: { events: hub } });
    hub.publish('blocks', 'block', { block_num: 2, hash: 'b2', transactions: 2 });
    const [event] = await take(1, client.events({ topics: ['blocks'], lastEventId: '1-1' }));
    expect(event).toEqual({ id: '1-2', name: 'block', data: block(2) });
    expectTypeOf(client.events()).toExtend<AsyncIterable<NodeEvent>>();
    if (event?.name === 'block') expectTypeOf(event.data.block_num).toEqualTypeOf<bigint>();
  });

  it('go on after the last one when the connection breaks', async () => {
    const text = (num: number) =>
      `id: 1-${num}\nevent: block\ndata: {"block_num":${num},"hash":"b${num}","transactions":2}\n\n`;
    const stream =
      (...nums: number[]): Answer =>
      (_, response) =>
        void response.writeHead(200, { 'content-type': 'text/event-stream' }).end(nums.map(text).join(''));
    const node = await nodeThat(stream(1, 2), lost, stream(3));
    const reasons: unknown[] = [];
    let opened = 0;
    const events = createClient({ url: node.url }).events({
      topics: ['blocks'],
      onOpen: () => void opened++,
      onLost: (why) => void reasons.push(why),
    });
    expect((await take(3, events)).map(({ data }) => data)).toEqual([1, 2, 3].map(block));
    const headers = node.asked.map(({ request }) => request.headers['last-event-id']);
    expect(headers).toEqual([undefined, '1-2', '1-2']);
    expect(reasons).toEqual([expect.any(NoAnswer)]);
    expect(opened).toBe(2);
  });

  it('end with the signal, without an error', async () => {
    const client = await clientOf('mempool', { modules: { events: new EventHub({ epoch: 1 }) } });
    const stop = new AbortController();
    const all = take(1, client.events({ signal: stop.signal }));
    stop.abort();
    expect(await all).toEqual([]);
  });

  it('of a wallet ask for the key, and a refusal is thrown', async () => {
    const client: TesseraClient = await clientOf('user', {}, { apiKey: undefined });
    await expect(take(1, client.events({ topics: ['wallet'] }))).rejects.toMatchObject({ code: 'missing_api_key' });
  });
});

describe('waiting for a transaction', () => {
  const status = (text: string): Answer =>
    json({ [TX_HASH]: { status: text, timestamp: 1, additional_info: 'a rule' } });

  it('ends when a block has it', async () => {
    const node = await nodeThat(json({}), status('Pending'), status('Confirmed'));
    await createClient({ url: node.url }).waitForTransaction(TX_HASH);
    expect(node.asked).toHaveLength(3);
  });

  it('ends with the rule that it breaks, and when the time is over', async () => {
    const rejecting = await nodeThat(status('Rejected'));
    await expect(createClient({ url: rejecting.url }).waitForTransaction(TX_HASH)).rejects.toMatchObject({
      code: 'transaction_rejected',
      message: `${TX_HASH} was rejected: a rule`,
    });
    const slow = await nodeThat(status('Pending'));
    const waiting = createClient({ url: slow.url }).waitForTransaction(TX_HASH, { timeoutMs: 0 });
    await expect(waiting).rejects.toMatchObject({ code: 'aborted' });
  });
});
