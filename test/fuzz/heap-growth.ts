/** Whether a target holds on to something of each input: its live heap is measured while it still stands. */

import { type FuzzOptions, type FuzzReport, fuzz } from './fuzzer.js';
import { liveHeap } from './live-heap.js';
import type { FuzzTarget } from './target.js';

const MIB = 1024 * 1024;
/** Runs before the heap is measured for the first time: by then all code is compiled, and caches have something in them. */
const WARM_UP = 1_000;
/** MiB that the live heap may grow by in a run, whatever its length: caches that fill. */
export const MAX_GROWTH = 16;

export interface HeapReport extends FuzzReport {
  /** MiB by which the live heap has grown since the warm-up. */
  readonly growth: number;
}

/** Fuzzes, and measures. The target is not closed: what it would let go of then counts. */
export async function fuzzAndMeasure(target: FuzzTarget, { runs, seed, ...limit }: FuzzOptions): Promise<HeapReport> {
  const warmUp = limit.maxMs === undefined ? {} : { maxMs: limit.maxMs / 4 };
  await fuzz(target, { runs: Math.min(runs, WARM_UP), seed: seed + 1, ...warmUp });
  const before = await liveHeap();
  const report = await fuzz(target, { runs, seed, ...limit });
  return { ...report, growth: ((await liveHeap()) - before) / MIB };
}
