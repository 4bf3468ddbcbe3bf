import { expect, it } from 'vitest';
import { liveGrowthOf } from '../support/live-memory.js';

it('keeps what is put into a batch as its bytes, and not as objects', async () => {
  // 40 bytes for each write beside its key and value. Three objects for each would be some 300.
  expect(await liveGrowthOf(new URL('./fill-batch.ts', import.meta.url))).toBeLessThan(50_000 * 40);
});
