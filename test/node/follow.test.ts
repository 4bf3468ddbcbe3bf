/**
 * A network of original nodes that is followed: storage takes its blocks (`storage.follow`), a mempool node beside it has the same
 * balances and passes transactions on (`mempool.pass_on`); see docs/moving-in.md.
 */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { tokenAsset } from '../../src/chain/assets.js';
import { txOut } from '../../src/chain/builders.js';
import { transactionHash } from '../../src/chain/hash.js';
import { transactionJson } from '../../src/chain/json.js';
import { parseTransaction } from '../../src/chain/json-read.js';
import type { Transaction } from '../../src/chain/types.js';
import { runCli } from '../../src/cli/run.js';
import { createConfig } from '../../src/config/load.js';
import { type JsonValue, parseExactJson, stringifyExact } from '../../src/lib/json.js';
import { Node } from '../../src/node/node.js';
import { createContext } from '../support/cli-context.js';
import {
  createOriginalChain,
  originalGenesis,
  originalGenesisFile,
  payment,
  spend,
} from '../support/original-chain.js';
import { type OriginalNode, originalNode } from '../support/original-node.js';
import { silentLogger } from '../support/silent-logger.js';
import { ADDRESS } from '../support/storage/test-chain.js';

const ERAS = [{ from: 0, made_by: 'original' }];
const BLOCKS = 12;
const READY = { status: 200 };

let folder: string;
let chain: ReturnType<typeof createOriginalChain>;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tessera-follow-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, 'genesis.json'), stringifyExact(originalGenesisFile(ERAS)));
  chain = createOriginalChain(originalGenesis(ERAS));
  for (let n = 0; n < BLOCKS; n++) chain.add(n === 0 ? [] : [payment(n)]);
});

async function startNode(role: 'storage' | 'mempool' | 'user', options: Record<string, unknown>): Promise<Node> {
  const config = createConfig(role, {
    'network.secret': 'a secret of this test',
    'network.genesis_file': join(folder, 'genesis.json'),
    'node.data_dir': join(folder, role),
    'api.port': 0,
    'peers.port': 0,
    'metrics.enabled': false,
    ...(role !== 'user' && { [`${role}.verify_threads`]: 0 }),
    ...options,
  });
  const node = await Node.create(config, { logger: silentLogger });
  onTestFinished(() => node.stop());
  await node.start();
  return node;
}

async function ask(node: Node, path: string, body?: string) {
  const sent = body === undefined ? {} : { method: 'POST', body, headers: { 'content-type': 'application/json' } };
  const answer = await fetch(`${node.apiUrl}${path}`, sent);
  return { status: answer.status, body: parseExactJson(await answer.text(), { anyName: true }) };
}

const ready = (node: Node) => () => ask(node, '/readyz');
const balance = (mempool: Node) => () => ask(mempool, `/v1/balances?address=${ADDRESS}`);
const lastBlock = async (storage: Node) =>
  parseExactJson(stringifyExact((await ask(storage, '/v1/blocks/latest')).body), { anyName: true });
const atHeight = (height: number) => ({ block: { block: { header: { b_num: height } } } });

/** Milliseconds from each question to the next. */
const restsBetween = (times: readonly number[]) => times.slice(1).map((time, i) => time - (times[i] ?? 0));

/** The network has one block more. */
function grow(theirs: OriginalNode, transactions: readonly Transaction[] = []): void {
  chain.add(transactions);
  theirs.chain = chain.answers();
}

/** Storage and a mempool node beside it, which have all blocks. */
async function followed(theirs: OriginalNode, options: Record<string, unknown> = {}) {
  const storage = await startNode('storage', { 'storage.follow': [theirs.url] });
  await expect.poll(ready(storage)).toMatchObject(READY);
  const mempool = await startNode('mempool', { 'peers.storage': [storage.peerAddress], ...options });
  await expect.poll(ready(mempool)).toMatchObject(READY);
  return { storage, mempool };
}

it.each(['envelope', 'v1'] as const)(
  'has every block of the network when it is ready, and each new one; so has a mempool node beside it: %s',
  async (kind) => {
    const theirs = await originalNode(kind, chain.answers());
    const { storage, mempool } = await followed(theirs);
    expect(await lastBlock(storage)).toMatchObject(atHeight(BLOCKS - 1));
    const before = await balance(mempool)();
    grow(theirs, [payment(BLOCKS)]);
    await expect.poll(balance(mempool)).not.toEqual(before);
    // On a busy machine it was seen not ready for a moment here.
    await expect.poll(ready(mempool)).toMatchObject(READY);
    // One after the other.
    expect(theirs.connections).toBe(1);
  },
);

it('is not ready before it has had every block once, however few there are', async () => {
  const theirs = await originalNode('v1', chain.answers());
  let isAskedForBlocks = false;
  theirs.instead = (path) => {
    if (path.endsWith('/latest')) return undefined;
    isAskedForBlocks = true;
    return 'slow';
  };
  const storage = await startNode('storage', { 'storage.follow': [theirs.url] });
  await expect.poll(() => isAskedForBlocks).toBe(true);
  const reason = `asking ${theirs.url} for its blocks`;
  expect(await ready(storage)()).toMatchObject({ status: 503, body: { reasons: [reason] } });
});

it('says which node it cannot follow and why, asks the next one, and goes on by itself', async () => {
  const [first, second] = [await originalNode('v1', chain.answers()), await originalNode('envelope', chain.answers())];
  const storage = await startNode('storage', { 'storage.follow': [first.url, second.url] });
  await expect.poll(ready(storage)).toMatchObject(READY);
  first.instead = () => 'lost';
  grow(second);
  await expect.poll(() => lastBlock(storage)).toMatchObject(atHeight(BLOCKS));
  second.instead = () => 'lost';
  const reason = expect.stringMatching(/^cannot follow http:\/\/127.0.0.1:\d+: .*does not answer/);
  await expect.poll(ready(storage)).toMatchObject({ status: 503, body: { reasons: [reason] } });
  second.instead = () => undefined;
  await expect.poll(ready(storage)).toMatchObject(READY);
});

it('asks ten times a second at most, and rests longer after each fault', async () => {
  const theirs = await originalNode('v1', chain.answers());
  const times: number[] = [];
  theirs.instead = () => void times.push(performance.now());
  const storage = await startNode('storage', { 'storage.follow': [theirs.url] });
  await expect.poll(ready(storage)).toMatchObject(READY);
  theirs.instead = () => {
    times.push(performance.now());
    return 'lost';
  };
  const before = times.length;
  // A timer of Node.js may be a millisecond early.
  await expect.poll(() => restsBetween(times.slice(before)).some((rest) => rest > 1_998)).toBe(true);
  expect(Math.min(...restsBetween(times))).toBeGreaterThan(98);
});

it('has the index of explorers and events of the blocks that it follows, and is backed up while it runs', async () => {
  const theirs = await originalNode('envelope', chain.answers());
  const storage = await startNode('storage', { 'storage.follow': [theirs.url] });
  await expect.poll(ready(storage)).toMatchObject(READY);
  const payee = 'a'.repeat(64);
  const received = async () => (await ask(storage, `/v1/chain/addresses/${payee}`)).body;
  await expect.poll(received).toMatchObject({ tokens: 0, transaction_count: 0 });
  const events = await fetch(`${storage.apiUrl}/v1/events?topics=blocks`);
  const told = events.body?.pipeThrough(new TextDecoderStream()).getReader();
  onTestFinished(() => told?.cancel());
  const paid = spend([{ tHash: '000000', n: BLOCKS }], [txOut(tokenAsset(1_000n), payee)]);
  grow(theirs, [paid]);
  await expect.poll(received).toMatchObject({ tokens: 1_000, transaction_count: 1 });
  expect(await ask(storage, `/v1/chain/transactions/${transactionHash(paid)}`)).toMatchObject({
    body: { block_num: BLOCKS, outputs: [{ address: payee, amount: 1_000 }] },
  });
  let text = '';
  while (!text.includes(`"block_num":${BLOCKS}`)) text += (await told?.read())?.value ?? '';
  expect(text).toContain('event: block');
  const context = createContext();
  const where = ['--role', 'storage', '--data', join(folder, 'storage')];
  expect(await runCli(['backup', join(folder, 'backup'), ...where, '--json'], context)).toBe(0);
  expect(JSON.parse(context.out()).files).toBeGreaterThan(2);
});

it('takes no block that breaks a rule, and none of another chain', async () => {
  const theirs = await originalNode('v1', chain.answers());
  const storage = await startNode('storage', { 'storage.follow': [theirs.url] });
  await expect.poll(ready(storage)).toMatchObject(READY);
  const sound = theirs.chain;
  // Spends what block 1 has spent.
  chain.blocks.push(chain.next([payment(1)]));
  theirs.chain = chain.answers();
  const refused = expect.stringMatching(new RegExp(`^cannot follow .*block ${BLOCKS}: `));
  await expect.poll(ready(storage)).toMatchObject({ status: 503, body: { reasons: [refused] } });
  chain.blocks.splice(-2, 2);
  chain.blocks.push(chain.next([], { timestamp: 1n }));
  theirs.chain = chain.answers();
  const other = expect.stringMatching(new RegExp(`^cannot follow .*another block ${BLOCKS - 1}`));
  await expect.poll(ready(storage)).toMatchObject({ status: 503, body: { reasons: [other] } });
  theirs.chain = sound;
  await expect.poll(ready(storage)).toMatchObject(READY);
  expect(await lastBlock(storage)).toMatchObject(atHeight(BLOCKS - 1));
});

it('takes no block where our nodes have taken over, until that era is removed', async () => {
  const theirs = await originalNode('envelope', chain.answers());
  const first = await startNode('storage', { 'storage.follow': [theirs.url] });
  await expect.poll(ready(first)).toMatchObject(READY);
  await first.stop();
  const file = join(folder, 'genesis.json');
  writeFileSync(file, stringifyExact(originalGenesisFile([...ERAS, { from: BLOCKS }])));
  const storage = await startNode('storage', { 'storage.follow': [theirs.url] });
  // There is nothing to be taken as long as the old network stands still.
  await expect.poll(ready(storage)).toMatchObject(READY);
  grow(theirs, [payment(BLOCKS)]);
  const reason = expect.stringMatching(
    new RegExp(`^cannot follow .*our nodes make block ${BLOCKS}.*remove the last of its "eras"`),
  );
  await expect.poll(ready(storage)).toMatchObject({ status: 503, body: { reasons: [reason] } });
  expect(await lastBlock(storage)).toMatchObject(atHeight(BLOCKS - 1));
  await storage.stop();
  writeFileSync(file, stringifyExact(originalGenesisFile(ERAS)));
  const again = await startNode('storage', { 'storage.follow': [theirs.url] });
  await expect.poll(() => lastBlock(again)).toMatchObject(atHeight(BLOCKS));
});

it('refuses transactions by name where mempool.pass_on is empty', async () => {
  const { mempool } = await followed(await originalNode('envelope', chain.answers()));
  const body = `{"transactions":[${transactionJson(payment(BLOCKS))}]}`;
  expect(await ask(mempool, '/v1/transactions', body)).toMatchObject({
    status: 500,
    body: { code: 'mempool_unreachable', detail: expect.stringContaining('mempool.pass_on') },
  });
});

it('passes a transaction on, by /v1 or the envelope, and sees it in a block; what the network refuses is refused here', async () => {
  const theirs = await originalNode('envelope', chain.answers());
  const pools = [await originalNode('envelope', chain.answers()), await originalNode('v1', chain.answers())];
  const { mempool } = await followed(theirs, { 'mempool.pass_on': pools.map(({ url }) => url) });
  const [one, other] = [payment(BLOCKS), payment(BLOCKS + 1)];
  const submit = (tx: Transaction) => ask(mempool, '/v1/transactions', `{"transactions":[${transactionJson(tx)}]}`);
  const status = async (tx: Transaction) =>
    (await ask(mempool, `/v1/transactions/status?hash=${transactionHash(tx)}`)).body;
  const [envelope, versioned] = pools;
  const passed: string[] = [];
  if (envelope === undefined || versioned === undefined) throw new Error('there are two');
  envelope.instead = (path, body) => {
    if (path !== '/create_transactions') return undefined;
    passed.push(body);
    return passed.length === 1 ? '{"status":"Success","content":{}}' : '{"status":"Error","reason":"not this one"}';
  };
  versioned.instead = (path, body) => {
    if (path === '/v1/transactions') passed.push(body);
    return path === '/v1/transactions' ? '{}' : undefined;
  };
  expect(await submit(one)).toMatchObject({ status: 201 });
  expect(passed).toEqual([`[${transactionJson(one)}]`]);
  expect(await submit(other)).toMatchObject({
    body: { code: 'transaction_rejected', detail: expect.stringContaining('not this one') },
  });
  expect(await status(other)).toEqual({});
  // Nothing is passed on that is not valid here.
  expect(await submit({ ...other, outputs: [] })).toMatchObject({ status: 500 });
  expect(passed).toHaveLength(2);
  grow(theirs, [one]);
  await expect.poll(() => status(one)).toMatchObject({ [transactionHash(one)]: { status: 'Confirmed' } });
  // It has got the request, and may have taken it: nobody else is asked.
  envelope.instead = (path) => (path === '/create_transactions' ? 'lost' : undefined);
  expect(await submit(other)).toMatchObject({ body: { code: 'outcome_unknown' } });
  expect(passed).toHaveLength(2);
});

it('lets a wallet pay over the network: it receives, its payment is passed on, mined there, and seen', async () => {
  const theirs = await originalNode('envelope', chain.answers());
  const pool = await originalNode('envelope', chain.answers());
  const { storage, mempool } = await followed(theirs, { 'mempool.pass_on': [pool.url] });
  const user = await startNode('user', {
    'peers.mempool': [mempool.peerAddress],
    'peers.storage': [storage.peerAddress],
    'wallet.passphrase': 'open sesame',
    'api.auth': 'open',
  });
  await expect.poll(ready(user)).toMatchObject(READY);
  const created = await ask(user, '/v1/wallet/addresses', '{}');
  const address = String(Object.values(created.body as object)[0]);
  const total = async () => (await ask(user, '/v1/wallet')).body;
  const before = await total();
  grow(theirs, [spend([{ tHash: '000000', n: BLOCKS }], [txOut(tokenAsset(1_000n), address)])]);
  await expect.poll(total).not.toEqual(before);
  const received = await total();
  let passed: Transaction | undefined;
  pool.instead = (path, body) => {
    if (path !== '/create_transactions') return undefined;
    passed = parseTransaction((parseExactJson(body) as JsonValue[])[0]);
    return '{"status":"Success","content":{}}';
  };
  const paid = await ask(
    user,
    '/v1/payments',
    JSON.stringify({ kind: 'address', address: ADDRESS, amount: 3, passphrase: 'open sesame' }),
  );
  expect(paid).toMatchObject({ status: 202 });
  await expect.poll(() => passed).toBeDefined();
  grow(theirs, passed && [passed]);
  await expect
    .poll(async () => (await ask(user, '/v1/wallet/history')).body)
    .toMatchObject({
      transactions: [{ kind: 'payment', state: 'confirmed', block_num: BLOCKS + 1 }],
    });
  expect(await total()).not.toEqual(received);
  // An original mempool node makes the transaction of an item itself.
  const item = '{"item_amount":1,"genesis_hash_spec":"create"}';
  const refused = await ask(user, '/v1/items', item);
  expect(refused).toMatchObject({ status: 400, body: { detail: expect.stringContaining('/create_item_asset') } });
});
