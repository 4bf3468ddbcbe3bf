/** Bytes of the heap that are in use, garbage left out. */

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** Collections at most; and bytes by which two may differ that say the same. */
const MAX_COLLECTIONS = 12;
const SAME = 256 * 1024;

/**
 * One collection does not find everything: what was let go of in this turn is still on the stack, and what has a finalizer
 * goes with the next. So it collects, a turn apart each time, until there is nothing more to find.
 */
export async function liveHeap(): Promise<number> {
  let last = Number.POSITIVE_INFINITY;
  for (let collections = 0; collections < MAX_COLLECTIONS; collections++) {
    await new Promise((resolve) => setTimeout(resolve, 10));
    collect();
    const used = process.memoryUsage().heapUsed;
    if (used > last - SAME) return Math.min(used, last);
    last = used;
  }
  return last;
}
