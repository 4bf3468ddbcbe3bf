import { expect, it } from 'vitest';
import { liveGrowthOf } from '../support/live-memory.js';

it('keeps within the memory that the cache of answers is given (storage.cache_bytes)', async () => {
  // The cache has 512 KiB. With a pool of 8 KiB behind each small answer, these blocks would fill it three times over.
  expect(await liveGrowthOf(new URL('./fill-cache.ts', import.meta.url))).toBeLessThan(1_024 * 1_024);
});
