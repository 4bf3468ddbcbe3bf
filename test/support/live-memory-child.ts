/** For scripts that `liveGrowthOf` runs. */

import { setImmediate as nextTurn } from 'node:timers/promises';

/** Number of garbage collections: buffers are freed an iteration or two of the event loop after their owners. */
const COLLECTIONS = 10;

/** Bytes of live buffers, without garbage. */
async function liveBufferBytes(): Promise<number> {
  if (globalThis.gc === undefined) throw new Error('run with --expose-gc');
  let least = Number.POSITIVE_INFINITY;
  for (let i = 0; i < COLLECTIONS; i++) {
    globalThis.gc();
    await nextTurn();
    least = Math.min(least, process.memoryUsage().arrayBuffers);
  }
  return least;
}

/** Uses up the pool that Node.js cuts small Buffers from, as a busy node does between two of them. */
function useUpBufferPool(): void {
  for (let taken = 0; taken < Buffer.poolSize; taken += 1_024) Buffer.allocUnsafe(1_024);
}

/** Does the work once for each item and prints by how many bytes the live buffers have grown. */
export async function printLiveGrowth<T>(items: Iterable<T>, work: (item: T) => Promise<unknown>): Promise<void> {
  const before = await liveBufferBytes();
  for (const item of items) {
    await work(item);
    useUpBufferPool();
  }
  process.stdout.write(`${(await liveBufferBytes()) - before}`);
}
