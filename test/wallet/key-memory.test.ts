import { afterAll, describe, expect, it } from 'vitest';
import { liveBufferBytes, useUpBufferPool } from '../support/live-memory.js';
import { newWallet, removeFolders } from '../support/wallet-fixtures.js';

afterAll(removeFolders);

describe('the memory of new keys', () => {
  it('is theirs alone: a small Buffer that is kept does not keep the pool that it was cut from', async () => {
    const { wallet, close } = await newWallet();
    const before = liveBufferBytes();
    for (let i = 0; i < 200; i++) {
      await wallet.newAddress();
      useUpBufferPool();
    }
    // A sealed key has about 120 bytes; a pool has 8 KiB.
    expect(liveBufferBytes() - before).toBeLessThan(200 * 1_024);
    await close();
  });
});
