/** A stranger offers a storage process blocks of its own making (SECURITY.md, who may tell whom what). */

import { afterEach, expect, it } from 'vitest';
import { encodeFullBlock } from '../../src/chain/codec.js';
import { createDeferred } from '../../src/lib/deferred.js';
import { readGenesis } from '../../src/node/genesis-file.js';
import type { Reply } from '../../src/peers/network.js';
import { joinBlocks } from '../../src/storage/blocks/full-block.js';
import { createNetwork, type Network } from '../support/processes.js';
import { createTestChain } from '../support/storage/test-chain.js';
import { createStranger, PUBLIC } from './stranger.js';

let network: Network | undefined;
afterEach(() => network?.stopAll());

it('a storage node takes no block from a storage node without network.secret', async () => {
  network = await createNetwork();
  const storage = await network.add('storage', 'storage');
  // Well-formed, with a proof of work, and the second with payments that nobody signed.
  const chain = createTestChain(0, await readGenesis(PUBLIC.genesisFile));
  const blocks = [chain.add(), chain.add()].map(encodeFullBlock);

  const liar = await createStranger('storage');
  const taken = createDeferred<string>();
  liar.handle('chain.tip.get', (): Reply => ({ type: 'chain.tip', body: { next: blocks.length, hash: null } }));
  liar.handle('chain.tip', (_link, { body }) => {
    if (body.next === blocks.length) taken.resolve('the forged blocks were stored');
    return undefined;
  });
  liar.handle('blocks.get', (_link, { body }): Reply => {
    const answer = blocks.slice(body.from);
    return { type: 'blocks', body: { from: body.from, count: answer.length }, attachment: joinBlocks(answer) };
  });
  await liar.start();
  const refused = liar.dial(storage.peerAddress, { timeoutMs: 5_000 }).then(
    () => taken.promise,
    (error: unknown) => String(error),
  );
  expect(await refused).toMatch(/network\.secret/);
  expect((await fetch(`${storage.apiUrl}/v1/blocks/latest`)).status).toBe(404);
  await liar.stop();
});
