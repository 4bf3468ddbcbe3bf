/**
 * A node for the benchmark of the pages: serves the built pages, a chain of 10,000 blocks with an address of 100,000 outputs, and a
 * wallet with 20,000 movements, made up as they are asked for, so that only the pages are measured.
 */

import { fileURLToPath } from 'node:url';
import Fastify, { type FastifyInstance } from 'fastify';
import { RequestLog, requestLog } from '../src/api/http/request-log.js';
import { PageFiles } from '../src/api/pages/page-files.js';
import { pageRoutes } from '../src/api/pages/pages.js';
import { systemClock } from '../src/lib/clock.js';
import { silentLogger } from '../src/lib/logger.js';
import { noMetrics } from '../src/observability/metrics.js';

export const BLOCKS = 10_000;
export const OUTPUTS = 100_000;
export const MOVEMENTS = 20_000;
export const ADDRESS = 'ab'.repeat(32);

const PAGES = fileURLToPath(new URL('../dist/web/', import.meta.url));
const FIRST_TIME = 1_700_000_000;
const BLOCK_SECONDS = 5;
const PLACE = { tx_num: 0, time: FIRST_TIME };

const hex = (value: number, length: number): string => (value * 2_654_435_761).toString(16).padStart(length, '0');
const blockHash = (number: number): string => `b${hex(number, 64)}`;
const txHash = (number: number): string => `g${hex(number, 31)}`;

function block(number: number) {
  return {
    block_num: number,
    hash: blockHash(number),
    previous_hash: number === 0 ? null : blockHash(number - 1),
    time: FIRST_TIME + number * BLOCK_SECONDS,
    transactions: 1 + ((number * 7) % 230),
    bytes: 1_000 + ((number * 613) % 60_000),
    difficulty: '',
    reward: 2_600_000_000,
    issued: 90_090_000_000_000_000n + BigInt(number) * 2_600_000_000n,
    miner: ADDRESS,
    coinbase: txHash(number),
  };
}

const json = (value: unknown): string =>
  JSON.stringify(value, (_key, member: unknown) => (typeof member === 'bigint' ? Number(member) : member));

export interface PagesNode {
  readonly app: FastifyInstance;
  /** Tells of a new block on the event stream. */
  addBlock(): void;
  /** Tells of a new payment of the wallet on the event stream. */
  addMovement(): void;
}

export async function openPagesNode(): Promise<PagesNode> {
  const app = Fastify({ forceCloseConnections: true });
  const modules = { logger: silentLogger, clock: systemClock, metrics: noMetrics };
  await app.register(requestLog, { log: new RequestLog(modules) });
  await app.register(pageRoutes, { sites: ['explorer', 'wallet'], files: await PageFiles.load(PAGES) });
  app.setReplySerializer(json);
  let height = BLOCKS - 1;
  let movements = MOVEMENTS;
  const tellers = new Set<(name: string, data: object) => void>();
  const tell = (name: string, data: object): void => {
    for (const teller of tellers) teller(name, data);
  };
  const paged = (name: string, count: number, entry: (at: number) => object) => (request: { query: unknown }) => {
    const { cursor = '0', limit = '25' } = request.query as { cursor?: string; limit?: string };
    const [first, size] = [Number(cursor), Number(limit)];
    const entries = Array.from({ length: Math.min(size, count - first) }, (_, at) => entry(first + at));
    return { [name]: entries, next: first + size < count ? String(first + size) : null, as_of_block: height };
  };

  app.get('/v1/debug', () => ({ node_type: 'Storage', node_api: ['/v1/chain/index'], node_peers: [], routes_pow: {} }));
  app.get('/v1/chain/index', () => ({ state: 'ready', block_num: height, blocks: height + 1, problem: null }));
  app.get('/v1/chain/blocks', ({ query }) => {
    const { limit = '20', before = String(height + 1) } = query as { limit?: string; before?: string };
    const count = Math.min(Number(limit), Number(before));
    return { blocks: Array.from({ length: count }, (_, at) => block(Number(before) - 1 - at)), next: null };
  });
  app.get('/v1/chain/blocks/:block/transactions', paged('transactions', 100, transaction));
  app.get('/v1/chain/addresses/:address', () => ({
    address: ADDRESS,
    tokens: 72_072_000,
    received: '720720000',
    sent: '0',
    transaction_count: OUTPUTS,
    unspent_count: OUTPUTS,
    item_count: 0,
    first_seen: { tx_hash: txHash(1), block_num: 1, ...PLACE },
    last_seen: { tx_hash: txHash(2), block_num: 2, ...PLACE },
    as_of_block: height,
  }));
  app.get('/v1/chain/addresses/:address/outputs', paged('outputs', OUTPUTS, output));
  app.get('/v1/wallet/movements', ({ query }) => {
    const { limit = '100', cursor = String(movements) } = query as { limit?: string; cursor?: string };
    const count = Math.min(Number(limit), Number(cursor));
    const first = Number(cursor) - 1;
    return {
      movements: Array.from({ length: count }, (_, at) => movement(first - at)),
      next: first - count < 0 ? null : first - count + 1,
    };
  });
  app.get('/v1/events', (_request, reply) => {
    reply.hijack();
    reply.raw.writeHead(200, { 'content-type': 'text/event-stream' }).write('retry: 1000\n\n');
    const teller = (name: string, data: object): void => {
      reply.raw.write(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
    };
    tellers.add(teller);
    reply.raw.once('close', () => tellers.delete(teller));
  });
  return {
    app,
    addBlock() {
      height++;
      const { block_num, hash, transactions } = block(height);
      tell('block', { block_num, hash, transactions });
    },
    addMovement() {
      movements++;
      tell('payment', { hash: txHash(movements), kind: 'payment', status: 'confirmed', reason: null });
    },
  };
}

function transaction(at: number) {
  const counts = { bytes: 310, input_count: 1, output_count: 2 };
  return { tx_hash: txHash(at), block_num: 1, ...PLACE, kind: 'payment', ...counts, tokens: 72_072_000 + at };
}

function movement(number: number) {
  return {
    number,
    tx_hash: txHash(number),
    chain_hash: null,
    kind: 'payment',
    direction: number % 2 === 0 ? 'in' : 'out',
    state: 'confirmed',
    reason: null,
    peer: null,
    amount: 72_072_000 + number,
    items: {},
    net: number % 2 === 0 ? 72_072_000 + number : -72_072_000 - number,
    fee: null,
    block_num: number % BLOCKS,
    block_time: FIRST_TIME + number,
    seen_at: FIRST_TIME + number,
    from: [ADDRESS],
    outputs: [{ address: ADDRESS, amount: 72_072_000 + number, item: null, own: number % 2 === 0 }],
    output_count: 1,
    label: null,
  };
}

function output(at: number) {
  const asset = { asset: 'token', amount: 1_000 + at, genesis_hash: null, metadata: null };
  return {
    out_point: { t_hash: txHash(at), n: 0 },
    ...asset,
    locktime: 0,
    tx_hash: txHash(at),
    block_num: 1,
    ...PLACE,
  };
}
