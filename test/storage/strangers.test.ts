/**
 * Storage nodes that know no secret: what a producer's certificate proves is taken from anybody, and a forger gets nothing
 * stored (decision record 0010).
 */

import { beforeEach, describe, expect, it } from 'vitest';
import { type Certificate, certifyBlock, chainName } from '../../src/chain/certificate.js';
import { blockHash } from '../../src/chain/hash.js';
import type { FullBlock } from '../../src/chain/types.js';
import { type KeyPair, keyPairFromSeed } from '../../src/crypto/ed25519.js';
import { sha3Bytes } from '../../src/crypto/sha3.js';
import { toHex } from '../../src/lib/bytes.js';
import { joinBlocks, type MessageBody, type MessageType, splitBlocks } from '../../src/peers/messages.js';
import type { Reply } from '../../src/peers/network.js';
import { Archive } from '../../src/storage/archive/archive.js';
import { certificateKey } from '../../src/storage/archive/layout.js';
import { decodeFullBlock, encodeFullBlock } from '../support/full-block.js';
import { ManualClock } from '../support/manual-clock.js';
import { collectingLogger } from '../support/silent-logger.js';
import { connect, createFakeNode } from '../support/storage/fake-network.js';
import { CATCH_UP, createStorageNode, type StorageNode, settle } from '../support/storage/storage-node.js';
import { createTestChain, RULES, type TestChain } from '../support/storage/test-chain.js';

const CHAIN = chainName('test', 'the genesis of these tests');
const producer = keyPairFromSeed(sha3Bytes('the producer of these tests'));
const forger = keyPairFromSeed(sha3Bytes('a forger'));
const SIGNED = { ...RULES, producers: { chain: CHAIN, keys: [toHex(producer.publicKey)] } };

let clock: ManualClock;
let chain: TestChain;
let late: StorageNode;

beforeEach(async () => {
  clock = new ManualClock();
  chain = createTestChain();
  late = await createStorageNode('late', clock, SIGNED);
});

const sign = (block: FullBlock, pair: KeyPair = producer, name = CHAIN): Certificate => {
  const { header } = block.block;
  return certifyBlock(pair, name, { height: Number(header.bNum), hash: blockHash(header) });
};

/** A storage node with blocks, those from `signedFrom` on with certificates. */
async function peer(name: string, height: number, signedFrom = 0, of = chain): Promise<StorageNode> {
  const node = await createStorageNode(name, clock, SIGNED);
  of.grow(height);
  for (const block of of.blocks.slice(0, height)) {
    await node.archive.store(block, Number(block.block.header.bNum) >= signedFrom ? sign(block) : undefined);
  }
  return node;
}

const asked = (node: StorageNode, type: MessageType) => node.received.filter((message) => message.type === type).length;

describe('a storage node without the secret', () => {
  it('catches up from a stranger, and can prove what it has to the next one', async () => {
    const first = await peer('first', 12);
    await late.service.start();
    connect(late.node, first.node, clock, false);
    await late.until(12);
    expect(await late.archive.certificateAt(11)).toEqual(sign(chain.block(11)));
    const next = await createStorageNode('next', clock, SIGNED);
    await next.service.start();
    connect(next.node, late.node, clock, false);
    await next.until(12);
    for (let height = 0; height < 12; height++) {
      expect(await next.archive.fullBlockBytes(height)).toEqual(await first.archive.fullBlockBytes(height));
      expect(await next.archive.certificateAt(height)).toEqual(sign(chain.block(height)));
    }
    await next.service.stop();
    await late.service.stop();
  });

  it('takes blocks of before there were producers, which the first certificate proves', async () => {
    const old = await peer('old', 14, 13);
    await late.service.start();
    connect(late.node, old.node, clock, false);
    await late.until(14);
    expect(late.archive.tip.hash).toBe(chain.hash(13));
    expect(await late.archive.certificateAt(12)).toBeUndefined();
    await late.service.stop();
  });

  it('hears of each new block from a stranger, and takes one without asking for headers', async () => {
    const first = await peer('first', 3);
    await Promise.all([first.service.start(), late.service.start()]);
    connect(late.node, first.node, clock, false);
    await late.until(3);
    const before = asked(first, 'headers.get');
    const block = chain.add();
    await first.archive.store(block, sign(block));
    await late.until(4);
    expect(asked(first, 'headers.get')).toBe(before);
    await Promise.all([first.service.stop(), late.service.stop()]);
  });

  it('writes a few lines about strangers that say nothing, without a stack, and every one about its own nodes', async () => {
    const { lines, logger } = collectingLogger();
    const node = await createStorageNode('node', clock, SIGNED, logger);
    await node.service.start();
    for (let i = 0; i < 104; i++) connect(node.node, createFakeNode(`mute ${i}`, 'storage'), clock, false);
    await settle();
    clock.advance(CATCH_UP.requestTimeoutMs);
    await settle();
    connect(node.node, createFakeNode('own', 'storage'), clock, true);
    await settle();
    clock.advance(CATCH_UP.requestTimeoutMs);
    await settle();
    const mute = lines.filter(({ message }) => message === 'a storage node does not say how far it is');
    expect(mute.length).toBeGreaterThan(1);
    expect(mute.length).toBeLessThan(50);
    expect(mute.at(-1)).toEqual({ peer: 'own', reason: 'own does not answer', message: expect.any(String) });
    await node.service.stop();
  });

  it('takes nothing from a stranger without a certificate', async () => {
    const unsigned = await peer('unsigned', 6, 99);
    await late.service.start();
    connect(late.node, unsigned.node, clock, false);
    await settle();
    expect(late.archive.nextHeight).toBe(0);
    expect(asked(unsigned, 'blocks.get')).toBe(0);
    expect(late.service.catchingUp).toBeUndefined();
    await late.service.stop();
  });
});

type Body = MessageBody<'chain.tip'> & MessageBody<'headers'> & MessageBody<'blocks'>;

/** Changes the answers of one kind. */
const changing =
  (type: MessageType, change: (body: Body, attachment: Uint8Array) => Partial<Reply>) =>
  (reply: Reply): Reply =>
    reply.type === type
      ? ({ ...reply, ...change(reply.body as Body, reply.attachment ?? new Uint8Array()) } as Reply)
      : reply;

describe('a forger', () => {
  let liar: StorageNode;
  let reasons: string[];

  /** Links the late node to a liar that has six blocks, and waits until it has judged them. */
  async function meet(tamper: StorageNode['node']['tamper'], of = chain, signedFrom = 0): Promise<void> {
    liar = await peer('liar', 6, signedFrom, of);
    liar.node.tamper = tamper;
    reasons = [];
    late.node.network.linkDown.on(({ reason }) => reasons.push(reason));
    await late.service.start();
    connect(late.node, liar.node, clock, false);
    await settle(200);
    await late.service.stop();
  }

  const forgeTip = (certificate: (block: FullBlock) => Certificate) =>
    changing('chain.tip', (body) => ({ body: { ...body, certificate: certificate(chain.block(body.next - 1)) } }));

  it.each<[string, (block: FullBlock) => Certificate]>([
    ['with a key of its own', (block) => sign(block, forger)],
    ['in the name of the producer', (block) => ({ ...sign(block, forger), key: toHex(producer.publicKey) })],
    ['with the certificate of another height', () => sign(chain.block(2))],
    ['with the certificate of another network', (block) => sign(block, producer, chainName('other', 'genesis'))],
  ])('is not asked when it signs its tip %s', async (_, certificate) => {
    await meet(forgeTip(certificate));
    expect(asked(liar, 'headers.get')).toBe(0);
    expect(late.archive.nextHeight).toBe(0);
  });

  it('cannot say that it has more than the certificate of its tip proves', async () => {
    await meet(changing('chain.tip', (body) => ({ body: { ...body, next: 1_000_000 } })));
    expect(reasons).toEqual([expect.stringContaining('not one for block 999999')]);
    expect(late.service.catchingUp).toBeUndefined();
  });

  it('cannot pass off the headers of another chain under the tip of this one', async () => {
    const other = createTestChain(101).grow(6);
    const tip = changing('chain.tip', (body) => ({
      body: { ...body, hash: chain.grow(6).hash(5), certificate: sign(chain.block(5)) },
    }));
    await meet(tip, other, 99);
    expect(asked(liar, 'headers.get')).toBeGreaterThan(0);
    expect(asked(liar, 'blocks.get')).toBe(0);
    expect(late.archive.nextHeight).toBe(0);
  });

  it('cannot use the certificate of one header for another', async () => {
    await meet(changing('headers', (body) => ({ body: { ...body, certificate: sign(chain.block(0)) } })));
    expect(reasons).toEqual([expect.stringContaining('not one for block 5')]);
    expect(late.archive.nextHeight).toBe(0);
  });

  it('cannot alter a block that is certified', async () => {
    const other = createTestChain(101).grow(6);
    await meet(
      changing('blocks', (body, attachment) => {
        const blocks = splitBlocks(attachment, body.count).map((bytes, i) =>
          body.from + i === 2 ? encodeFullBlock(other.block(2)) : bytes,
        );
        return { attachment: joinBlocks(blocks) };
      }),
    );
    expect(reasons).toEqual([expect.stringContaining('a block 2 that is not the certified one')]);
    expect(late.archive.nextHeight).toBe(2);
  });

  it('cannot exchange a transaction in a block that is certified', async () => {
    await meet(
      changing('blocks', (body, attachment) => {
        const blocks = splitBlocks(attachment, body.count).map((bytes, i) => {
          const full = decodeFullBlock(bytes);
          const [first] = chain.block(1).transactions;
          if (body.from + i !== 2 || first === undefined) return bytes;
          return encodeFullBlock({ ...full, transactions: [first, ...full.transactions.slice(1)] });
        });
        return { attachment: joinBlocks(blocks) };
      }),
    );
    expect(late.archive.nextHeight).toBe(2);
  });

  it('gains nothing by an old tip', async () => {
    for (const block of chain.grow(4).blocks.slice(0, 4)) await late.archive.store(block, sign(block));
    await meet(
      changing('chain.tip', (body) => ({
        body: { ...body, next: 2, hash: chain.hash(1), certificate: sign(chain.block(1)) },
      })),
    );
    expect(late.archive.nextHeight).toBe(4);
    expect(asked(liar, 'headers.get')).toBe(0);
  });

  it('with the secret may bring unsigned blocks only while the archive has no certificate', async () => {
    const unsigned = await peer('unsigned', 6, 99);
    for (const block of chain.blocks.slice(0, 3)) await late.archive.store(block, sign(block));
    await late.service.start();
    connect(late.node, unsigned.node, clock, true);
    await settle(50);
    expect(late.archive.nextHeight).toBe(3);
    const empty = await createStorageNode('empty', clock, SIGNED);
    await empty.service.start();
    connect(empty.node, unsigned.node, clock, true);
    await empty.until(6);
    await Promise.all([late.service.stop(), empty.service.stop()]);
  });
});

describe('a delivered block', () => {
  it('is stored with its certificate, and refused without a good one', async () => {
    const mempool = createFakeNode('mempool', 'mempool');
    const link = connect(mempool, late.node, clock).a;
    const block = chain.add();
    const deliver = (certificate?: Certificate) => {
      const body = { block_num: 0, hash: chain.hash(0), ...(certificate && { certificate }) };
      return link.request('block.deliver', body, { attachment: encodeFullBlock(block) });
    };
    const refused = (reason: string) => ({ type: 'block.refused', body: { reason: expect.stringContaining(reason) } });
    expect(await deliver()).toMatchObject(refused('no producer has signed for block 0'));
    expect(await deliver(sign(block, forger))).toMatchObject(refused('is no producer of this network'));
    expect(await deliver(sign(chain.add()))).toMatchObject(refused('not one for block 0'));
    expect(late.archive.nextHeight).toBe(0);
    expect(await deliver(sign(block))).toMatchObject({ type: 'block.stored' });
    expect(late.archive.tipCertificate).toEqual(sign(block));
  });
});

describe('an archive with certificates', () => {
  it('keeps them, and those of others it does not keep', async () => {
    chain.grow(3);
    await late.archive.store(chain.block(0), sign(chain.block(0)));
    await late.archive.store(chain.block(1), sign(chain.block(1), forger));
    const again = await Archive.open({ rules: SIGNED }, { kv: late.kv });
    expect(await again.certificateAt(0)).toEqual(sign(chain.block(0)));
    expect([again.isCertified, await again.certificateAt(1), again.tipCertificate]).toEqual([
      true,
      undefined,
      undefined,
    ]);
  });

  it('of before is opened as it is, and takes signed blocks from then on', async () => {
    chain.grow(5);
    const old = await createStorageNode('old', clock);
    await old.fill(chain, 4);
    const now = await Archive.open({ rules: SIGNED }, { kv: old.kv });
    expect([now.nextHeight, now.isCertified]).toEqual([4, false]);
    await now.store(chain.block(4), sign(chain.block(4)));
    expect(now.isCertified).toBe(true);
    await now.verify();
  });

  it('is damaged when one is not of its block', async () => {
    chain.grow(2);
    await late.archive.store(chain.block(0), sign(chain.block(0)));
    const { signature } = sign(chain.block(1));
    const batch = late.kv.batch();
    batch.put(certificateKey(0), Buffer.from(toHex(producer.publicKey) + signature, 'hex'));
    await late.kv.write(batch, { sync: true });
    await expect(late.archive.verify()).rejects.toMatchObject({ code: 'data_corrupt' });
  });
});
