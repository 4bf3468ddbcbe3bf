/** The longest turn of the event loop, in processor time of the main thread, so that other work on the machine does not count. */

import { existsSync, readFileSync } from 'node:fs';

const FILE = `/proc/self/task/${process.pid}/schedstat`;

/** Milliseconds of processor time that the main thread has had; always 0 where the system does not tell. */
export function threadTime(): number {
  return existsSync(FILE) ? Number(readFileSync(FILE, 'latin1').split(' ')[0]) / 1e6 : 0;
}

/** Milliseconds of the longest turn until the result is called; 0 where the system does not tell. */
export function measureTurns(): () => number {
  const used = threadTime;
  let running = true;
  let longest = 0;
  let last = used();
  const turn = (): void => {
    const now = used();
    longest = Math.max(longest, now - last);
    last = now;
    if (running) setImmediate(turn);
  };
  setImmediate(turn);
  return () => {
    running = false;
    return longest;
  };
}
