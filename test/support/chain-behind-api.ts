/** A storage node and a mempool node as `tessera wallet restore` sees them: the real API over a chain that a test makes up. */

import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { FastifyInstance } from 'fastify';
import { onTestFinished } from 'vitest';
import { TesseraError } from '../../src/lib/errors.js';
import type { Holding, MempoolService } from '../../src/mempool/service.js';
import type { StorageService } from '../../src/storage/service.js';
import { buildApp } from './api/app.js';
import { fakeMempool, fakeStorage, holdingsOf } from './api/fakes.js';

/** Addresses that a transaction pays, and the bytes of its JSON at least. */
export interface MadeUpTransaction {
  readonly pays: readonly string[];
  readonly bytes?: number;
}

export interface ChainBehindApi {
  /** By height. */
  readonly blocks: (readonly MadeUpTransaction[])[];
  /** Raw units by address; `undefined`: more outputs than one answer lists. */
  readonly unspent: Map<string, bigint | undefined>;
  /** What the next requests get instead of an answer: no answer, or a status. */
  readonly failures: ('lost' | 429 | 503)[];
  /** The numbers of keys or blocks in the requests. */
  readonly asked: number[];
  readonly notReady: { storage: readonly string[]; mempool: readonly string[] };
  /** Says that every address holds something. */
  lies: boolean;
  readonly urls: { readonly storage: string; readonly mempool: string };
}

const hashOf = (height: number, n: number): string => `g${height}x${n}`.padEnd(32, '0');

/** Closed when the test ends. */
export async function chainBehindApi(): Promise<ChainBehindApi> {
  const chain = {
    blocks: [] as MadeUpTransaction[][],
    unspent: new Map<string, bigint | undefined>(),
    failures: [] as ChainBehindApi['failures'],
    asked: [] as number[],
    notReady: { storage: [] as readonly string[], mempool: [] as readonly string[] },
    lies: false,
  };
  const storage = await buildApp('storage', {
    modules: { storage: storageOf(chain), readiness: () => chain.notReady.storage },
  });
  const mempool = await buildApp('mempool', {
    modules: { mempool: mempoolOf(chain), readiness: () => chain.notReady.mempool },
  });
  const urls = { storage: await serve(storage, chain), mempool: await serve(mempool, chain) };
  return Object.assign(chain, { urls });
}

type Made = Omit<ChainBehindApi, 'urls'>;

function storageOf({ blocks }: Made): StorageService {
  const blockJson = (height: number): string => {
    const transactions = (blocks[height] ?? []).map((_, n) => hashOf(height, n));
    const header = { b_num: height, nonce_and_mining_tx_hash: [[], hashOf(height, -1)] };
    return JSON.stringify({ block: { header, transactions } });
  };
  const transactionJson = ({ pays, bytes = 0 }: MadeUpTransaction): string => {
    const outputs = pays.map((address) => ({ script_public_key: address }));
    return JSON.stringify({ outputs, fees: [], inputs: ' '.repeat(bytes) });
  };
  return {
    ...fakeStorage(),
    latest: async () => {
      const height = blocks.length - 1;
      if (height < 0) return undefined;
      return { height, hash: 'b', json: Buffer.from(`{"block":${blockJson(height)}}`), block: never };
    },
    blockAt: async (height) => {
      if (blocks[height] === undefined) return undefined;
      const json = Buffer.from(`{"key":"b","data":${blockJson(height)},"item_meta":{}}`);
      return { kind: 'block', key: 'b', height, txLen: 1, json, block: never };
    },
    entry: async (key) => {
      const [, height, n] = /^g(\d+)x(-?\d+?)0*$/.exec(key) ?? [];
      const made = blocks[Number(height)]?.find((_, i) => hashOf(Number(height), i) === key) ?? { pays: [] };
      if (n === undefined) return undefined;
      const json = Buffer.from(`{"key":"${key}","data":${transactionJson(made)},"item_meta":{}}`);
      return { kind: 'tx', key, height: Number(height), txNum: 0, json, transaction: never };
    },
  };
}

function mempoolOf(chain: Made): MempoolService {
  return {
    ...fakeMempool(),
    balances(addresses) {
      const known = addresses.filter((address) => chain.lies || chain.unspent.has(address));
      const held = known.map((address) => [address, chain.lies ? 1n : chain.unspent.get(address)] as const);
      if (held.some(([, amount]) => amount === undefined)) throw new TesseraError('too_many_outputs', 'Too many.');
      const list = held.map(([address, amount = 0n], n): readonly [string, Holding] => [
        address,
        { outPoint: { tHash: 'g'.repeat(32), n }, value: { kind: 'token', amount }, locktime: 0n },
      ]);
      const tokens = held.reduce((sum, [, amount = 0n]) => sum + amount, 0n);
      const lists = list.map(([address, holding]) => [address, holdingsOf([holding])] as const);
      return { tokens, items: new Map(), addresses: new Map(lists) };
    },
  };
}

function never(): never {
  throw new Error('nobody needs it decoded');
}

/** The app behind a server that fails as the test wants. */
async function serve(app: FastifyInstance, { failures, asked }: Made): Promise<string> {
  const server: Server = createServer(async (request, response) => {
    const failure = request.url === '/readyz' ? undefined : failures.shift();
    if (failure === 'lost') return void request.socket.destroy();
    if (failure !== undefined) return fail(response, failure);
    const payload = await text(request);
    const { url = '/', method } = request;
    const keys = payload === '' ? url.split('num=').length - 1 : JSON.parse(payload);
    if (keys.keys !== undefined) asked.push(keys.keys.length);
    const headers = payload === '' ? {} : { 'content-type': 'application/json' };
    const answer = await app.inject({ url, method: method === 'POST' ? 'POST' : 'GET', payload, headers });
    response.writeHead(answer.statusCode, { 'content-type': String(answer.headers['content-type']) });
    response.end(answer.rawPayload);
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await app.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function fail(response: ServerResponse, status: 429 | 503): void {
  const code = status === 429 ? 'rate_limited' : 'storage_unreachable';
  response.writeHead(status, { 'content-type': 'application/problem+json', 'retry-after': '7' });
  response.end(JSON.stringify({ type: 'about:blank', title: 'No', status, detail: 'Not now.', code }));
}
