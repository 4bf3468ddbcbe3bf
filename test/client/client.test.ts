/** The typed client over real sockets: what it sends, what it reads, and how it fails. */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { describe, expect, it, onTestFinished } from 'vitest';
import { membersOf, type Operation } from '../../src/api/operation.js';
import { OPERATIONS } from '../../src/api/operations.js';
import { NodeClient } from '../../src/client/client.js';
import { NoAnswer } from '../../src/client/transport.js';
import type { NodeRole } from '../../src/lib/roles.js';
import { API_KEY, type AppSetup, openApp } from '../support/api/app.js';
import {
  ADDRESS,
  BLOCK_HASH,
  type Calls,
  ODD_AMOUNT,
  OTHER_ADDRESS,
  PASSPHRASE,
  TX_HASH,
  transactionBody,
} from '../support/api/fakes.js';

async function clientOf(
  role: NodeRole,
  setup: AppSetup = {},
  apiKey: string | undefined = API_KEY,
): Promise<NodeClient> {
  const app: FastifyInstance = await openApp(role, setup);
  return new NodeClient({ url: await app.listen({ host: '127.0.0.1', port: 0 }), apiKey });
}

describe('the client', () => {
  it('has a method for each operation', async () => {
    const { api } = new NodeClient({ url: 'http://127.0.0.1:1' });
    for (const { id } of OPERATIONS) expect(Reflect.get(api, id)).toBeTypeOf('function');
  });

  it('reads integers exactly', async () => {
    const { api } = await clientOf('mempool');
    expect(await api.getSupply()).toEqual({ total: 360_360_000_000_000_000n, issued: ODD_AMOUNT });
  });

  it.each(['1e3', '1.0', '0.99999999999999999999', '-0'])('takes %s for no integer', async (total) => {
    const server = createServer((_request, response) => response.end(`{"total":${total},"issued":1}`));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const { api } = new NodeClient({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
    await expect(api.getSupply()).rejects.toMatchObject({ code: 'node_unreachable' });
  });

  it('fills paths, also where they need escaping', async () => {
    const { api } = await clientOf('storage');
    const block = await api.getBlock({ params: { num: 7 } });
    expect(block.key).toBe(BLOCK_HASH);
    await expect(api.getBlockchainEntry({ params: { key: 'a/b?c d:e' } })).rejects.toMatchObject({
      code: 'entry_not_found',
    });
  });

  it('repeats the values of lists in queries', async () => {
    const { api } = await clientOf('mempool');
    const { balance } = await api.getBalances({ query: { address: [OTHER_ADDRESS, ADDRESS] } });
    expect(Object.keys(balance.address_list)).toEqual([OTHER_ADDRESS, ADDRESS]);
  });

  it('sends bodies with exact integers', async () => {
    const calls: Calls = [];
    const { api } = await clientOf('mempool', { calls });
    await api.createTransactions({ body: { transactions: [transactionBody(ODD_AMOUNT) as never] } });
    const submitted = [{ outputs: [{ value: { amount: ODD_AMOUNT } }] }];
    expect(calls).toMatchObject([{ name: 'submit', args: [submitted, expect.any(String)] }]);
  });

  it('shows its key to protected operations only', async () => {
    const seen: string[] = [];
    const server = createServer((request, response) => {
      seen.push(`${request.url} ${request.headers['x-api-key']}`);
      response.setHeader('content-type', 'application/json').end('{}');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const address = server.address();
    const port = typeof address === 'object' ? address?.port : 0;
    const { api } = new NodeClient({ url: `http://127.0.0.1:${port}`, apiKey: 'secret-key-of-a-test' });
    // The answer is that of no node.
    await api.getSupply().catch(() => undefined);
    await api.createWalletAddress().catch(() => undefined);
    expect(seen).toEqual(['/v1/supply undefined', '/v1/wallet/addresses secret-key-of-a-test']);
  });

  it('gives nothing where there is no body', async () => {
    const { api } = await clientOf('user');
    const body = { old_passphrase: PASSPHRASE, new_passphrase: 'new' };
    expect(await api.changePassphrase({ body })).toBeUndefined();
  });

  it('calls envelope routes too, harmless to repeat', async () => {
    const calls: Calls = [];
    const { api } = await clientOf('mempool', { calls });
    const args = { body: [transactionBody()] as never };
    const options = { cacheId: 'a1d46199e5c89b00509e118f5af83172' };
    const first = await api.envelopeCreateTransactions(args, options);
    expect(await api.envelopeCreateTransactions(args, options)).toEqual(first);
    expect(calls).toHaveLength(1);
  });

  it('reads the answer of a node that is not ready', async () => {
    const { api } = await clientOf('storage', { modules: { readiness: () => ['starting'] } });
    expect(await api.getReadiness()).toEqual({ status: 'unavailable', reasons: ['starting'] });
  });
});

describe('errors', () => {
  it('are the node’s own, with status and request id', async () => {
    const { api } = await clientOf('storage');
    await expect(api.getBlock({ params: { num: 8 } })).rejects.toMatchObject({
      code: 'block_not_found',
      message: 'No block has been stored at number 8.',
      status: 404,
      requestId: expect.stringMatching(/./),
    });
  });

  it('of envelope routes have the reason', async () => {
    const { api } = await clientOf('storage');
    await expect(api.envelopeBlockchainEntry({ body: 'unknown' })).rejects.toMatchObject({
      code: 'invalid_request',
      message: expect.stringContaining('Bad Request'),
    });
  });

  it('of keys come through', async () => {
    const { api } = await clientOf('user', {}, 'wrong-key-0123456');
    await expect(api.createWalletAddress()).rejects.toMatchObject({ code: 'invalid_api_key', status: 401 });
  });

  it('say that nothing was sent when nobody listens', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    const port = typeof address === 'object' ? address?.port : 0;
    await new Promise((resolve) => server.close(resolve));
    const { api } = new NodeClient({ url: `http://127.0.0.1:${port}` });
    const error = await api.getSupply().catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(NoAnswer);
    expect(error).toMatchObject({ code: 'node_unreachable', sent: false });
  });

  it.each([
    ['text', 'text/plain', 'hello'],
    ['other JSON', 'application/json', '[1]'],
  ])('say when it is no node that answers (%s)', async (_what, type, body) => {
    const server = createServer((_request, response) => response.writeHead(500, { 'content-type': type }).end(body));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const address = server.address();
    const port = typeof address === 'object' ? address?.port : 0;
    const { api } = new NodeClient({ url: `http://127.0.0.1:${port}` });
    await expect(api.getSupply()).rejects.toMatchObject({ code: 'node_unreachable' });
  });

  it('end a call that is aborted', async () => {
    const { api } = await clientOf('mempool');
    await expect(api.getSupply(undefined, { signal: AbortSignal.abort(new Error('enough')) })).rejects.toThrow(
      'enough',
    );
  });
});

it.each([
  ['DEPTH_ZERO_SELF_SIGNED_CERT', false],
  ['ERR_SSL_WRONG_VERSION_NUMBER', false],
  ['ECONNREFUSED', false],
  // It came with the answer: the request has arrived, and may have paid.
  ['ERR_SSL_DECRYPTION_FAILED_OR_BAD_RECORD_MAC', true],
  ['ECONNRESET', true],
])('a request that ends with %s counts as sent: %s', (code, sent) => {
  const cause = Object.assign(new Error('no answer'), { code });
  expect(new NoAnswer('https://a.node', new TypeError('fetch failed', { cause })).sent).toBe(sent);
});

describe('the definitions', () => {
  it('have no two arguments of one name in an operation, so that key=value is clear', () => {
    const all: readonly Operation[] = OPERATIONS;
    for (const { id, params, query, body } of all) {
      const names = [params, query, body?.schema].flatMap((schema) => membersOf(schema)).map(({ name }) => name);
      expect([id, names.length]).toEqual([id, new Set(names).size]);
      expect(names).not.toContain('body');
    }
  });

  it('reach a transaction by its hash', async () => {
    const { api } = await clientOf('storage');
    expect((await api.getBlockchainEntry({ params: { key: TX_HASH } })).item_meta).toEqual({
      type: 'tx',
      block_num: 7,
      tx_num: 1,
    });
  });
});
