/**
 * An archive that heals asks others for the blocks that it has lost: nobody puts a block of another chain there, or keeps it
 * from becoming whole (rule P3, decision record 0010).
 */

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { certifyBlock } from '../../src/chain/certificate.js';
import { encodeTransaction } from '../../src/chain/codec.js';
import { blockHash } from '../../src/chain/hash.js';
import type { FullBlock } from '../../src/chain/types.js';
import { keyPairFromSeed } from '../../src/crypto/ed25519.js';
import { sha3Bytes } from '../../src/crypto/sha3.js';
import { DataDir } from '../../src/db/data-dir.js';
import { toHex } from '../../src/lib/bytes.js';
import { systemClock } from '../../src/lib/clock.js';
import { silentLogger } from '../../src/lib/logger.js';
import { openArchiveFiles, remakeArchiveFiles } from '../../src/node/archive-files.js';
import { joinBlocks, splitBlocks } from '../../src/peers/messages.js';
import type { Reply } from '../../src/peers/network.js';
import { Archive } from '../../src/storage/archive/archive.js';
import { pack } from '../../src/storage/segments/pack.js';
import { RunningStorageService } from '../../src/storage/storage-service.js';
import { encodeFullBlock } from '../support/full-block.js';
import { connect, createFakeNode, type FakeNode } from '../support/storage/fake-network.js';
import { CATCH_UP, createStorageNode, settle } from '../support/storage/storage-node.js';
import { createTestChain, RULES, type TestChain } from '../support/storage/test-chain.js';

const BLOCKS = 8;
/** The block that is lost; those before it, and this one, are from before the network had producers. */
const LOST = 1;
const SIGNED_FROM = 3;
const CHAIN = 'a chain';
const producer = keyPairFromSeed(sha3Bytes('the producer of these tests'));
const SIGNED = { ...RULES, producers: { chain: CHAIN, keys: [toHex(producer.publicKey)] } };

let path: string;
let chain: TestChain;
let directory: DataDir;
let archive: Archive;
let service: RunningStorageService;
let node: FakeNode;

const certificateOf = ({ block: { header } }: FullBlock) =>
  Number(header.bNum) < SIGNED_FROM
    ? undefined
    : certifyBlock(producer, CHAIN, { height: Number(header.bNum), hash: blockHash(header) });

beforeEach(async () => {
  path = await mkdtemp(join(tmpdir(), 'tessera-healing-'));
  chain = createTestChain().grow(BLOCKS);
  await makeDamaged();
  directory = await DataDir.open(path, { role: 'storage', networkName: 'test' });
  archive = await Archive.open({ rules: SIGNED }, await remakeArchiveFiles(directory));
  node = createFakeNode('healing', 'storage');
  service = new RunningStorageService(
    { catchUp: { ...CATCH_UP, retryMs: 20 }, producers: SIGNED.producers },
    { archive, network: node.network, clock: systemClock, logger: silentLogger },
  );
  await archive.load();
  await service.start();
});

afterEach(async () => {
  await service.stop();
  await directory.close();
  await rm(path, { recursive: true });
});

/** An archive of the whole chain whose block `LOST` cannot be read. */
async function makeDamaged(): Promise<void> {
  const folder = await DataDir.open(path, { role: 'storage', networkName: 'test' });
  const whole = await Archive.open({ rules: SIGNED }, await openArchiveFiles(folder));
  for (const block of chain.blocks) await whole.store(block, certificateOf(block));
  await folder.close();
  const file = join(path, 'segments', '0000000000.open');
  const bytes = await readFile(file);
  const at = bytes.indexOf(pack(encodeTransaction(chain.block(LOST).miningTransaction))) + 4;
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  await writeFile(file, bytes);
}

/** A storage node with the blocks of a chain, and with certificates if it has been given any. */
async function peer(name: string, of: TestChain, isSigned: boolean, tamper?: (reply: Reply) => Reply) {
  const made = await createStorageNode(name, undefined, SIGNED);
  for (const block of of.blocks) await made.archive.store(block, isSigned ? certificateOf(block) : undefined);
  if (tamper !== undefined) made.node.tamper = tamper;
  return made;
}

async function untilWhole(): Promise<void> {
  while (archive.nextHeight < BLOCKS) await settle(1);
  for (const [height, block] of chain.blocks.entries()) {
    const bytes = await archive.fullBlockBytes(height);
    expect(Buffer.from(bytes ?? []).equals(encodeFullBlock(block))).toBe(true);
  }
}

it('takes no block without a certificate where the damaged archive had some, not even from a node with the secret', async () => {
  const insider = await peer('insider', createTestChain(101).grow(BLOCKS), false);
  expect(archive.nextHeight).toBe(LOST);
  connect(node, insider.node, systemClock, true);
  await settle(300);
  expect(archive.nextHeight).toBe(LOST);
  connect(node, (await peer('honest', chain, true)).node, systemClock, false);
  await untilWhole();
});

it('becomes whole from one honest stranger beside others that alter what it asks for, and is asked for no more than was lost', async () => {
  const other = createTestChain(101).grow(BLOCKS);
  const altering = (reply: Reply): Reply => {
    if (reply.type !== 'blocks') return reply;
    const { count } = reply.body as { count: number };
    const blocks = splitBlocks(reply.attachment ?? new Uint8Array(0), count);
    return { ...reply, attachment: joinBlocks(blocks.map(() => encodeFullBlock(other.block(LOST)))) } as Reply;
  };
  const withholding = (reply: Reply): Reply =>
    reply.type === 'blocks'
      ? ({ ...reply, body: { ...reply.body, count: 0 }, attachment: new Uint8Array(0) } as Reply)
      : reply;
  const liars = [
    await peer('altering', chain, true, altering),
    await peer('withholding', chain, true, withholding),
    await peer('of another chain', other, false),
  ];
  for (const liar of liars) connect(node, liar.node, systemClock, false);
  await settle(300);
  expect(archive.nextHeight).toBe(LOST);
  const honest = await peer('honest', chain, true);
  connect(node, honest.node, systemClock, false);
  await untilWhole();
  const asked = [...liars.map((liar) => liar.received), honest.received]
    .flat()
    .filter(({ type }) => type === 'blocks.get');
  expect(asked.map(({ body }) => body)).toEqual(asked.map(() => ({ from: LOST, count: 1, packed: true })));
});
