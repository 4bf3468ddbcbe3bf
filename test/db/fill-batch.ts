/** Puts 50,000 small records into a batch and prints by how many bytes its memory, objects and buffers, is more than their own bytes. */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { PendingBatch } from '../../src/db/record.js';

const WRITES = 50_000;
const KEY_BYTES = 33;
const VALUE_BYTES = 60;

async function liveBytes(): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let i = 0; i < 10; i++) {
    globalThis.gc?.();
    await nextTurn();
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    least = Math.min(least, heapUsed + arrayBuffers);
  }
  return least;
}

const before = await liveBytes();
const batch = new PendingBatch();
for (let i = 0; i < WRITES; i++) {
  const key = Buffer.alloc(KEY_BYTES, i % 200);
  batch.put(key, Buffer.alloc(VALUE_BYTES, i));
}
const after = await liveBytes();
if (batch.size !== WRITES) throw new Error('the batch has lost something');
process.stdout.write(`${after - before - WRITES * (KEY_BYTES + VALUE_BYTES)}`);
