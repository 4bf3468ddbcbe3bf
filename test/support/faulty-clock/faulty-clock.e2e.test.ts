/** The faulty clock itself: what tests that use it rely on. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { expect, it } from 'vitest';
import { canPreload } from '../preload-library.js';
import { FaultyClock } from './faulty-clock.js';

const DAY_MS = 86_400_000;
/** Milliseconds: the process tells its time within this. */
const CLOSE = 60_000;

it.runIf(canPreload)('jumps while the process runs; monotonic time goes on', async () => {
  const clock = await FaultyClock.create();
  const script = `process.stdin.on('data', () => console.log(Date.now(), performance.now()))`;
  const child = spawn(process.execPath, ['-e', script], { env: { ...process.env, ...clock.environment() } });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const read = async (): Promise<[ahead: number, monotonic: number]> => {
    child.stdin.write('?\n');
    const [time = 0, monotonic = 0] = String((await lines.next()).value)
      .split(' ')
      .map(Number);
    return [time - Date.now(), monotonic];
  };
  try {
    for (const days of [0, 1, -400, 0]) {
      await clock.set(days * DAY_MS);
      const [ahead, monotonic] = await read();
      expect(Math.abs(ahead - days * DAY_MS)).toBeLessThan(CLOSE);
      expect(monotonic).toBeLessThan(CLOSE);
    }
  } finally {
    child.kill();
    await once(child, 'close');
    await clock.remove();
  }
});
