/** Tokens, and calls that stream both ways, against a server of gRPC in this process. */

import { create, type DescMethodUnary, fromBinary, toBinary } from '@bufbuild/protobuf';
import {
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServerUnaryCall,
  type sendUnaryData,
  status,
} from '@grpc/grpc-js';
import { afterEach, describe, expect, it } from 'vitest';
import { EtcdClient, EtcdLogin } from '../../src/journal/etcd/etcd-client.js';
import {
  Auth,
  KV,
  Lease,
  type LeaseKeepAliveRequest,
  type LeaseKeepAliveResponse,
  Watch,
  type WatchRequest,
  type WatchResponse,
} from '../../src/journal/etcd/generated/etcd-pb.js';
import { NODE_CERT, NODE_TLS_KEY } from '../support/certificates.js';

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0).reverse()) close();
});

type Handler<I, O> = (stream: ServerDuplexStream<I, O>, request: I) => void;

interface Handlers {
  /** The answer to a call with this token, by the name of its method; an error with a `code` is one of gRPC. */
  readonly unary?: (method: string, token: string) => Record<string, unknown> | Promise<Record<string, unknown>>;
  readonly keepAlive?: Handler<LeaseKeepAliveRequest, LeaseKeepAliveResponse>;
  readonly watch?: Handler<WatchRequest, WatchResponse>;
}

/** The address of a member that calls these for each request. */
async function startMember(
  { unary, keepAlive, watch }: Handlers,
  { host = '127.0.0.1', tls = ServerCredentials.createInsecure() } = {},
): Promise<string> {
  const server = new Server();
  const add = <I, O>(name: string, method: typeof Lease.method.leaseKeepAlive, handler?: Handler<I, O>): void => {
    const path = `/${method.parent.typeName}/${method.name}`;
    const streams = { requestStream: true, responseStream: true, path };
    const request = {
      requestSerialize: (value: never) => Buffer.from(toBinary(method.input, value)),
      requestDeserialize: (bytes: Buffer) => fromBinary(method.input, bytes),
    };
    const response = {
      responseSerialize: (value: never) => Buffer.from(toBinary(method.output, value)),
      responseDeserialize: (bytes: Buffer) => fromBinary(method.output, bytes),
    };
    const onCall = (stream: ServerDuplexStream<I, O>): void => {
      stream.on('data', (message: I) => handler?.(stream, message));
      stream.on('end', () => stream.end());
      stream.on('error', () => undefined);
    };
    server.addService({ [name]: { ...streams, ...request, ...response } } as never, { [name]: onCall } as never);
  };
  for (const method of [Auth.method.authenticate, KV.method.range] as readonly DescMethodUnary[]) {
    const path = `/${method.parent.typeName}/${method.name}`;
    const answer = (call: ServerUnaryCall<object, object>, callback: sendUnaryData<object>): void => {
      const answering = async () => unary?.(method.name, String(call.metadata.get('token')[0] ?? '')) ?? {};
      answering().then((given) => callback(null, given), callback);
    };
    const definition = {
      path,
      requestStream: false,
      responseStream: false,
      requestSerialize: () => Buffer.alloc(0),
      requestDeserialize: (bytes: Buffer) => fromBinary(method.input, bytes),
      responseSerialize: (value: object) =>
        Buffer.from(toBinary(method.output, create(method.output, value as Record<string, unknown>))),
      responseDeserialize: (bytes: Buffer) => fromBinary(method.output, bytes),
    };
    server.addService({ [method.name]: definition }, { [method.name]: answer });
  }
  add('keepAlive', Lease.method.leaseKeepAlive, keepAlive);
  add('watch', Watch.method.watch as never, watch);
  const port = await new Promise<number>((resolve, reject) => {
    const bound = (error: Error | null, value: number): void => (error === null ? resolve(value) : reject(error));
    server.bindAsync(`${host}:0`, tls, bound);
  });
  closing.push(() => server.forceShutdown());
  return `http://${host}:${port}`;
}

async function clientOf(members: readonly Handlers[], callTimeout: number, user?: EtcdLogin): Promise<EtcdClient> {
  const client = new EtcdClient({
    endpoints: await Promise.all(members.map((member) => startMember(member))),
    callTimeout,
    user,
  });
  closing.push(() => client.close());
  return client;
}

const range = (client: EtcdClient) => client.call(KV.method.range, { key: new Uint8Array(1) });
const SHORT_MS = 100;
const LONG_MS = 60_000;
const WITHIN = { timeout: 60_000 };
/** Answers later than the client waits at first, and before it gives up for good. */
const late = (count: bigint) => () =>
  new Promise<{ readonly count: bigint }>((resolve) => {
    setTimeout(() => resolve({ count }), 3 * SHORT_MS);
  });

const answerTo = ({ ID }: LeaseKeepAliveRequest, TTL: bigint): LeaseKeepAliveResponse =>
  create(Lease.method.leaseKeepAlive.output, { ID, TTL });

/** Members of etcd whose token is that of the last `authenticate`; `refuse` makes all of them worthless. */
function tokens() {
  let given = 0;
  let valid = '';
  let refusal = { code: status.UNAUTHENTICATED, details: 'etcdserver: invalid auth token' };
  const unary = (method: string, token: string): Record<string, unknown> => {
    if (method === 'Authenticate') {
      given += 1;
      valid = `token ${given}`;
      return { token: valid };
    }
    if (token !== valid) throw Object.assign(new Error(refusal.details), refusal);
    return { count: 7n };
  };
  const refuse = (code: number, details: string): void => {
    refusal = { code, details };
    valid = 'none';
  };
  return { unary, refuse, given: () => given };
}

describe('the client of etcd', () => {
  it.each([
    [status.UNAUTHENTICATED, 'etcdserver: invalid auth token'],
    // Of a token that was given before users or roles changed, and of a call without one.
    [status.INVALID_ARGUMENT, 'etcdserver: revision of auth store is old'],
    [status.INVALID_ARGUMENT, 'etcdserver: user name is empty'],
  ])(
    'gets one more token for all calls of a node that are refused with %i %s, and repeats them',
    async (code, details) => {
      const { unary, refuse, given } = tokens();
      const endpoints = [await startMember({ unary })];
      const user = new EtcdLogin('root', 'a password');
      const clients = [1, 2].map(() => new EtcdClient({ endpoints, callTimeout: LONG_MS, user }));
      for (const client of clients) closing.push(() => client.close());
      const askMany = () => Promise.all(Array.from({ length: 20 }, () => clients.map(range)).flat());
      for (const answer of await askMany()) expect(answer.count).toBe(7n);
      expect(given()).toBe(1);
      refuse(code, details);
      for (const answer of await askMany()) expect(answer.count).toBe(7n);
      expect(given()).toBe(2);
    },
  );

  it('gives a member that is slow more time, until it answers', async () => {
    const client = await clientOf([{ unary: late(7n) }], SHORT_MS);
    await expect(range(client)).rejects.toMatchObject({ status: status.DEADLINE_EXCEEDED });
    await expect.poll(() => range(client).catch(() => undefined), WITHIN).toMatchObject({ count: 7n });
  });

  it('leaves a member that does not answer with all that it reads from it', async () => {
    const watch: Handlers['watch'] = (stream) => stream.write(create(Watch.method.watch.output, { created: true }));
    const silent = { watch, unary: () => new Promise<never>(() => undefined) };
    const client = await clientOf([silent, { watch, unary: () => ({ count: 7n }) }], SHORT_MS);
    const { responses } = await client.watch({ requestUnion: { case: 'createRequest', value: {} } });
    const ended = expect(responses[Symbol.asyncIterator]().next()).rejects.toMatchObject({ name: 'EtcdError' });
    // Whichever call notices first, the other is cancelled.
    await expect(range(client)).rejects.toMatchObject({ name: 'EtcdError' });
    await ended;
    await expect.poll(() => range(client).catch(() => undefined), WITHIN).toMatchObject({ count: 7n });
  });

  it('goes over to the member that answers first', async () => {
    const client = await clientOf([{ unary: late(1n) }, { unary: () => ({ count: 2n }) }], LONG_MS);
    expect(await range(client)).toMatchObject({ count: 1n });
    const nearest = async () => {
      await client.preferNearest();
      return range(client);
    };
    await expect.poll(nearest, WITHIN).toMatchObject({ count: 2n });
  });

  it('gives the first answer of a stream, and ends it', async () => {
    const ended: boolean[] = [];
    const keepAlive: Handlers['keepAlive'] = (stream, request) => {
      stream.on('cancelled', () => ended.push(true));
      stream.write(answerTo(request, 5n));
    };
    const client = await clientOf([{ keepAlive }], LONG_MS);
    for (const ID of [7n, 8n]) {
      expect(await client.exchange(Lease.method.leaseKeepAlive, { ID })).toMatchObject({ ID, TTL: 5n });
    }
    await expect.poll(() => ended.length).toBe(2);
  });

  it('gives up a stream without an answer, and one that the server ends', async () => {
    const silent = await clientOf([{}], SHORT_MS);
    await expect(silent.exchange(Lease.method.leaseKeepAlive, { ID: 7n })).rejects.toMatchObject({ name: 'EtcdError' });
    const ending = await clientOf([{ keepAlive: (stream) => stream.end() }], LONG_MS);
    await expect(ending.exchange(Lease.method.leaseKeepAlive, { ID: 7n })).rejects.toThrow('the stream has ended');
  });

  it('gives what a watch tells, one after the other, until it is cancelled', async () => {
    const watch: Handlers['watch'] = (stream) => {
      for (const watchId of [1n, 2n, 3n]) {
        stream.write(create(Watch.method.watch.output, { created: watchId === 1n, watchId }));
      }
    };
    const client = await clientOf([{ watch }], LONG_MS);
    const { created, responses, cancel } = await client.watch({
      requestUnion: { case: 'createRequest', value: { key: new Uint8Array(1) } },
    });
    expect(created).toMatchObject({ created: true, watchId: 1n });
    const told: bigint[] = [];
    for await (const { watchId } of responses) {
      told.push(watchId);
      if (watchId === 3n) break;
    }
    cancel();
    expect(told).toEqual([2n, 3n]);
  });

  it('says by an error of its own that it is closed', async () => {
    const client = await clientOf([{ unary: () => ({}) }], LONG_MS);
    client.close();
    const closed = { name: 'EtcdError', status: status.UNAVAILABLE };
    await expect(range(client)).rejects.toMatchObject(closed);
    await expect(client.exchange(Lease.method.leaseKeepAlive, { ID: 7n })).rejects.toMatchObject(closed);
  });

  it('knows a member by its address, which its certificate must name, and calls it by none that TLS forbids', async () => {
    const codes: unknown[] = [];
    const note = (warning: Error): void => void codes.push(Reflect.get(warning, 'code'));
    process.on('warning', note);
    closing.push(() => process.off('warning', note));
    const pair = { private_key: Buffer.from(NODE_TLS_KEY), cert_chain: Buffer.from(NODE_CERT) };
    for (const [host, isNamed] of [
      ['127.0.0.1', true],
      ['127.0.0.2', false],
    ] as const) {
      const tls = ServerCredentials.createSsl(null, [pair]);
      const endpoint = (await startMember({ unary: () => ({ count: 7n }) }, { host, tls })).replace('http:', 'https:');
      const ca = Buffer.from(NODE_CERT);
      const client = new EtcdClient({ endpoints: [endpoint], callTimeout: LONG_MS, tls: { ca } });
      closing.push(() => client.close());
      if (isNamed) expect(await range(client)).toMatchObject({ count: 7n });
      else await expect(range(client)).rejects.toMatchObject({ status: status.UNAVAILABLE });
    }
    expect(codes).not.toContain('DEP0123');
  });
});
