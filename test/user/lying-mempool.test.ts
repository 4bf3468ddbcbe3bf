/** What a mempool node that lies can make a wallet believe: each lie costs it the link, and nothing else. */

import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { certifyBlock, chainName } from '../../src/chain/certificate.js';
import { blockHash } from '../../src/chain/hash.js';
import { proofOfWorkFault } from '../../src/chain/pow.js';
import { spentOutPoints } from '../../src/chain/transaction.js';
import type { BlockHeader, FullBlock } from '../../src/chain/types.js';
import { keyPairFromSeed } from '../../src/crypto/ed25519.js';
import { sha3Bytes } from '../../src/crypto/sha3.js';
import { toHex } from '../../src/lib/bytes.js';
import { Signer } from '../../src/mempool/blocks/signer.js';
import { type Metrics, MetricsRegistry, noMetrics } from '../../src/observability/metrics.js';
import { encodeFullBlock } from '../support/full-block.js';
import { metricValue } from '../support/metric-value.js';
import { createTestNet, next, type TestNet, type TestUser, until } from '../support/user.js';
import {
  block,
  NOBODY,
  PASSPHRASE,
  paymentFromOutside,
  removeFolders,
  tokens,
  type WholeBlock,
  withProofOfWork,
} from '../support/wallet-fixtures.js';

let net: TestNet;
let victim: TestUser;
let address: string;

beforeEach(async () => {
  net = await createTestNet();
  victim = await net.user();
  await until(() => victim.user.inStep);
  address = await victim.wallet.newAddress();
  // The wallet knows the hash of block 1.
  net.mempool.mine();
  await until(() => victim.wallet.chain.height === 1);
});
afterEach(() => net.stop());
afterAll(removeFolders);

const riches = () => [paymentFromOutside([tokens(address, 1_000_000n)])];

/** Tells the victim of a block; resolves with the reason for which it closed the link. */
async function tell({ full, hash, certificate }: WholeBlock): Promise<string> {
  const down = next(victim.network.linkDown);
  const [link] = net.mempoolNetwork.links;
  const body = { block_num: Number(full.block.header.bNum), hash, ...(certificate && { certificate }) };
  link?.send('block.mined', body, encodeFullBlock(full));
  return (await down).reason;
}

const withHeader = (full: FullBlock, header: BlockHeader) => ({
  full: { ...full, block: { ...full.block, header } },
  hash: blockHash(header),
});

/** A header whose hash has no leading zero byte. */
function withoutProofOfWork(header: BlockHeader): BlockHeader {
  for (let i = 0; ; i++) {
    const idle = { ...header, nonce: Uint8Array.of(i) };
    if (proofOfWorkFault(idle) !== null) return idle;
  }
}

describe('a mempool node that lies about blocks', () => {
  it('does not bring one without proof of work', async () => {
    const { full } = block(2, riches(), { previous: victim.wallet.chain.tipHash });
    const reason = await tell(withHeader(full, withoutProofOfWork(full.block.header)));
    expect(reason).toMatch(/proof of work/);
    expect(victim.wallet.coins.totals().running).toBe(0n);
  });

  it('does not bring one that follows another block than the last', async () => {
    expect(await tell(block(2, riches(), { previous: 'b'.repeat(65) }))).toMatch(/does not follow/);
    expect(victim.wallet.coins.totals().running).toBe(0n);
  });

  it('does not put another block in the place of the last', async () => {
    expect(await tell(block(1, riches()))).toMatch(/block 1 is/);
    expect(victim.wallet.coins.totals().running).toBe(0n);
  });

  it('does not put a transaction into a block that does not list it', async () => {
    const { full, hash } = block(2, [paymentFromOutside([tokens(NOBODY, 1n)])], {
      previous: victim.wallet.chain.tipHash,
    });
    expect(await tell({ full: { ...full, transactions: riches() }, hash })).toMatch(/another transaction/);
    const listed = { ...full.block, transactions: ['g'.repeat(32)] };
    await until(() => victim.user.inStep);
    expect(await tell({ full: { ...full, block: listed }, hash })).toMatch(/list/);
    expect(victim.wallet.coins.totals().running).toBe(0n);
  });

  it('does not make a wallet drop its coins by a forged spend', async () => {
    net.mempool.grant([tokens(address, 100n)]);
    await victim.wallet.refresh({ all: true });
    await until(() => victim.wallet.coins.totals().available === 100n);
    const honest = paymentFromOutside([tokens(NOBODY, 1n)]);
    const { full, hash } = block(2, [honest], { previous: victim.wallet.chain.tipHash });
    const [coin] = [...net.mempool.utxos.values()].filter(([, { value }]) => value.amount === 100n);
    if (coin === undefined) throw new Error('no coin');
    const forged = { ...honest, inputs: [{ previousOut: coin[0], script: [] }] };
    expect(spentOutPoints(forged)).toEqual([coin[0]]);
    expect(await tell({ full: { ...full, transactions: [forged] }, hash })).toMatch(/another transaction/);
    expect(victim.wallet.coins.totals().available).toBe(100n);
  });

  it('does not reject a payment with a block that has no proof of work', async () => {
    net.mempool.grant([tokens(address, 100n)]);
    await victim.wallet.refresh({ all: true });
    await until(() => victim.wallet.coins.totals().available === 100n);
    const { txHash } = await victim.user.payAddress({
      address: NOBODY,
      amount: 100n,
      locktime: 0n,
      passphrase: PASSPHRASE,
    });
    await until(() => victim.wallet.outgoing.get(txHash)?.state === 'sent');
    const [made] = victim.wallet.outgoing.inFlight();
    const theft = { ...paymentFromOutside([tokens(NOBODY, 100n)]), inputs: made?.transaction.inputs ?? [] };
    const { full } = block(2, [theft], { previous: victim.wallet.chain.tipHash });
    await tell(withHeader(full, withoutProofOfWork(full.block.header)));
    expect(victim.wallet.outgoing.get(txHash)).toBeDefined();
  });
});

describe('a mempool node that lies about unspent outputs', () => {
  it('is not believed when it names another block for the number that the wallet knows', async () => {
    const honest = victim.wallet.chain.tipHash;
    const { header } = block(1, []).full.block;
    net.mempool.pretend(blockHash(withProofOfWork({ ...header, timestamp: 7n })));
    net.mempool.grant([tokens(address, 1_000_000n)]);
    const down = next(victim.network.linkDown);
    await victim.wallet.refresh({ all: true });
    expect((await down).reason).toMatch(/block 1 is/);
    expect(victim.wallet.coins.totals().running).toBe(0n);
    expect(victim.wallet.chain.tipHash).toBe(honest);
  });

  it('is the reason why a wallet is not in step, also when it has no link any more', async () => {
    const { folder } = victim;
    await victim.stop();
    const { header } = block(1, []).full.block;
    net.mempool.pretend(blockHash(withProofOfWork({ ...header, timestamp: 7n })));
    const again = await net.user({ folder });
    await next(again.network.linkDown);
    expect(again.user.problem).toMatch(/block 1 is/);
  });

  it('does not continue pages where nothing was asked for', async () => {
    net.mempool.loop = true;
    const down = next(victim.network.linkDown);
    await victim.wallet.refresh({ all: true });
    expect((await down).reason).toMatch(/continues where nothing was asked for/);
  });
});

const CHAIN = chainName('test', 'the genesis of these tests');
const producer = keyPairFromSeed(sha3Bytes('the producer of these tests'));
const forger = keyPairFromSeed(sha3Bytes('a forger'));
const SIGNED = {
  signer: new Signer(producer, CHAIN),
  producers: { chain: CHAIN, keys: [toHex(producer.publicKey)] },
};

/** A new network whose blocks are signed, in the place of the other one, with a wallet that knows block 1. */
async function startSigned(metrics: Metrics = noMetrics): Promise<void> {
  await net.stop();
  net = await createTestNet(undefined, SIGNED);
  victim = await net.user({ metrics });
  await until(() => victim.user.inStep);
  address = await victim.wallet.newAddress();
  net.mempool.mine();
  await until(() => victim.wallet.chain.height === 1);
}

describe('a mempool node that lies to a wallet of a network with producers (decision record 0010)', () => {
  beforeEach(() => startSigned());

  const next2 = () => block(2, riches(), { previous: victim.wallet.chain.tipHash });
  const told = ({ full, hash }: ReturnType<typeof next2>, keyPair = producer, height = 2, signed = hash) => ({
    full,
    hash,
    certificate: certifyBlock(keyPair, CHAIN, { height, hash: signed }),
  });

  it('is believed when a producer has signed the block', async () => {
    const { full, hash, certificate } = told(next2());
    const [link] = net.mempoolNetwork.links;
    link?.send('block.mined', { block_num: 2, hash, certificate }, encodeFullBlock(full));
    await until(() => victim.wallet.coins.totals().running === 1_000_000n);
  });

  it.each([
    ['without a certificate', () => next2(), /no producer has signed for block 2/],
    ['signed by somebody else', () => told(next2(), forger), /is no producer of this network/],
    ['with the certificate of another height', () => told(next2(), producer, 1), /not one for block 2/],
    [
      'with the certificate of the block before',
      () => told(next2(), producer, 1, victim.wallet.chain.tipHash),
      /not one for/,
    ],
    ['altered after it was signed', () => told(next2(), producer, 2, next2().hash.replace(/.$/, 'x')), /not one for/],
  ])('does not bring one %s, and tells nobody of it', async (_, made, reason) => {
    const heard: string[] = [];
    victim.user.blockMined.on(({ hash }) => heard.push(hash));
    expect(await tell(made())).toMatch(reason);
    expect(victim.wallet.coins.totals().running).toBe(0n);
    expect(heard).toEqual([]);
  });

  it.each([
    ['in the place of the last', () => told(block(1, riches()), producer, 1)],
    ['that follows another one than the last', () => told(block(2, riches(), { previous: 'b'.repeat(65) }))],
  ])('does not bring one %s although a producer has signed it, and it is counted', async (_, made) => {
    const metrics = new MetricsRegistry('user');
    await startSigned(metrics);
    expect(await tell(made())).toMatch(/block 1 is|does not follow/);
    expect(victim.wallet.coins.totals().running).toBe(0n);
    expect(await metricValue(metrics, 'tessera_blocks_signed_twice_total')).toBe(1);
  });

  it('does not refresh a wallet as of a block that nobody has signed', async () => {
    net.mempool.grant([tokens(address, 1_000_000n)]);
    net.mempool.mine({ tell: false });
    net.mempool.sign = false;
    const down = next(victim.network.linkDown);
    await victim.wallet.refresh({ all: true });
    expect((await down).reason).toMatch(/no producer has signed for block 2/);
    expect(victim.wallet.coins.totals().running).toBe(0n);
  });

  it('is heard by nobody when no producer vouches for it', async () => {
    const impostor = net.stranger('mempool', 12_399);
    impostor.handle('producer.get', () => ({
      type: 'producer',
      body: { certificate: SIGNED.signer.node(net.mempoolNetwork.nodeKey) },
    }));
    await impostor.start();
    const other = await net.user({ mempools: [impostor.address] });
    expect((await next(other.network.linkDown)).reason).toMatch(/not one for node/);
    expect(other.user.inStep).toBe(false);
    expect(other.user.problem).toMatch(/ is not trusted: .*not one for node/);
  });
});

describe('a wallet that was lied to before its network had producers', () => {
  it('finds back to the signed chain, also from a block that is higher, and keeps that', async () => {
    // Told by an older version: a forged block, far ahead of the chain.
    const forged = block(2, riches(), { previous: victim.wallet.chain.tipHash });
    const [link] = net.mempoolNetwork.links;
    link?.send('block.mined', { block_num: 2, hash: forged.hash }, encodeFullBlock(forged.full));
    await until(() => victim.wallet.coins.totals().running === 1_000_000n);
    const { folder } = victim;
    await net.stop();

    net = await createTestNet(undefined, SIGNED);
    net.mempool.mine();
    victim = await net.user({ folder });
    await until(() => victim.user.inStep);
    expect(victim.wallet.chain.height).toBe(1);
    expect(victim.wallet.coins.totals().running).toBe(0n);
    const signed = victim.wallet.chain.tipHash;
    await victim.stop();

    const again = await net.user({ folder, mempools: [] });
    expect([again.wallet.chain.height, again.wallet.chain.tipHash]).toEqual([1, signed]);
    expect(() => again.wallet.chain.beginRefresh([], { height: 1, hash: `b${'0'.repeat(64)}` })).toThrow(/no producer/);
  });
});
