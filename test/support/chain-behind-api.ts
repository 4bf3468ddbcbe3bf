/** A storage node and a mempool node as `tessera wallet restore` sees them: the real API over a chain that a test makes up. */

import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { FastifyInstance } from 'fastify';
import { onTestFinished } from 'vitest';
import { transactionHash } from '../../src/chain/hash.js';
import { blockJson, transactionJson } from '../../src/chain/json.js';
import { TesseraError } from '../../src/lib/errors.js';
import type { Holding, MempoolService } from '../../src/mempool/service.js';
import type { StorageService } from '../../src/storage/service.js';
import { buildApp } from './api/app.js';
import { fakeMempool, fakeStorage, holdingsOf } from './api/fakes.js';
import { block, paymentFromOutside, tokens } from './wallet-fixtures.js';

/** No command reads them. */
const BLOCK_META = '{"type":"block","block_num":0,"tx_len":1}';
const TX_META = '{"type":"tx","block_num":0,"tx_num":0}';

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

/** Blocks of the transactions, each behind the one before it, and what is in them by hash. */
class MadeUpChain {
  readonly #blocks: Made['blocks'];
  readonly #made: ReturnType<typeof block>[] = [];
  readonly #transactions = new Map<string, { readonly json: string; readonly height: number }>();

  constructor(blocks: Made['blocks']) {
    this.#blocks = blocks;
  }

  blockJson(height: number): string {
    this.#makeUpTo(height);
    const made = this.#made[height];
    return made === undefined ? '' : `{"block":${blockJson(made.full.block)}}`;
  }

  hashAt(height: number): string {
    this.#makeUpTo(height);
    return this.#made[height]?.hash ?? '';
  }

  transaction(hash: string): { readonly json: string; readonly height: number } | undefined {
    this.#makeUpTo(this.#blocks.length - 1);
    return this.#transactions.get(hash);
  }

  #makeUpTo(end: number): void {
    for (let height = this.#made.length; height <= end; height++) {
      const wanted = this.#blocks[height] ?? [];
      const transactions = wanted.map(({ pays }, n) =>
        paymentFromOutside(
          pays.map((address) => tokens(address, 1n)),
          height + n / 1_000,
        ),
      );
      const made = block(height, transactions, { previous: this.#made.at(-1)?.hash ?? null });
      this.#made.push(made);
      const { miningTransaction } = made.full;
      for (const [n, transaction] of [...transactions, miningTransaction].entries()) {
        const json = transactionJson(transaction);
        const padded = `${json.slice(0, -1)}${' '.repeat(wanted[n]?.bytes ?? 0)}}`;
        this.#transactions.set(transactionHash(transaction), { json: padded, height });
      }
    }
  }
}

function storageOf({ blocks }: Made): StorageService {
  const chain = new MadeUpChain(blocks);
  return {
    ...fakeStorage(),
    latest: async () => {
      const height = blocks.length - 1;
      if (height < 0) return undefined;
      return { height, hash: 'b', json: Buffer.from(`{"block":${chain.blockJson(height)}}`), block: never };
    },
    blockAt: async (height) => {
      if (blocks[height] === undefined) return undefined;
      const key = chain.hashAt(height);
      const json = Buffer.from(`{"key":"${key}","data":${chain.blockJson(height)},"item_meta":${BLOCK_META}}`);
      return { kind: 'block', key, height, txLen: 1, json, block: never };
    },
    entry: async (key) => {
      const found = chain.transaction(key);
      if (found === undefined) return undefined;
      const json = Buffer.from(`{"key":"${key}","data":${found.json},"item_meta":${TX_META}}`);
      return { kind: 'tx', key, height: found.height, txNum: 0, json, transaction: never };
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
