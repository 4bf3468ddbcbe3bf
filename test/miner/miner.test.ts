import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type BlockPlace, certifyBlock, chainName } from '../../src/chain/certificate.js';
import { encodeHeader } from '../../src/chain/codec.js';
import { coinbaseFault } from '../../src/chain/coinbase.js';
import { transactionHash } from '../../src/chain/hash.js';
import { proofOfWorkFault } from '../../src/chain/pow.js';
import type { BlockHeader } from '../../src/chain/types.js';
import { keyPairFromSeed } from '../../src/crypto/ed25519.js';
import { sha3Bytes } from '../../src/crypto/sha3.js';
import { toHex } from '../../src/lib/bytes.js';
import { createDeferred } from '../../src/lib/deferred.js';
import type { Verdict } from '../../src/lib/fault.js';
import { silentLogger } from '../../src/lib/logger.js';
import { fixedRewardAddress, Miner, type MinerModules, type MinerOptions } from '../../src/miner/miner.js';
import { MetricsRegistry, noMetrics } from '../../src/observability/metrics.js';
import type { Link, PeerNetwork, Reply } from '../../src/peers/network.js';
import { settle } from '../support/manual-clock.js';
import { metricValue } from '../support/metric-value.js';
import {
  createFakeMempool,
  type FakeMempool,
  IMPOSSIBLE,
  type Proof,
  REWARD,
  TWO_BYTES,
  templateHeader,
} from '../support/miner.js';
import { type Bed, createBed, nextOf } from '../support/peers.js';

const ADDRESS = 'e'.repeat(64);

let bed: Bed;
let mempoolNode: PeerNetwork;
let mempool: FakeMempool;
const miners: Miner[] = [];

beforeEach(async () => {
  bed = createBed('memory');
  mempoolNode = bed.node('mempool', { role: 'mempool' });
  mempool = createFakeMempool(mempoolNode);
  await mempoolNode.start();
});

afterEach(async () => {
  await Promise.all(miners.splice(0).map((miner) => miner.stop()));
  await bed.stop();
});

/** A started miner that has joined, and its link as the mempool sees it. */
async function startMiner({
  rewards = fixedRewardAddress(ADDRESS),
  threads = 1,
  producers,
  tip,
  metrics = noMetrics,
}: MinerOptions & Partial<Pick<MinerModules, 'rewards' | 'tip' | 'metrics'>> = {}): Promise<{
  miner: Miner;
  network: PeerNetwork;
  link: Link;
}> {
  const network = bed.node('miner', { role: 'miner', peers: [mempoolNode.address] });
  const miner = new Miner(
    { threads, producers },
    { network, rewards, tip, clock: bed.clock, logger: silentLogger, metrics },
  );
  miners.push(miner);
  const joined = nextOf(mempool.joined);
  await network.start();
  await miner.start();
  return { miner, network, link: await joined };
}

function faultOf(header: BlockHeader, { nonce, coinbase }: Proof): Verdict {
  return proofOfWorkFault({ ...header, nonce, miningTxHash: transactionHash(coinbase) });
}

describe('a proof', () => {
  it.each([
    ['block 0 without a target (docs/chain.md#proof-of-work)', templateHeader(0)],
    ['a later block without a target', templateHeader(7)],
    ['the easiest compact target', templateHeader(8, Uint8Array.of(0x22, 0, 0, 1))],
    ['a compact target of two bytes', templateHeader(9, TWO_BYTES)],
  ])('verifies for %s', async (_what, header) => {
    const { link } = await startMiner();
    const proof = nextOf(mempool.proofs);
    mempool.give(link, header);
    const received = await proof;
    expect(received.height).toBe(Number(header.bNum));
    expect(faultOf(header, received)).toBeNull();
  });

  it('carries a coinbase that the chain accepts (decision B9)', async () => {
    const { link } = await startMiner();
    const proof = nextOf(mempool.proofs);
    mempool.give(link, templateHeader(41));
    const { coinbase } = await proof;
    expect(coinbaseFault(coinbase, 41n, REWARD)).toBeNull();
    expect(coinbase.outputs[0]).toMatchObject({ locktime: 141n, scriptPublicKey: ADDRESS });
  });

  it('is found by several threads too', async () => {
    const { miner, link } = await startMiner({ threads: 3 });
    expect(miner.threads).toBe(3);
    const proof = nextOf(mempool.proofs);
    mempool.give(link, templateHeader(5, TWO_BYTES));
    expect(faultOf(templateHeader(5, TWO_BYTES), await proof)).toBeNull();
  });
});

describe('a template', () => {
  it('takes the place of the one before', async () => {
    const { link } = await startMiner();
    mempool.give(link, templateHeader(1, IMPOSSIBLE));
    await settle();
    const proof = nextOf(mempool.proofs);
    mempool.give(link, templateHeader(2));
    expect((await proof).height).toBe(2);
  });

  it('is dropped by mining.stop, and the next one is worked on', async () => {
    const { miner, link } = await startMiner();
    mempool.give(link, templateHeader(1, IMPOSSIBLE));
    await settle();
    link.send('mining.stop', { block_num: 1 });
    await settle();
    expect(miner.currentBlock()?.header.bNum).toBe(1n);
    const proof = nextOf(mempool.proofs);
    mempool.give(link, templateHeader(2));
    expect((await proof).height).toBe(2);
  });

  it('is the current block, with the own coinbase in it (decision V19)', async () => {
    const { miner, link } = await startMiner();
    expect(miner.currentBlock()).toBeNull();
    const proof = nextOf(mempool.proofs);
    mempool.give(link, templateHeader(6));
    const { coinbase } = await proof;
    expect(miner.currentBlock()).toEqual({
      header: { ...templateHeader(6), miningTxHash: transactionHash(coinbase) },
      reward: REWARD,
    });
  });

  it('asks for one address, however often it comes', async () => {
    let asked = 0;
    const { link } = await startMiner({ rewards: { address: async () => `${asked++}`.padStart(64, '0') } });
    const first = nextOf(mempool.proofs);
    mempool.give(link, templateHeader(1));
    const { coinbase } = await first;
    await settle();
    const again = nextOf(mempool.proofs);
    mempool.give(link, templateHeader(1));
    expect((await again).coinbase).toEqual(coinbase);
    expect(asked).toBe(1);
  });

  it('waits for an address that cannot be had at once', async () => {
    let asked = 0;
    const { link } = await startMiner({
      rewards: {
        async address() {
          if (asked++ === 0) throw new Error('the wallet is locked');
          return ADDRESS;
        },
      },
    });
    const proof = nextOf(mempool.proofs);
    mempool.give(link, templateHeader(1));
    await settle();
    await bed.clock.advance(2_000);
    expect((await proof).coinbase.outputs[0]?.scriptPublicKey).toBe(ADDRESS);
  });

  it.each<[string, (link: Link) => void, RegExp]>([
    [
      'the header of another block',
      (link) => link.send('mining.template', { block_num: 2, reward: '1' }, encoded(1)),
      /another block/,
    ],
    [
      'a header that is none',
      (link) => link.send('mining.template', { block_num: 2, reward: '1' }, new Uint8Array(9)),
      /mining\.template/,
    ],
    ['a difficulty of three bytes', (link) => mempool.give(link, templateHeader(1, new Uint8Array(3))), /difficulty/],
    ['a reward beyond a u64', (link) => mempool.give(link, templateHeader(1), 2n ** 64n), /u64/],
  ])('with %s closes the link', async (_what, send, reason) => {
    const { link } = await startMiner();
    const down = nextOf(mempoolNode.linkDown);
    send(link);
    expect((await down).reason).toMatch(reason);
  });
});

describe('a lost link', () => {
  it('is followed by joining again, and the work goes on where it was', async () => {
    const { link } = await startMiner();
    const first = nextOf(mempool.proofs);
    mempool.give(link, templateHeader(1));
    const { nonce, coinbase } = await first;
    const joined = nextOf(mempool.joined);
    for (const wire of bed.hub.wires) wire.cut();
    await settle();
    await bed.clock.advance(1_000);
    const again = nextOf(mempool.proofs);
    mempool.give(await joined, templateHeader(1));
    expect(await again).toMatchObject({ nonce, coinbase });
  });

  it('ends a search, and the next template is worked on', async () => {
    const { link } = await startMiner();
    mempool.give(link, templateHeader(1, IMPOSSIBLE));
    await settle();
    const joined = nextOf(mempool.joined);
    for (const wire of bed.hub.wires) wire.cut();
    await settle();
    await bed.clock.advance(1_000);
    const proof = nextOf(mempool.proofs);
    mempool.give(await joined, templateHeader(1));
    expect((await proof).height).toBe(1);
  });
});

describe('a template of two mempool nodes (docs/adr/0041-several-mempool-nodes.md#wallets-and-miners)', () => {
  /** Both have given it to a miner that waits for its address, the other last. */
  async function givenByTwo(onProof?: () => Promise<Reply>) {
    const address = createDeferred<string>();
    const other = bed.node('other', { role: 'mempool' });
    other.handle('mining.join', () => ({ type: 'mining.joined', body: {} }));
    if (onProof !== undefined) other.handle('mining.proof', onProof);
    await other.start();
    const { network, link } = await startMiner({ rewards: { address: () => address.promise } });
    const up = nextOf(other.linkUp);
    await network.dial(other.address, { timeoutMs: 5_000 });
    const toOther = await up;
    mempool.give(link, templateHeader(1));
    await settle();
    toOther.send('mining.template', { block_num: 1, reward: String(REWARD) }, encoded(1));
    await settle();
    return { address, toOther };
  }

  it('is proven to the last that has sent it, which leads', async () => {
    const asked = createDeferred<void>();
    const proofs: Proof[] = [];
    mempool.proofs.on((proof) => proofs.push(proof));
    const { address } = await givenByTwo(async () => {
      asked.resolve();
      return { type: 'mining.verdict', body: { accepted: true, reason: '' } };
    });
    address.resolve(ADDRESS);
    await asked.promise;
    await settle();
    expect(proofs).toEqual([]);
  });

  it('is proven to the other when that one is gone', async () => {
    const { address, toOther } = await givenByTwo();
    toOther.close('test');
    await settle();
    const proof = nextOf(mempool.proofs);
    address.resolve(ADDRESS);
    expect((await proof).height).toBe(1);
  });

  it('is proven to the other when that one refuses it', async () => {
    const { address } = await givenByTwo(async () => ({
      type: 'mining.verdict',
      body: { accepted: false, reason: 'not yet' },
    }));
    const proof = nextOf(mempool.proofs);
    address.resolve(ADDRESS);
    expect((await proof).height).toBe(1);
  });

  it('is proven to the other when that one does not answer', async () => {
    const asked = createDeferred<void>();
    const { address } = await givenByTwo(() => {
      asked.resolve();
      return new Promise<never>(() => undefined);
    });
    const proofs: Proof[] = [];
    mempool.proofs.on((proof) => proofs.push(proof));
    address.resolve(ADDRESS);
    await asked.promise;
    const given = async (): Promise<number> => {
      await bed.clock.advance(5_000);
      return proofs.length;
    };
    await expect.poll(given, { timeout: 60_000 }).toBe(1);
  });
});

describe('stopping', () => {
  it('ends a search that would never end, and leaves no thread and no timer', async () => {
    const { miner, network, link } = await startMiner({ threads: 2 });
    mempool.give(link, templateHeader(1, IMPOSSIBLE));
    await settle();
    await miner.stop();
    expect(miner.threads).toBe(0);
    await network.stop();
    await mempoolNode.stop();
    expect(bed.clock.waiting).toBe(0);
  });
});

function encoded(bNum: number): Uint8Array {
  return encodeHeader(templateHeader(bNum));
}

describe('a template (decision record 0010)', () => {
  const CHAIN = chainName('test', 'the genesis of these tests');
  const producer = keyPairFromSeed(sha3Bytes('the producer of these tests'));
  const forger = keyPairFromSeed(sha3Bytes('a forger'));
  const producers = { chain: CHAIN, keys: [toHex(producer.publicKey)] };
  const previous = (height: number): BlockPlace => ({ height, hash: templateHeader(7).previousHash ?? '' });

  it('is mined when a producer has signed the block before it', async () => {
    const { link } = await startMiner({ producers });
    const proof = nextOf(mempool.proofs);
    mempool.give(link, templateHeader(7), REWARD, certifyBlock(producer, CHAIN, previous(6)));
    expect((await proof).height).toBe(7);
  });

  it.each([
    ['without a certificate of the block before', undefined, /no producer has signed for block 6/],
    ['with one by somebody else', certifyBlock(forger, CHAIN, previous(6)), /is no producer/],
    ['with one of an older block', certifyBlock(producer, CHAIN, previous(5)), /not one for block 6/],
  ])('costs the mempool its link %s', async (_, certificate, reason) => {
    const { miner, network, link } = await startMiner({ producers });
    const down = nextOf(network.linkDown);
    mempool.give(link, templateHeader(7), REWARD, certificate);
    expect((await down).reason).toMatch(reason);
    expect(miner.currentBlock()).toBeNull();
  });

  it('costs the mempool its link when it does not follow the last block that the node has checked', async () => {
    const { network, link } = await startMiner({
      tip: () => ({ height: 6, hash: `b${'9'.repeat(64)}`, isCertified: false }),
    });
    const down = nextOf(network.linkDown);
    mempool.give(link, templateHeader(7));
    expect((await down).reason).toMatch(/it follows b.*and block 6 is b999/);
  });

  it('on top of a second block that a producer has signed is not mined, and counted', async () => {
    const metrics = new MetricsRegistry('miner');
    const tip = () => ({ height: 6, hash: `b${'9'.repeat(64)}`, isCertified: true });
    const { network, link } = await startMiner({ producers, tip, metrics });
    const down = nextOf(network.linkDown);
    mempool.give(link, templateHeader(7), REWARD, certifyBlock(producer, CHAIN, previous(6)));
    expect((await down).reason).toMatch(/and block 6 is b999/);
    expect(await metricValue(metrics, 'tessera_blocks_signed_twice_total')).toBe(1);
  });

  it('of a block that is stored already is not mined', async () => {
    const { miner, link } = await startMiner({ tip: () => ({ height: 7, hash: previous(7).hash, isCertified: true }) });
    const proof = nextOf(mempool.proofs);
    mempool.give(link, templateHeader(7));
    mempool.give(link, templateHeader(8));
    expect((await proof).height).toBe(8);
    expect(miner.currentBlock()?.header.bNum).toBe(8n);
  });
});
