/**
 * A producer that signs two blocks of one height: whoever has one and is shown the other says so, and keeps the first
 * (decision record 0010).
 */

import { beforeEach, describe, expect, it } from 'vitest';
import { type Certificate, certifyBlock, chainName } from '../../src/chain/certificate.js';
import { blockHash } from '../../src/chain/hash.js';
import type { FullBlock } from '../../src/chain/types.js';
import { type KeyPair, keyPairFromSeed } from '../../src/crypto/ed25519.js';
import { sha3Bytes } from '../../src/crypto/sha3.js';
import { toHex } from '../../src/lib/bytes.js';
import { silentLogger } from '../../src/lib/logger.js';
import { MetricsRegistry } from '../../src/observability/metrics.js';
import { encodeFullBlock } from '../support/full-block.js';
import { ManualClock } from '../support/manual-clock.js';
import { metricValue } from '../support/metric-value.js';
import { connect, createFakeNode } from '../support/storage/fake-network.js';
import { createStorageNode, type StorageNode, settle } from '../support/storage/storage-node.js';
import { createTestChain, RULES, type TestChain } from '../support/storage/test-chain.js';

const CHAIN = chainName('test', 'the genesis of these tests');
const producer = keyPairFromSeed(sha3Bytes('the producer of these tests'));
const forger = keyPairFromSeed(sha3Bytes('a forger'));
const key = toHex(producer.publicKey);
const SIGNED = { ...RULES, producers: { chain: CHAIN, keys: [key] } };

let clock: ManualClock;
let metrics: MetricsRegistry;
let errors: object[];
let storage: StorageNode;
let first: TestChain;
let second: TestChain;

beforeEach(async () => {
  clock = new ManualClock();
  metrics = new MetricsRegistry('storage');
  errors = [];
  const logger = { ...silentLogger, error: (facts: object) => errors.push(facts) };
  storage = await createStorageNode('storage', clock, SIGNED, logger as typeof silentLogger, metrics);
  first = createTestChain().grow(4);
  second = createTestChain(101).grow(6);
  for (const block of first.blocks) await storage.archive.store(block, sign(block));
});

function sign(block: FullBlock, pair: KeyPair = producer): Certificate {
  const { header } = block.block;
  return certifyBlock(pair, CHAIN, { height: Number(header.bNum), hash: blockHash(header) });
}

const counted = () => metricValue(metrics, 'tessera_blocks_signed_twice_total');
const named = (height: number) => ({ height, kept: first.hash(height), other: second.hash(height), producer: key });

function deliver(block: FullBlock, certificate?: Certificate) {
  const { a: link } = connect(createFakeNode('mempool', 'mempool'), storage.node, clock);
  const body = { block_num: Number(block.block.header.bNum), hash: blockHash(block.block.header) };
  const attachment = encodeFullBlock(block);
  return link.request('block.deliver', { ...body, ...(certificate && { certificate }) }, { attachment });
}

/** Links a storage node with the other chain; resolves when the tip of that has been judged. */
async function meet(height: number, signer: KeyPair | undefined): Promise<void> {
  const other = await createStorageNode('other', clock, SIGNED);
  for (const block of second.blocks.slice(0, height)) {
    await other.archive.store(block, signer && sign(block, signer));
  }
  await storage.service.start();
  connect(storage.node, other.node, clock, false);
  await settle(200);
  await storage.service.stop();
}

describe('a second block of a height', () => {
  it('that is delivered is named, counted once, and the first is kept', async () => {
    for (let times = 0; times < 3; times++) {
      expect(await deliver(second.block(2), sign(second.block(2)))).toMatchObject({ type: 'block.refused' });
    }
    expect(errors).toEqual([named(2)]);
    expect(await counted()).toBe(1);
    expect(await storage.archive.hashAt(2)).toBe(first.hash(2));
  });

  it('is noticed when it is the tip of another storage node', async () => {
    await meet(3, producer);
    expect(errors).toEqual([named(2)]);
    expect(await counted()).toBe(1);
  });

  it('is noticed when another storage node is further on the other chain', async () => {
    await meet(6, producer);
    expect(errors).toEqual([named(3)]);
    expect(await counted()).toBe(1);
    expect([storage.archive.nextHeight, await storage.archive.hashAt(3)]).toEqual([4, first.hash(3)]);
  });

  it('says nothing about a producer that has not signed it', async () => {
    await deliver(second.block(2));
    await deliver(second.block(2), sign(second.block(2), forger));
    await deliver(second.block(2), sign(first.block(2)));
    await meet(6, undefined);
    expect(await counted()).toBe(0);
  });
});

describe('a block that is refused', () => {
  const refused = (rule: string) => metricValue(metrics, 'tessera_storage_blocks_refused_total', rule);

  it('is counted by the rule that it breaks', async () => {
    const next = first.add();
    const { header } = next.block;
    const forged = { ...next, block: { ...next.block, header: { ...header, merkleRoot: header.txsHash } } };
    await deliver(forged, sign(forged));
    expect(await refused('merkle')).toBe(1);
    await deliver(next);
    expect(await refused('certificate')).toBe(1);
    expect(await deliver(next, sign(next))).toMatchObject({ type: 'block.stored' });
    await deliver(next, sign(next));
    expect([await refused('merkle'), await refused('certificate'), await refused('number')]).toEqual([1, 1, 0]);
  });
});
