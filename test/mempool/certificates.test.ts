/** What a mempool node signs, and that it needs no memory for it (decision record 0010). */

import { chmod, cp } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import {
  blockCertificateFault,
  type Certificate,
  chainName,
  nodeCertificateFault,
  type Producers,
} from '../../src/chain/certificate.js';
import { decodeHeader } from '../../src/chain/codec.js';
import { keyPairFromSeed } from '../../src/crypto/ed25519.js';
import { sha3Bytes } from '../../src/crypto/sha3.js';
import { toHex } from '../../src/lib/bytes.js';
import { createDeferred } from '../../src/lib/deferred.js';
import { Signer } from '../../src/mempool/blocks/signer.js';
import type { MessageBody } from '../../src/peers/messages.js';
import type { Link } from '../../src/peers/network.js';
import { account, rulesFor } from '../support/mempool.js';
import { SECRET } from '../support/peers.js';
import { alice, bob, newFolder, type Setup, send, setUp, stored } from './running.js';

const producer = keyPairFromSeed(sha3Bytes('the producer of these tests'));
const CHAIN = chainName('test', 'the genesis of these tests');
const signer = new Signer(producer, CHAIN);
const producers: Producers = { chain: CHAIN, keys: [toHex(producer.publicKey)] };

/** Answers as a storage node, and notes the certificates that come with the blocks. */
async function storageOf({ bed, network }: Setup): Promise<Map<number, Certificate | undefined>> {
  const delivered = new Map<number, Certificate | undefined>();
  const storage = bed.node('storage', { role: 'storage', secret: SECRET });
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
