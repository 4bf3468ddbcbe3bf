/**
 * For `--import` of a node: writes, each second, the longest turn of its event loop in processor time of its main thread, so
 * that other work on the machine does not count, to the file that BENCH_TURNS names.
 */

import { appendFileSync, openSync, readSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

/** Milliseconds between two looks: the least of a turn that is seen, and how much too long one may look. */
const LOOK_EVERY = 4;
const WRITE_EVERY = 1_000;

const file = process.env.BENCH_TURNS;

if (isMainThread && file !== undefined) {
  const times = openSync(`/proc/self/task/${process.pid}/schedstat`);
  const text = Buffer.alloc(64);
  const used = () => Number.parseInt(text.latin1Slice(0, readSync(times, text, 0, text.length, 0)), 10) / 1e6;
  let last = used();
  let longest = 0;
  setInterval(() => {
    const now = used();
    longest = Math.max(longest, now - last);
    last = now;
  }, LOOK_EVERY).unref();
  setInterval(() => {
    appendFileSync(file, `${Date.now()} ${longest.toFixed(1)}\n`);
    longest = 0;
  }, WRITE_EVERY).unref();
}
