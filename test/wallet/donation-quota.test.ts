/** How many donations are paid on a day, and what of them is kept. */

import { describe, expect, it } from 'vitest';
import { prefixRange } from '../../src/db/keys.js';
import type { Kv } from '../../src/db/kv.js';
import { DonationQuota } from '../../src/wallet/donation-requests.js';
import { PREFIX } from '../../src/wallet/layout.js';
import { WriteBuffer } from '../../src/wallet/write-buffer.js';
import { ManualClock } from '../support/manual-clock.js';
import { MemoryKv } from '../support/memory-kv.js';

const limits = { perPeerPerDay: 2, perDay: 5 };

async function open(kv: Kv, clock = new ManualClock()) {
  const writes = new WriteBuffer(kv);
  const quota = await DonationQuota.open(kv, writes, clock);
  return { quota, writes };
}

async function recordsOf(kv: Kv): Promise<number> {
  let count = 0;
  for await (const _ of kv.entries(prefixRange(PREFIX.donation))) count++;
  return count;
}

describe('the donations of a day', () => {
  it('are limited for each peer and for all together, over restarts too', async () => {
    const kv = new MemoryKv();
    const { quota, writes } = await open(kv);
    expect([1, 2, 3].map(() => quota.take('one', limits))).toEqual([true, true, false]);
    await writes.flush();
    const { quota: again } = await open(kv);
    expect(again.take('one', limits)).toBe(false);
    expect(['a', 'b', 'c', 'd'].map((peer) => again.take(peer, limits))).toEqual([true, true, true, false]);
  });

  it('leave nothing of what was not paid, whoever asked: a stranger has any number of keys', async () => {
    const kv = new MemoryKv();
    const { quota, writes } = await open(kv);
    quota.take('paid', limits);
    await writes.flush();
    for (let i = 0; i < 100; i++) {
      expect(quota.take(`stranger ${i}`, limits)).toBe(true);
      quota.giveBack(`stranger ${i}`);
      await writes.flush();
    }
    expect(await recordsOf(kv)).toBe(1);
  });
});
