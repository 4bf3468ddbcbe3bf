/** Trades that come to nothing: large ones that are refused again and again, at once and in parts, to fill the journal. */

import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { tokenAsset } from '../../../src/chain/assets.js';
import { txOut } from '../../../src/chain/builders.js';
import type { Transaction } from '../../../src/chain/types.js';
import { folderSize } from '../../../src/db/disk-room.js';
import type { Arena } from '../arena.js';
import { type Attack, mustBe } from '../attack.js';
import { createPeer } from '../stranger.js';
import { devAccount, freshAddress, spendOf, submitByLink } from '../submit.js';

const TRADES = 40;
/** Bytes of a DRUID, as text that no database makes smaller. */
const DRUID = 375_000;
const LONG = randomBytes(DRUID).toString('base64');
/** What the journal may grow by: halves have their share, and blocks are made meanwhile. */
const MAX_GROWTH = 48 * 1024 * 1024;

/** A payment that nobody loses anything by: it is in a trade that never happens. */
function unmet(druid: string, participants: bigint): Transaction {
  const expectations = [{ from: 'a', to: 'b', asset: tokenAsset(1n) }];
  const payment = spendOf(devAccount(9), [txOut(tokenAsset(1n), freshAddress())]);
  return { ...payment, druidInfo: { druid: druid + LONG, participants, expectations, genesisHash: null } };
}

async function spoil({ mempool, scale }: Arena): Promise<void> {
  const journal = join(mempool.folder, 'db', 'journal');
  const before = await folderSize(journal);
  const user = await createPeer('user');
  user.handle('block.mined', () => undefined);
  try {
    const link = await user.dial(mempool.peerAddress, { timeoutMs: 10_000 });
    const whole = unmet('whole', 1n);
    for (let i = 0; i < TRADES * scale; i++) {
      const code = await submitByLink(link, [whole]);
      mustBe(code === 'transaction_rejected', `a trade that cannot happen: ${code || 'admitted'}`);
    }
    const codes = new Set<string>();
    for (let i = 0; i < TRADES * scale; i++) {
      for (const n of [1n, 2n]) codes.add(await submitByLink(link, [{ ...unmet(`part ${i}`, 2n), version: n }]));
    }
    codes.delete('');
    for (const code of codes)
      mustBe(['transaction_rejected', 'double_spend', 'overloaded'].includes(code), `a half: ${code}`);
  } finally {
    await user.stop();
  }
  const grown = (await folderSize(journal)) - before;
  mustBe(grown < MAX_GROWTH, `the journal has grown by ${grown} bytes`);
}

export const spoiledTrades: Attack = {
  name: 'large trades that never happen',
  byHand: true,
  run: spoil,
};
