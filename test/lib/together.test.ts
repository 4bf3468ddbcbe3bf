/** Two things at the same time (`lib/deferred.ts`). */

import { expect, it } from 'vitest';
import { createDeferred, together } from '../../src/lib/deferred.js';

it('gives both results', async () => {
  expect(await together(Promise.resolve(1), Promise.resolve('two'))).toEqual([1, 'two']);
});

it.each(['first', 'second'])('fails with the %s only when the other has ended', async (which) => {
  const other = createDeferred<void>();
  const failing = Promise.reject(new Error('broken'));
  const both = which === 'first' ? together(failing, other.promise) : together(other.promise, failing);
  let isOver = false;
  const outcome = both.catch((error: unknown) => error).finally(() => (isOver = true));
  await new Promise((resolve) => setImmediate(resolve));
  expect(isOver).toBe(false);
  other.resolve();
  expect(await outcome).toEqual(new Error('broken'));
});
