import { beforeEach, describe, expect, it } from 'vitest';
import { tokenAsset } from '../../src/chain/assets.js';
import { coinbaseTransaction, txOut } from '../../src/chain/builders.js';
import { blockHash, transactionHash } from '../../src/chain/hash.js';
import type { FullBlock, Transaction } from '../../src/chain/types.js';
import { keyPairFromSeed } from '../../src/crypto/ed25519.js';
import { splitBlocks } from '../../src/peers/messages.js';
import { blockAtKey } from '../../src/storage/archive/layout.js';
import { encodeFullBlock } from '../support/full-block.js';
import { connect, createFakeNode, type FakeNode } from '../support/storage/fake-network.js';
import { createStorageNode, type StorageNode } from '../support/storage/storage-node.js';
import {
  ADDRESS,
  assembleBlock,
  createTestChain,
  itemCreation,
  MINER,
  type Parts,
  payment,
  signed,
  spoil,
  type TestChain,
} from '../support/storage/test-chain.js';

let storage: StorageNode;
let mempool: FakeNode;
let chain: TestChain;

beforeEach(async () => {
  storage = await createStorageNode('storage');
  mempool = createFakeNode('mempool', 'mempool');
  chain = createTestChain().grow(4);
});

/** The answer of the storage node to a delivery. */
function deliver(
  block: FullBlock,
  change: { hash?: string; block_num?: number; attachment?: Uint8Array } = {},
  trusted = true,
) {
  const link = connect(mempool, storage.node, storage.clock, trusted).a;
  const { attachment = encodeFullBlock(block), ...named } = change;
  const body = { block_num: Number(block.block.header.bNum), hash: blockHash(block.block.header), ...named };
  return link.request('block.deliver', body, { attachment });
}

const storedAnswer = (num: number) => ({ type: 'block.stored', body: { block_num: num, hash: chain.hash(num) } });
const refusedAnswer = (num: number, next: number, reason: string) => ({
  type: 'block.refused',
  body: { block_num: num, next, reason: expect.stringContaining(reason) },
});

const listed = (parts: Parts, transactions: readonly Transaction[]): Parts => ({
  ...parts,
  transactions,
  names: transactions.map(transactionHash),
});
const rich = txOut(tokenAsset(10n ** 15n), ADDRESS);

/** What a mempool node that is broken, or is no longer its operator's, could try: blocks with their proof of work. */
const FORGED: [name: string, rule: string, forge: (parts: Parts) => Parts][] = [
  ['a payment out of nothing', 'inputs', (parts) => listed(parts, [signed([{ tHash: 'nothing', n: 0 }], [rich])])],
  [
    'a payment of more than it spends',
    'amounts',
    (parts) => listed(parts, [signed([{ tHash: '000001', n: 1 }], [rich])]),
  ],
  [
    'a payment that its owner has not signed',
    'scripts',
    (parts) =>
      listed(parts, [signed([{ tHash: '000000', n: 0 }], payment(1).outputs, keyPairFromSeed(new Uint8Array(32)))]),
  ],
  [
    'an output that is spent already',
    'inputs',
    (parts) => listed(parts, [signed([{ tHash: '000001', n: 256 }], [txOut(tokenAsset(1_000n), ADDRESS)])]),
  ],
  [
    'a reward that inflates the supply',
    'mining-transaction',
    (parts) => ({ ...parts, miningTransaction: coinbaseTransaction(2n, 10n ** 15n, MINER) }),
  ],
  ['tokens issued by nobody', 'issuance', (parts) => listed(parts, [coinbaseTransaction(2n, 10n ** 15n, ADDRESS)])],
  [
    'a million copies of an item that exists',
    'transactions',
    (parts) => listed(parts, [itemCreation(1, 1_000_000n, `g${'0'.repeat(31)}`, '')]),
  ],
];

describe('block.deliver', () => {
  it('is confirmed once the block is stored', async () => {
    expect(await deliver(chain.block(0))).toMatchObject(storedAnswer(0));
    expect(await deliver(chain.block(1))).toMatchObject(storedAnswer(1));
    expect(storage.archive.nextHeight).toBe(2);
  });

  it('is confirmed again for the same block, also an old one, for the answer may have been lost', async () => {
    await storage.fill(chain, 3);
    expect(await deliver(chain.block(2))).toMatchObject(storedAnswer(2));
    expect(await deliver(chain.block(0))).toMatchObject(storedAnswer(0));
    expect(storage.archive.nextHeight).toBe(3);
  });

  it('is confirmed twice when the same block comes twice at once', async () => {
    const answers = await Promise.all([deliver(chain.block(0)), deliver(chain.block(0))]);
    expect(answers).toMatchObject([storedAnswer(0), storedAnswer(0)]);
  });

  it('is refused with the number that is expected when blocks are missing, and these are looked for', async () => {
    await storage.fill(chain, 1);
    const other = await createStorageNode('other', storage.clock);
    await other.fill(chain, 3);
    await storage.service.start();
    connect(storage.node, other.node, storage.clock);
    expect(await deliver(chain.block(3))).toMatchObject(refusedAnswer(3, 1, 'block 1 must come first'));
    await storage.until(3);
    expect(await deliver(chain.block(3))).toMatchObject(storedAnswer(3));
    await storage.service.stop();
  });

  it('is refused for another block at a height that is stored', async () => {
    await storage.fill(chain, 2);
    const other = createTestChain(101).grow(2);
    expect(await deliver(other.block(1))).toMatchObject(
      refusedAnswer(1, 2, `another block is stored as number 1: ${chain.hash(1)}`),
    );
    expect(await storage.archive.hashAt(1)).toBe(chain.hash(1));
  });

  it('is refused with the rule that the block breaks, and the right one is taken afterwards', async () => {
    await storage.fill(chain, 2);
    const sound = chain.block(2);
    const bad = { ...sound, block: { ...sound.block, header: spoil(sound.block.header) } };
    expect(await deliver(bad)).toMatchObject(refusedAnswer(2, 2, 'proof of work'));
    expect(await deliver(sound)).toMatchObject(storedAnswer(2));
  });

  it.each(FORGED)(
    'is refused when a mempool node that has the secret forges it: %s (rule P4)',
    async (_, rule, forge) => {
      await storage.fill(chain, 2);
      const records = async (): Promise<number> => {
        let count = 0;
        for await (const _entry of storage.kv.entries({ gte: new Uint8Array(), lt: Uint8Array.of(0xff) })) count++;
        return count;
      };
      const before = await records();
      const parts = createTestChain().grow(2).parts();
      expect(await deliver(assembleBlock(forge(parts)))).toMatchObject({
        type: 'block.refused',
        body: { rule, next: 2 },
      });
      expect([await records(), storage.archive.nextHeight]).toEqual([before, 2]);
      expect(await deliver(chain.block(2))).toMatchObject(storedAnswer(2));
    },
  );

  it('is refused when message and block differ, or the block cannot be read', async () => {
    const block = chain.block(0);
    expect(await deliver(block, { hash: chain.hash(1) })).toMatchObject(refusedAnswer(0, 0, 'but brings block 0'));
    expect(await deliver(block, { block_num: 1 })).toMatchObject(refusedAnswer(1, 0, 'but brings block 0'));
    const cut = encodeFullBlock(block).slice(0, -1);
    expect(await deliver(block, { attachment: cut })).toMatchObject(refusedAnswer(0, 0, 'cannot be decoded'));
    expect(storage.archive.nextHeight).toBe(0);
  });

  it('is not taken from a node that has not proven the network secret, or from another role', async () => {
    expect(await deliver(chain.block(0), {}, false)).toMatchObject({
      type: 'error',
      body: { code: 'protocol_violation' },
    });
    const stranger = createFakeNode('user', 'user');
    const link = connect(stranger, storage.node, storage.clock).a;
    const body = { block_num: 0, hash: chain.hash(0) };
    const answer = await link.request('block.deliver', body, { attachment: encodeFullBlock(chain.block(0)) });
    expect(answer).toMatchObject({ type: 'error', body: { code: 'protocol_violation' } });
    expect(storage.archive.nextHeight).toBe(0);
  });

  it('is neither confirmed nor refused when the block cannot be written', async () => {
    await storage.fill(chain, 2);
    await storage.kv.close();
    expect(await deliver(chain.block(2))).toMatchObject({ type: 'error', body: { code: 'shutting_down' } });
  });
});

describe('a block from the future', () => {
  /** Block 2, whose time is so many seconds ahead of the clock of the storage node. */
  const blockAhead = (seconds: number): FullBlock =>
    assembleBlock(createTestChain().grow(2).parts(), { timestamp: BigInt(storage.clock.now() / 1_000 + seconds) });

  beforeEach(() => storage.fill(chain, 2));

  it('is refused by name beyond two minutes, and taken when its time has come that near', async () => {
    const early = blockAhead(121);
    expect(await deliver(early)).toMatchObject({
      type: 'block.refused',
      body: { rule: 'time', next: 2, reason: expect.stringContaining('its time is 121 s ahead of the clock') },
    });
    storage.clock.advance(1_000);
    expect(await deliver(early)).toMatchObject({ type: 'block.stored', body: { block_num: 2 } });
  });

  it('is taken when the block before it has that time already, which never goes back', async () => {
    const far = blockAhead(90_000);
    await storage.archive.store(far);
    const parts = {
      ...createTestChain()
        .grow(3)
        .parts([payment(9)]),
      previousHash: blockHash(far.block.header),
    };
    const { timestamp } = far.block.header;
    expect(await deliver(assembleBlock(parts, { timestamp: timestamp + 1n }))).toMatchObject({
      body: { rule: 'time' },
    });
    expect(await deliver(assembleBlock(parts, { timestamp }))).toMatchObject({ type: 'block.stored' });
  });

  it('is taken from another storage node: it is in the chain', async () => {
    const other = await createStorageNode('other', storage.clock);
    await other.fill(chain, 2);
    await other.archive.store(blockAhead(90_000));
    await storage.service.start();
    connect(storage.node, other.node, storage.clock);
    await storage.until(3);
    await storage.service.stop();
  });
});

describe('what other storage nodes are told', () => {
  const ask = (trusted = false) => connect(createFakeNode('asking', 'storage'), storage.node, storage.clock, trusted).a;

  it('how far the archive is', async () => {
    expect(await ask().request('chain.tip.get', {})).toMatchObject({
      type: 'chain.tip',
      body: { next: 0, hash: null },
    });
    await storage.fill(chain, 3);
    const time = storage.clock.now();
    expect(await ask().request('chain.tip.get', {})).toMatchObject({ body: { next: 3, hash: chain.hash(2), time } });
  });

  it('blocks of a range, as many as there are', async () => {
    await storage.fill(chain, 4);
    const answer = await ask().request('blocks.get', { from: 2, count: 64 });
    expect(answer).toMatchObject({ type: 'blocks', body: { from: 2, count: 2 } });
    const blocks = splitBlocks(answer.attachment, 2);
    expect(blocks.map((bytes) => Buffer.from(bytes))).toEqual(
      [2, 3].map((num) => Buffer.from(encodeFullBlock(chain.block(num)))),
    );
    expect(await ask().request('blocks.get', { from: 1, count: 2 })).toMatchObject({ body: { from: 1, count: 2 } });
    expect(await ask().request('blocks.get', { from: 9, count: 2 })).toMatchObject({ body: { from: 9, count: 0 } });
  });

  it('no block that is damaged (rule P3)', async () => {
    await storage.fill(chain, 3);
    await storage.kv.write(storage.kv.batch().del(blockAtKey(2)), { sync: true });
    const answer = await ask().request('blocks.get', { from: 2, count: 1 });
    expect(answer).toMatchObject({ type: 'error', body: { code: 'data_corrupt' } });
  });

  it('each block that is stored, when they are linked', async () => {
    await storage.service.start();
    const other = createFakeNode('other', 'storage');
    connect(storage.node, other, storage.clock);
    connect(storage.node, mempool, storage.clock);
    await deliver(chain.block(0));
    await deliver(chain.block(1));
    const tips = other.received.filter(({ type }) => type === 'chain.tip').map(({ body }) => body);
    expect(tips).toEqual([
      { next: 1, hash: chain.hash(0) },
      { next: 2, hash: chain.hash(1) },
    ]);
    // A mempool node is asked for its tip, and told nothing.
    expect(new Set(mempool.received.map(({ type }) => type))).toEqual(new Set(['chain.tip.get']));
    await storage.service.stop();
  });
});

describe('splitBlocks', () => {
  it.each([
    ['cut in a length', Uint8Array.of(1, 0, 0), 1],
    ['cut in a block', Uint8Array.of(9, 0, 0, 0, 1), 1],
    ['of too few blocks', Uint8Array.of(1, 0, 0, 0, 7), 2],
    ['of too many blocks', Uint8Array.of(1, 0, 0, 0, 7), 0],
  ])('refuses an answer %s', (_, attachment, count) => {
    expect(() => splitBlocks(attachment, count)).toThrow(expect.objectContaining({ code: 'protocol_violation' }));
  });
});
