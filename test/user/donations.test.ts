/** What came of asking for a donation is told and kept (docs/wallet.md#donations). */

import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { prefixRange } from '../../src/db/keys.js';
import { DonationRequests } from '../../src/wallet/donation-requests.js';
import { PREFIX } from '../../src/wallet/layout.js';
import { WriteBuffer } from '../../src/wallet/write-buffer.js';
import { ManualClock } from '../support/manual-clock.js';
import { MemoryKv } from '../support/memory-kv.js';
import { createTestNet, richUser, type TestNet, type TestUser, until } from '../support/user.js';
import { removeFolders } from '../support/wallet-fixtures.js';

let net: TestNet;

beforeEach(async () => {
  net = await createTestNet();
});
afterEach(() => net.stop());
afterAll(removeFolders);

const toldTo = ({ user }: TestUser) =>
  user.donationRequests(10).map(({ peer, outcome, reason }) => [peer, outcome, reason]);

describe('who has asked a peer for a donation', () => {
  it('is told whether the peer gives or declines, also after a restart', async () => {
    const giver = await richUser(net, [100n], { donationAmount: 5n });
    const miser = await richUser(net, [100n]);
    const asker = await net.user();
    await asker.user.requestDonation(giver.address);
    await asker.user.requestDonation(miser.address);
    await asker.user.requestDonation(giver.address);
    await asker.user.requestDonation(giver.address);
    const told = [
      [giver.address, 'declined', 'no more donations today'],
      [giver.address, 'accepted', ''],
      [miser.address, 'declined', 'this node gives no donations'],
      [giver.address, 'accepted', ''],
    ];
    expect(toldTo(asker)).toEqual(told);
    await asker.stop();
    const again = await net.user({ folder: asker.folder });
    expect(toldTo(again)).toEqual(told);
    expect(again.user.donationRequests(1)).toMatchObject([{ number: 3, outcome: 'declined' }]);
  });

  it('is told once for an Idempotency-Key, however often the request is repeated', async () => {
    const miser = await richUser(net, [100n]);
    const asker = await net.user();
    for (let i = 0; i < 3; i++) await asker.user.requestDonation(miser.address, { idempotencyKey: 'one' });
    expect(toldTo(asker)).toEqual([[miser.address, 'declined', 'this node gives no donations']]);
  });

  it('is told that there was no answer, and that it may be paid all the same', async () => {
    const mute = net.stranger('user', 12_399);
    let isAsked = false;
    mute.handle('donation.request', () => {
      isAsked = true;
      return new Promise<never>(() => undefined);
    });
    await mute.start();
    const asker = await net.user();
    const asked = asker.user.requestDonation(mute.address);
    // The time limit of ten seconds ends it as the end of the link does.
    const failed = expect(asked).rejects.toMatchObject({ code: 'peer_unreachable' });
    await until(() => isAsked);
    for (const link of mute.links) link.close('as the test wants');
    await failed;
    expect(toldTo(asker)).toEqual([
      [mute.address, 'unanswered', expect.stringContaining('it may give the donation all the same')],
    ]);
  });

  it('is told nothing that a peer has made long, and nothing of those that were not reached', async () => {
    const talker = net.stranger('user', 12_399);
    talker.handle('donation.request', () => ({
      type: 'donation.reply',
      body: { accepted: false, reason: 'no'.repeat(500) },
    }));
    await talker.start();
    const asker = await net.user();
    await asker.user.requestDonation(talker.address);
    await expect(asker.user.requestDonation('127.0.0.1:9')).rejects.toMatchObject({ code: 'peer_unreachable' });
    expect(toldTo(asker)).toEqual([[talker.address, 'declined', 'no'.repeat(128)]]);
  });
});

describe('the requests that are kept', () => {
  it('are the last thousand, on disk too', async () => {
    const kv = new MemoryKv();
    const modules = { kv, writes: new WriteBuffer(kv), clock: new ManualClock() };
    const requests = await DonationRequests.open(modules);
    for (let i = 0; i < 1_003; i++) await requests.note(`127.0.0.1:${i}`, 'declined', '');
    const again = await DonationRequests.open(modules);
    for (const one of [requests, again]) {
      expect(one.list(5_000)).toHaveLength(1_000);
      expect(one.list(1)).toMatchObject([{ number: 1_002, peer: '127.0.0.1:1002' }]);
    }
    await again.note('127.0.0.1:9', 'accepted', '');
    expect(again.list(1)).toMatchObject([{ number: 1_003 }]);
    let records = 0;
    for await (const _ of kv.entries(prefixRange(PREFIX.donationRequest))) records += 1;
    expect(records).toBe(1_000);
    await kv.close();
  });
});
