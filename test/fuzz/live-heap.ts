/** Bytes of the heap that are in use, garbage left out. */

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

export function liveHeap(): number {
  collect();
  return process.memoryUsage().heapUsed;
}
