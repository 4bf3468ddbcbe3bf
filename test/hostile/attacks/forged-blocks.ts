/** Offers an archive blocks that nobody else has made. */

import { readGenesis } from '../../../src/node/genesis-file.js';
import { joinBlocks } from '../../../src/peers/messages.js';
import type { Reply } from '../../../src/peers/network.js';
import { encodeFullBlock } from '../../support/full-block.js';
import { createTestChain } from '../../support/storage/test-chain.js';
import type { Arena } from '../arena.js';
import { type Attack, mustBe } from '../attack.js';
import { createPeer, PUBLIC } from '../stranger.js';

const HEIGHT = 4;

async function offerBlocks({ storage }: Arena): Promise<void> {
  // Well-formed, each with a proof of work, and payments that nobody has signed.
  const chain = createTestChain(0, await readGenesis(PUBLIC.genesisFile));
  const blocks = Array.from({ length: HEIGHT }, () => encodeFullBlock(chain.add()));
  const liar = await createPeer('storage');
  let asked = 0;
  liar.handle('chain.tip.get', (): Reply => ({ type: 'chain.tip', body: { next: 1_000_000, hash: null } }));
  liar.handle('chain.tip', () => undefined);
  liar.handle('blocks.get', (_link, { body }): Reply => {
    asked += 1;
    const answer = blocks.slice(body.from % HEIGHT);
    return { type: 'blocks', body: { from: body.from, count: answer.length }, attachment: joinBlocks(answer) };
  });
  await liar.start();
  try {
    const link = await liar.dial(storage.peerAddress, { timeoutMs: 5_000 });
    link.send('chain.tip', { next: 1_000_000, hash: `b${'0'.repeat(64)}` });
    // Messages are handled in order: with this answer the one before has been judged.
    await link.request('chain.tip.get', {}, { timeoutMs: 5_000 });
    mustBe(asked === 0, 'the archive asked a stranger for blocks that no producer has signed for');
  } finally {
    await liar.stop();
  }
}

export const forgedBlocks: Attack = { name: 'forged blocks from a storage node without the secret', run: offerBlocks };
