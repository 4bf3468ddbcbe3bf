/** The routes of the index of the chain, over an index of a real chain. */

import type { TSchema } from '@sinclair/typebox';
import type { FastifyInstance } from 'fastify';
import { describe, expect, it } from 'vitest';
import { createChecker } from '../../src/api/http/validator.js';
import { OPERATIONS } from '../../src/api/operations.js';
import { transactionHash } from '../../src/chain/hash.js';
import type { ChainIndexService } from '../../src/storage/chain-index/service.js';
import { openApp, send } from '../support/api/app.js';
import { IndexedChain, type IndexSetup } from '../support/storage/indexed-chain.js';
import { ADDRESS, createTestChain, itemCreation, MINER, payment } from '../support/storage/test-chain.js';

const BLOCKS = 6;
const PAYMENT = payment(3, 400n);
const CREATION = itemCreation(9, 70n, null, '<script>alert("metadata")</script>');
const ITEM = transactionHash(CREATION);
const HASH = transactionHash(PAYMENT);

interface Setup {
  readonly app: FastifyInstance;
  readonly chain: IndexedChain;
  readonly blocks: ReturnType<typeof createTestChain>;
}

async function setup(options: IndexSetup = {}): Promise<Setup> {
  const blocks = createTestChain().grow(BLOCKS - 1);
  blocks.add([PAYMENT, CREATION]);
  const chain = await IndexedChain.open(options);
  await chain.store(blocks.blocks);
  const app = await openApp('storage', { modules: { chainIndex: chain.index } });
  return { app, chain, blocks };
}

/** The answer, which must be as its operation says. */
async function get(app: FastifyInstance, id: (typeof OPERATIONS)[number]['id'], url: string) {
  const answer = await send(app, { url });
  const operation = OPERATIONS.find((one) => one.id === id);
  const success = operation?.success as Record<number, { schema?: TSchema }> | undefined;
  expect([url, answer.status, answer.text]).toEqual([url, 200, answer.text]);
  expect(createChecker(success?.[200]?.schema as TSchema)(answer.body)).toBeUndefined();
  return answer;
}

describe('the routes of the index', () => {
  it('show blocks, newest first, by pages', async () => {
    const { app, blocks } = await setup();
    const first = await get(app, 'getChainBlocks', '/v1/chain/blocks?limit=4');
    const numbers = (answer: typeof first) => answer.body.blocks.map((block: { block_num: number }) => block.block_num);
    expect([numbers(first), first.body.next, first.body.as_of_block]).toEqual([[5, 4, 3, 2], 2, 5]);
    const second = await get(app, 'getChainBlocks', '/v1/chain/blocks?limit=4&before=2');
    expect([numbers(second), second.body.next]).toEqual([[1, 0], null]);
    const sampled = await get(app, 'getChainBlocks', '/v1/chain/blocks?limit=2&step=2');
    expect([numbers(sampled), sampled.body.next]).toEqual([[4, 2], 2]);
    const rest = await get(app, 'getChainBlocks', '/v1/chain/blocks?limit=9&step=2&before=2');
    expect([numbers(rest), rest.body.next]).toEqual([[0], null]);
    expect(first.body.blocks[0].transactions_so_far - first.body.blocks[1].transactions_so_far).toBe(2);
    expect(first.body.blocks[0]).toMatchObject({
      hash: blocks.hash(5),
      previous_hash: blocks.hash(4),
      time: 1_700_000_000,
      transactions: 3,
      issued: blocks.issued,
      miner: MINER,
      difficulty: '22000001',
    });
  });

  it('take no cursor that is none, also of an address that nobody has used', async () => {
    const { app } = await setup();
    for (const list of ['items', 'outputs', 'transactions']) {
      const sent = await send(app, { url: `/v1/chain/addresses/${'0'.repeat(64)}/${list}?cursor=0.5` });
      expect([list, sent.status, sent.body.code]).toEqual([list, 400, 'invalid_request']);
    }
  });

  it('are asked by the address of the client, for the turns of long answers', async () => {
    const { chain } = await setup();
    const senders: (string | undefined)[] = [];
    const { index } = chain;
    const chainIndex: ChainIndexService = {
      status: () => index.status(),
      at: (read, sender) => {
        senders.push(sender);
        return index.at(read, sender);
      },
    };
    const app = await openApp('storage', { modules: { chainIndex } });
    const paths = [
      'blocks',
      'blocks/5',
      'blocks/5/transactions',
      `transactions/${HASH}`,
      'outputs/000001/3',
      'search?q=5',
    ];
    for (const path of paths) await send(app, { url: `/v1/chain/${path}` });
    expect(senders).toEqual(paths.map(() => '127.0.0.1'));
  });

  it('promise nothing for ever on a network that reverts', async () => {
    const { chain, blocks } = await setup();
    const app = await openApp('storage', { modules: { chainIndex: chain.index, isRevertible: true } });
    for (const path of [`/v1/chain/blocks/${blocks.hash(5)}`, `/v1/chain/blocks/${blocks.hash(5)}/transactions`]) {
      expect((await send(app, { url: path })).headers['cache-control']).toBe('no-cache');
    }
  });

  it('show a block by number and by hash, for ever under its hash', async () => {
    const { app, blocks } = await setup();
    const byNumber = await get(app, 'getChainBlock', '/v1/chain/blocks/5');
    const byHash = await get(app, 'getChainBlock', `/v1/chain/blocks/${blocks.hash(5)}`);
    expect(byHash.body).toEqual(byNumber.body);
    expect(byHash.headers['cache-control']).toContain('immutable');
    const again = await send(app, {
      url: `/v1/chain/blocks/${blocks.hash(5)}`,
      headers: { 'if-none-match': String(byHash.headers.etag) },
    });
    expect(again.status).toBe(304);
    const page = await get(app, 'getBlockTransactions', '/v1/chain/blocks/5/transactions?limit=2');
    expect(page.body.transactions).toMatchObject([
      { tx_hash: HASH, kind: 'payment', tx_num: 0, tokens: 1_000 },
      { tx_hash: ITEM, kind: 'creation', tx_num: 1, tokens: 0 },
    ]);
    const rest = await get(
      app,
      'getBlockTransactions',
      `/v1/chain/blocks/${blocks.hash(5)}/transactions?cursor=${page.body.next}`,
    );
    expect(rest.body).toMatchObject({ transactions: [{ kind: 'coinbase', tx_num: 2 }], next: null });
  });

  it('show a transaction with what it spends and what spends it', async () => {
    const { app } = await setup();
    const { body } = await get(app, 'getChainTransaction', `/v1/chain/transactions/${HASH}`);
    expect(body).toMatchObject({
      kind: 'payment',
      block_num: 5,
      confirmations: 1,
      inputs: [{ source: { tx_hash: '000001', n: 3, address: ADDRESS, amount: 1_000, asset: 'token', block_num: 0 } }],
      outputs: [
        { n: 0, amount: 400, address: ADDRESS, spent_by: null },
        { n: 1, amount: 600, spent_by: null },
      ],
      trade: null,
      as_of_block: 5,
    });
    expect(body.inputs[0].script.map((entry: { kind: string }) => entry.kind)).toContain('pubkey');
    const spent = await get(app, 'getChainOutput', '/v1/chain/outputs/000001/3');
    expect(spent.body).toMatchObject({ amount: 1_000, spent_by: { tx_hash: HASH, input: 0, block_num: 5 } });
    const genesis = await get(app, 'getChainTransaction', '/v1/chain/transactions/000001?first_output=2');
    expect(genesis.body).toMatchObject({ kind: 'genesis', first_output: 2, output_count: 301 });
    expect(genesis.body.outputs[0].n).toBe(2);
  });

  it('show an address, its outputs, items and history', async () => {
    const { app } = await setup();
    const { body } = await get(app, 'getChainAddress', `/v1/chain/addresses/${ADDRESS}`);
    expect(body).toMatchObject({ item_count: 1, first_seen: { tx_hash: '000000' }, last_seen: { block_num: 5 } });
    const items = await get(app, 'getAddressItems', `/v1/chain/addresses/${ADDRESS}/items`);
    expect(items.body.items).toEqual([{ genesis_hash: ITEM, amount: 70 }]);
    const outputs = await get(app, 'getAddressOutputs', `/v1/chain/addresses/${ADDRESS}/outputs?limit=3`);
    expect(outputs.body.outputs).toMatchObject([
      { out_point: { t_hash: ITEM, n: 0 }, asset: 'item', amount: 70, genesis_hash: ITEM },
      { out_point: { t_hash: HASH, n: 1 }, asset: 'token', amount: 600 },
      { out_point: { t_hash: HASH, n: 0 } },
    ]);
    const history = await get(app, 'getAddressTransactions', `/v1/chain/addresses/${ADDRESS}/transactions?limit=2`);
    expect(history.body.transactions).toMatchObject([
      { tx_hash: ITEM, received: 0, items: [{ genesis_hash: ITEM, received: 70, sent: 0 }] },
      { tx_hash: HASH, received: 1_000, sent: 1_000, items: [] },
    ]);
    const unseen = await get(app, 'getChainAddress', `/v1/chain/addresses/${'9'.repeat(64)}`);
    expect(unseen.body).toMatchObject({ tokens: 0, transaction_count: 0, first_seen: null });
  });

  it('show an item, its holders and transfers, with the text of its creator as it is', async () => {
    const { app } = await setup();
    const { body } = await get(app, 'getChainItem', `/v1/chain/items/${ITEM}`);
    expect(body).toMatchObject({
      metadata: '<script>alert("metadata")</script>',
      creator: ADDRESS,
      issued: '70',
      holder_count: 1,
      transfer_count: 1,
      created: { tx_hash: ITEM, block_num: 5 },
    });
    const holders = await get(app, 'getItemHolders', `/v1/chain/items/${ITEM}/holders`);
    expect(holders.body.holders).toEqual([{ address: ADDRESS, amount: 70 }]);
    const rich = await get(app, 'getTokenHolders', '/v1/chain/holders?limit=1');
    expect(rich.body.holders).toEqual([{ address: ADDRESS, amount: expect.anything() }]);
    expect(rich.body.next).not.toBeNull();
    const transfers = await get(app, 'getItemTransfers', `/v1/chain/items/${ITEM}/transfers`);
    expect(transfers.body.transfers).toMatchObject([{ tx_hash: ITEM, kind: 'creation', amount: 70, from: [] }]);
  });

  it('find what a text names', async () => {
    const { app, blocks } = await setup();
    const found = async (text: string) => (await get(app, 'searchChain', `/v1/chain/search?q=${text}`)).body.found;
    expect(await found(HASH.toUpperCase())).toEqual(await found(HASH));
    expect(await found(HASH)).toHaveLength(1);
    expect(await found('5')).toEqual([{ kind: 'block', name: blocks.hash(5), block_num: 5 }]);
    expect(await found(blocks.hash(4))).toEqual([{ kind: 'block', name: blocks.hash(4), block_num: 4 }]);
    expect(await found(HASH.slice(0, 12))).toEqual([{ kind: 'transaction', name: HASH, block_num: 5 }]);
    expect(await found(ITEM)).toEqual([
      { kind: 'transaction', name: ITEM, block_num: 5 },
      { kind: 'item', name: ITEM, block_num: null },
    ]);
    expect(await found(ADDRESS.slice(0, 9))).toEqual([{ kind: 'address', name: ADDRESS, block_num: null }]);
    expect(await found(MINER)).toEqual([{ kind: 'address', name: MINER, block_num: null }]);
    expect(await found('nothing%20of%20that%20name')).toEqual([]);
  });

  it('say how far the index is', async () => {
    const { app } = await setup();
    await get(app, 'getChainBlocks', '/v1/chain/blocks');
    const { body } = await get(app, 'getChainIndex', '/v1/chain/index');
    expect(body).toEqual({ state: 'ready', block_num: 5, blocks: 6, problem: null });
    const off = await openApp('storage');
    expect((await get(off, 'getChainIndex', '/v1/chain/index')).body.state).toBe('off');
  });
});

describe('a request that the index refuses', () => {
  const ADDRESS_LIST = `/v1/chain/addresses/${ADDRESS}/transactions`;
  it.each([
    ['/v1/chain/blocks/600', 404, 'block_not_found'],
    [`/v1/chain/blocks/${'b'.repeat(65)}`, 404, 'block_not_found'],
    ['/v1/chain/blocks/600/transactions', 404, 'block_not_found'],
    ['/v1/chain/transactions/nothing', 404, 'entry_not_found'],
    ['/v1/chain/outputs/000001/999', 404, 'entry_not_found'],
    ['/v1/chain/outputs/000001/x', 400, 'invalid_request'],
    ['/v1/chain/items/nothing', 404, 'item_not_found'],
    ['/v1/chain/items/nothing/holders', 404, 'item_not_found'],
    ['/v1/chain/items/nothing/transfers', 404, 'item_not_found'],
    [`${ADDRESS_LIST}?limit=0`, 400, 'invalid_request'],
    [`${ADDRESS_LIST}?limit=101`, 400, 'invalid_request'],
    [`${ADDRESS_LIST}?cursor=bm90aGluZw`, 400, 'invalid_request'],
    [`${ADDRESS_LIST}?cursor=%20`, 400, 'invalid_request'],
    ['/v1/chain/blocks?limit=501', 400, 'invalid_request'],
    ['/v1/chain/search', 400, 'invalid_request'],
  ])('%s is %i %s', async (url, status, code) => {
    const { app } = await setup();
    const answer = await send(app, { url });
    expect([answer.status, answer.body.code, answer.headers['content-type']]).toEqual([
      status,
      code,
      'application/problem+json',
    ]);
  });

  it('is one with the cursor of another list', async () => {
    const { app } = await setup();
    const mine = await send(app, { url: `/v1/chain/addresses/${ADDRESS}/transactions?limit=1` });
    const other = await send(app, { url: `/v1/chain/addresses/${MINER}/transactions?cursor=${mine.body.next}` });
    expect([other.status, other.body.code]).toEqual([400, 'invalid_request']);
  });

  const PATHS = OPERATIONS.filter(({ path, id }) => path.startsWith('/v1/chain') && id !== 'getChainIndex').map(
    ({ path }) => path.replaceAll(/\{n\}/g, '0').replaceAll(/\{\w+\}/g, '0'),
  );
  it.each(PATHS)('%s without an index says what to switch on', async (path) => {
    const app = await openApp('storage');
    const answer = await send(app, { url: `${path}?q=${HASH}` });
    expect([answer.status, answer.body.code]).toEqual([501, 'index_off']);
    expect(answer.body.detail).toContain('storage.index');
  });
});
