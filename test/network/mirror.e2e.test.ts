/**
 * A storage node that is nobody's: it knows no secret of the operator, is offered a forged chain, and ends with the chain
 * that a producer has signed, which it serves like the original (decision record 0010).
 */

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { encodeHeader } from '../../src/chain/codec.js';
import { readGenesis } from '../../src/node/genesis-file.js';
import type { LinkNetwork } from '../../src/peers/link-network.js';
import { joinBlocks } from '../../src/peers/messages.js';
import { createPeer, PUBLIC } from '../hostile/stranger.js';
import { encodeFullBlock } from '../support/full-block.js';
import { call, createNetwork, type Network, type NodeProcess, until, whenReady } from '../support/processes.js';
import { createTestChain } from '../support/storage/test-chain.js';
import { NOBODY, removeFolders, temporaryFolder } from '../support/wallet-fixtures.js';

const FORGED_BLOCKS = 6;

let network: Network;
let storage: NodeProcess;
let user: NodeProcess;

beforeAll(async () => {
  network = await createNetwork();
  ({ storage, user } = await network.addAll());
});

afterAll(async () => {
  await network.stopAll();
  await removeFolders();
});

const latest = async (node: NodeProcess): Promise<string> => (await fetch(`${node.apiUrl}/v1/blocks/latest`)).text();

const payOnce = (): Promise<unknown> =>
  call(`${user.apiUrl}/v1/payments`, { kind: 'address', address: NOBODY, amount: 1_000, passphrase: '' });

/** A storage node that offers a chain of its own: well-formed, with proofs of work, and longer than the true one. */
async function startForger(asked: string[]): Promise<LinkNetwork> {
  const forger = await createPeer('storage');
  const chain = createTestChain(0, await readGenesis(PUBLIC.genesisFile));
  const blocks = Array.from({ length: FORGED_BLOCKS }, () => chain.add([]));
  const tip = { next: FORGED_BLOCKS, hash: chain.hash(FORGED_BLOCKS - 1) };
  forger.handle('chain.tip.get', () => ({ type: 'chain.tip', body: tip }));
  forger.handle('chain.tip', () => undefined);
  forger.handle('headers.get', (_link, { body: { from } }) => {
    asked.push('headers');
    const headers = blocks.slice(from).map(({ block }) => encodeHeader(block.header));
    return { type: 'headers', body: { from, count: headers.length }, attachment: joinBlocks(headers) };
  });
  forger.handle('blocks.get', (_link, { body: { from } }) => {
    asked.push('blocks');
    const found = blocks.slice(from).map(encodeFullBlock);
    return { type: 'blocks', body: { from, count: found.length }, attachment: joinBlocks(found) };
  });
  await forger.start();
  return forger;
}

it('catches up from a stranger, ignores a forged chain, follows the true one and serves it', async () => {
  await payOnce();
  const asked: string[] = [];
  const forger = await startForger(asked);
  const secretFile = join(await temporaryFolder(), 'secret');
  await writeFile(secretFile, 'a secret of another operator\n');
  const outsider = { 'network.secret_file': secretFile };
  try {
    const mirror = await network.add('mirror', 'storage', {
      ...outsider,
      'peers.storage': `${forger.address},${storage.peerAddress}`,
    });
    const isEven = (a: NodeProcess, b: NodeProcess) => async () =>
      (await latest(a)) === (await latest(b)) ? true : undefined;
    await until('the mirror to catch up', isEven(mirror, storage));
    expect(asked).toEqual([]);

    const before = await latest(storage);
    await payOnce();
    await until('a new block', async () => ((await latest(storage)) === before ? undefined : true));
    await until('the mirror to follow', isEven(mirror, storage));
    await whenReady(mirror);

    const second = await network.add('second', 'storage', { ...outsider, 'peers.storage': mirror.peerAddress });
    await until('a copy of the copy', isEven(second, storage));
  } finally {
    await forger.stop();
  }
});
