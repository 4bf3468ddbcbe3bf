/** What is alive in this process, garbage left out. */

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** Bytes of live buffers. */
export function liveBufferBytes(): number {
  collectGarbage();
  return process.memoryUsage().arrayBuffers;
}

/** Uses up the pool that Node.js cuts small Buffers from, as a busy node does between two of them. */
export function useUpBufferPool(): void {
  for (let taken = 0; taken < Buffer.poolSize; taken += 1_024) Buffer.allocUnsafe(1_024);
}
