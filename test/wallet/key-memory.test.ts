import { expect, it } from 'vitest';
import { liveGrowthOf } from '../support/live-memory.js';

it('a new key keeps no more memory than its own: no pool that a small Buffer was cut from', async () => {
  // A sealed key has about 120 bytes; a pool has 8 KiB.
  expect(await liveGrowthOf(new URL('./make-addresses.ts', import.meta.url))).toBeLessThan(200 * 1_024);
});
