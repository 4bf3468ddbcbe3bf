/**
 * The load generator of `npm run bench:network`, a process of its own. It signs payments before the clock runs, posts them to
 * the mempool node, and notes for each when it was admitted and when a block with it was confirmed: the mempool node tells of
 * each block, and storage what is in it. Orders and answers are messages of its parent.
 */

import { load, requestBytes } from '../load.js';
import { PaymentChain } from '../payments.js';
import { type Dialect, dialectOf } from './dialects.js';
import type { LoadAnswer, LoadOrder, Place, Posts, PostsResult, Reads, ReadsResult } from './orders.js';

/** Milliseconds before a request that was refused for overload is sent again. */
const AGAIN_AFTER = 50;
/** Milliseconds without a block after which a run that waits for its payments is broken. */
const STALLED_MS = 120_000;
const LOOK_EVERY_MS = 20;

/** What waits for its block: when each payment was sent, by hash. */
const open = new Map<string, number>();
/** Milliseconds from the post to the block of those confirmed since the last order. */
let latencies: number[] = [];
let blocks: number[] = [];
let lastConfirmedAt = 0;
let chain: PaymentChain | undefined;
let place: Place | undefined;
let dialect: Dialect | undefined;
let prepared: { readonly request: Buffer; readonly hashes: readonly string[] }[] = [];

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** What the parent has told first. */
function told(): { readonly chain: PaymentChain; readonly place: Place; readonly dialect: Dialect } {
  if (chain && place && dialect) return { chain, place, dialect };
  throw new Error('the load generator was not told its nodes');
}

/** Notes what each block confirms, for as long as the process lives. */
function noteBlock(transactions: readonly string[]): void {
  const at = performance.now();
  if (transactions.length > 0) blocks.push(transactions.length);
  for (const hash of transactions) {
    const sentAt = open.get(hash);
    if (sentAt === undefined) continue;
    open.delete(hash);
    latencies.push(at - sentAt);
    lastConfirmedAt = at;
  }
}

/** Signs so many payments and makes requests of them. */
function prepare(count: number, batch: number): void {
  const { chain, dialect } = told();
  for (let made = 0; made < count; made += batch) {
    const payments = Array.from({ length: Math.min(batch, count - made) }, () => chain.make());
    const request = dialect.post(payments.map(({ transaction }) => transaction));
    prepared.push({ request, hashes: payments.map(({ hash }) => hash) });
  }
}

/** Posts until the time is over or nothing is left; what is left is for the next order. */
async function post({ seconds, connections, rate }: Posts): Promise<PostsResult> {
  const { dialect, place } = told();
  const begun = performance.now();
  const until = begun + 1_000 * seconds;
  latencies = [];
  blocks = [];
  const batch = prepared[0]?.hashes.length ?? 1;
  const queue = prepared;
  const hashesOf = new Map<Buffer, readonly string[]>();
  let taken = 0;
  let admitted = 0;
  let lastAnswer = begun;
  const next = (): Buffer | undefined => {
    const one = performance.now() < until ? queue[taken++] : undefined;
    if (one === undefined) return undefined;
    hashesOf.set(one.request, one.hashes);
    // A block may be faster than the answer.
    for (const hash of one.hashes) open.set(hash, performance.now());
    return one.request;
  };
  const onAnswer = (request: Buffer, status: number, sentAt: number): void => {
    const hashes = hashesOf.get(request) ?? [];
    hashesOf.delete(request);
    if (status !== dialect.admitted) throw new Error(`a post was answered ${status}`);
    admitted += hashes.length;
    lastAnswer = performance.now();
    for (const hash of hashes) if (open.has(hash)) open.set(hash, sentAt);
  };
  const pace = rate === undefined ? {} : { pace: rate / batch };
  const url = place.mempool;
  const { statuses, p50, p99 } = await load({ url, connections, next, onAnswer, againAfter: AGAIN_AFTER, ...pace });
  const isUsedUp = taken > queue.length;
  prepared = queue.slice(Math.min(taken, queue.length));
  return {
    admitted,
    isUsedUp,
    admitMs: lastAnswer - begun,
    answerP50: p50,
    answerP99: p99,
    tooMany: (statuses.get(429) ?? 0) + (statuses.get(503) ?? 0),
    beganAt: begun,
  };
}

/** Resolves when everything posted is confirmed, or the network has dropped what is left. */
async function drain(): Promise<Extract<LoadAnswer, { kind: 'drained' }>> {
  const { dropsAfterMs } = told().dialect;
  let left = open.size;
  let movedAt = performance.now();
  for (; open.size > 0; await sleep(LOOK_EVERY_MS)) {
    if (open.size < left) movedAt = performance.now();
    left = open.size;
    if (performance.now() - movedAt <= (dropsAfterMs ?? STALLED_MS)) continue;
    if (dropsAfterMs === undefined) throw new Error(`${left} payments are not confirmed, and no block comes`);
    console.error(`the network has dropped ${left} payments`);
    open.clear();
  }
  const sorted = latencies.sort((a, b) => a - b);
  const at = (share: number): number => sorted[Math.floor(share * (sorted.length - 1))] ?? 0;
  return {
    kind: 'drained',
    lastAt: lastConfirmedAt,
    p50: at(0.5),
    p99: at(0.99),
    max: at(1),
    count: sorted.length,
    blocks,
  };
}

/** Reads what clients read, one after the other on each connection: the last block, a block by number, a balance. */
async function read({ seconds, connections, addresses }: Reads): Promise<ReadsResult> {
  const { place } = told();
  const until = performance.now() + 1_000 * seconds;
  const ask = async (url: string, paths: readonly string[]): Promise<ReadsResult[keyof ReadsResult]> => {
    const requests = paths.map((path) => requestBytes(`${url}${path}`, 'GET'));
    let at = 0;
    const next = () => (performance.now() < until ? requests[at++ % requests.length] : undefined);
    const { rate, answers, p50, p99, statuses } = await load({ url, connections, next });
    return { rate, answers, p50, p99, others: answers - (statuses.get(200) ?? 0) };
  };
  const [storage, mempool] = await Promise.all([
    ask(place.storage, ['/v1/blocks/latest', '/v1/blocks/0', '/v1/blocks/1']),
    ask(place.mempool, ['/v1/supply', ...addresses.map((address) => `/v1/balances?address=${address}`)]),
  ]);
  return { storage, mempool };
}

async function obey(order: LoadOrder): Promise<LoadAnswer> {
  switch (order.kind) {
    case 'nodes':
      place = order;
      chain = new PaymentChain(order.genesisOutputs);
      dialect = dialectOf(order);
      dialect.watch(noteBlock).catch(fail);
      return { kind: 'done' };
    case 'prepare':
      prepare(Math.max(0, order.count - prepared.reduce((sum, { hashes }) => sum + hashes.length, 0)), order.batch);
      return { kind: 'done' };
    case 'post':
      return { kind: 'posted', ...(await post(order)) };
    case 'drain':
      return drain();
    case 'read':
      return { kind: 'read', ...(await read(order)) };
  }
}

function fail(error: unknown): never {
  console.error(error);
  process.exit(1);
}

process.on('message', ({ id, order }: { readonly id: number; readonly order: LoadOrder }) => {
  obey(order).then((answer) => process.send?.({ id, answer }), fail);
});
process.on('disconnect', () => process.exit(0));
