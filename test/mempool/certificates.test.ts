/** What a mempool node signs, and that it needs no memory for it (decision record 0010). */

import { chmod, cp } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import {
  blockCertificateFault,
  type Certificate,
  certifyBlock,
  chainName,
  nodeCertificateFault,
  type Producers,
} from '../../src/chain/certificate.js';
import { decodeHeader, encodeHeader } from '../../src/chain/codec.js';
import { keyPairFromSeed } from '../../src/crypto/ed25519.js';
import { sha3Bytes } from '../../src/crypto/sha3.js';
import { toHex } from '../../src/lib/bytes.js';
import { createDeferred } from '../../src/lib/deferred.js';
import { Signer } from '../../src/mempool/blocks/signer.js';
import { joinBlocks, type MessageBody } from '../../src/peers/messages.js';
import type { Link } from '../../src/peers/network.js';
import { decodeFullBlock } from '../support/full-block.js';
import { settle } from '../support/manual-clock.js';
import { account, chainFor, keepStep, rulesFor } from '../support/mempool.js';
import { SECRET } from '../support/peers.js';
import { alice, bob, newFolder, type Setup, send, setUp, stored } from './running.js';

const producer = keyPairFromSeed(sha3Bytes('the producer of these tests'));
const forger = keyPairFromSeed(sha3Bytes('a forger'));
const CHAIN = chainName('test', 'the genesis of these tests');
const signer = new Signer(producer, CHAIN);
const producers: Producers = { chain: CHAIN, keys: [toHex(producer.publicKey)] };

/** Answers as a storage node, and notes the certificates that come with the blocks. */
async function storageOf({ bed, network }: Setup): Promise<Map<number, Certificate | undefined>> {
  const delivered = new Map<number, Certificate | undefined>();
  const storage = bed.node('storage', { role: 'storage', secret: SECRET });
  keepStep(storage);
  storage.handle('block.deliver', (_link, { body: { block_num, hash, certificate } }) => {
    expect(blockCertificateFault(producers, { height: block_num, hash }, certificate)).toBeNull();
    delivered.set(block_num, certificate);
    return { type: 'block.stored', body: { block_num, hash } };
  });
  await storage.start();
  await storage.dial(network.address, { timeoutMs: 5_000 });
  return delivered;
}

/** A user node that holds what it is told against the producers. */
async function userOf({ bed, network }: Setup): Promise<{ readonly link: Link; readonly mined: number[] }> {
  const mined: number[] = [];
  const user = bed.node('user', { role: 'user' });
  user.handle('block.mined', (_link, { body: { block_num, hash, certificate } }) => {
    expect(blockCertificateFault(producers, { height: block_num, hash }, certificate)).toBeNull();
    mined.push(block_num);
    return undefined;
  });
  await user.start();
  return { link: await user.dial(network.address, { timeoutMs: 5_000 }), mined };
}

it('signs delivered and announced blocks, the block of a refresh, and for its own node key', async () => {
  const running = await setUp({ folder: await newFolder(), storage: false, signer });
  const { link, mined } = await userOf(running);
  const delivered = await storageOf(running);
  await stored(running.mempool, 0);
  await running.mempool.submit([send(alice, 0, bob)]);
  await stored(running.mempool, 1);
  expect([...delivered.keys()]).toEqual([0, 1]);

  const answer = await link.request('utxos.get', { addresses: [alice.address] });
  const { block_num, hash, certificate } = answer.body as MessageBody<'utxos'>;
  expect(certificate).toEqual(delivered.get(1));
  expect(blockCertificateFault(producers, { height: block_num, hash: hash ?? '' }, certificate)).toBeNull();
  expect(mined).toEqual([0, 1]);

  const vouched = (await link.request('producer.get', {})).body as MessageBody<'producer'>;
  expect(nodeCertificateFault(producers, running.network.nodeKey, vouched.certificate)).toBeNull();
});

it('sends miners the certificate of the block before', async () => {
  const running = await setUp({ folder: await newFolder(), signer });
  await stored(running.mempool, 0);
  const { bed, network, mempool } = running;
  const miner = bed.node('watcher', { role: 'miner' });
  const judged = createDeferred<unknown>();
  miner.handle('mining.template', (_link, { body, attachment }) => {
    const { previousHash } = decodeHeader(attachment);
    const place = { height: body.block_num - 1, hash: previousHash ?? '' };
    judged.resolve(blockCertificateFault(producers, place, body.previous));
    return undefined;
  });
  miner.handle('mining.stop', () => undefined);
  miner.handle('block.mined', () => undefined);
  await miner.start();
  await (await miner.dial(network.address, { timeoutMs: 5_000 })).request('mining.join', {});
  await mempool.submit([send(alice, 0, bob)]);
  expect(await judged.promise).toBeNull();
});

it('goes on from the folder of a version that signed nothing, and signs the same after a restart', async () => {
  const fixture = fileURLToPath(new URL('../fixtures/mempool-folder/data', import.meta.url));
  const folder = await newFolder();
  await cp(fixture, folder, { recursive: true });
  await chmod(folder, 0o700);
  const rules = rulesFor([alice, bob, account('carol')]);
  const headOf = async (running: Setup): Promise<MessageBody<'utxos'>> => {
    const { link } = await userOf(running);
    return (await link.request('utxos.get', { addresses: [] })).body as MessageBody<'utxos'>;
  };
  const first = await setUp({ folder, storage: false, miners: [], mempool: { rules }, signer });
  const head = await headOf(first);
  expect(head.block_num).toBeGreaterThan(0);
  expect(
    blockCertificateFault(producers, { height: head.block_num, hash: head.hash ?? '' }, head.certificate),
  ).toBeNull();
  await first.close();
  const second = await setUp({
    folder,
    storage: false,
    miners: [],
    mempool: { rules },
    signer: new Signer(producer, CHAIN),
  });
  expect(await headOf(second)).toEqual(head);
});

describe('a mempool node that has lost its folder', () => {
  interface Made {
    readonly height: number;
    readonly hash: string;
    readonly bytes: Uint8Array;
  }

  /** Three blocks of another node, as storage got them. */
  async function makeBlocks(): Promise<readonly Made[]> {
    const running = await setUp({ folder: await newFolder(), storage: false });
    const made: Made[] = [];
    const storage = running.bed.node('storage', { role: 'storage', secret: SECRET });
    keepStep(storage);
    storage.handle('block.deliver', (_link, { body: { block_num, hash }, attachment }) => {
      made.push({ height: block_num, hash, bytes: Uint8Array.from(attachment) });
      return { type: 'block.stored', body: { block_num, hash } };
    });
    await storage.start();
    await storage.dial(running.network.address, { timeoutMs: 5_000 });
    await stored(running.mempool, 0);
    for (const n of [0, 1]) {
      await running.mempool.submit([send(n === 0 ? alice : bob, n, bob)]);
      await stored(running.mempool, n + 1);
    }
    await running.close();
    return made;
  }

  /** A storage node with the operator's secret and these blocks, and what it signs them with. */
  async function startStorage(
    { bed, network }: Setup,
    blocks: readonly Made[],
    sign: (block: Made) => Certificate | undefined,
  ): Promise<{ readonly asked: Promise<unknown> }> {
    const storage = bed.node('storage', { role: 'storage', secret: SECRET });
    const asked = createDeferred<void>();
    const last = blocks.at(-1);
    const certificateOf = (block: Made | undefined) => {
      const certificate = block && sign(block);
      return certificate === undefined ? {} : { certificate };
    };
    storage.handle('chain.tip', () => undefined);
    storage.handle('chain.tip.get', () => ({
      type: 'chain.tip',
      body: { next: blocks.length, hash: last?.hash ?? null, ...certificateOf(last) },
    }));
    storage.handle('headers.get', (_link, { body: { from } }) => {
      asked.resolve();
      const some = blocks.slice(from);
      const headers = some.map(({ bytes }) => encodeHeader(decodeFullBlock(bytes).block.header));
      const body = { from, count: some.length, ...certificateOf(some.at(-1)) };
      return { type: 'headers', body, attachment: joinBlocks(headers) };
    });
    storage.handle('blocks.get', (_link, { body: { from } }) => {
      const some = blocks.slice(from);
      return {
        type: 'blocks',
        body: { from, count: some.length },
        attachment: joinBlocks(some.map(({ bytes }) => bytes)),
      };
    });
    await storage.start();
    await storage.dial(network.address, { timeoutMs: 5_000 });
    return { asked: asked.promise };
  }

  const lost = async (): Promise<Setup> => {
    const chain = chainFor(rulesFor([alice, bob]));
    const signed = { chain: { ...chain, rules: { ...chain.rules, producers } } };
    return setUp({ folder: await newFolder(), storage: false, miners: [], mempool: signed, signer });
  };

  it('adopts what a producer has signed, of which old blocks need not be', async () => {
    const blocks = await makeBlocks();
    const running = await lost();
    await startStorage(running, blocks, (block) => (block.height === 2 ? signer.block(block) : undefined));
    await stored(running.mempool, 2);
    expect(running.mempool.figures().height).toBe(2);
  });

  it.each([
    ['that nobody has signed', () => undefined],
    ['that somebody else has signed', (block: Made) => certifyBlock(forger, CHAIN, block)],
  ])('adopts no block %s, though the storage node knows the secret', async (_, sign) => {
    const blocks = await makeBlocks();
    const running = await lost();
    const { asked } = await startStorage(running, blocks, sign);
    await asked;
    await settle();
    expect(running.mempool.figures()).toMatchObject({ height: -1 });
  });
});
