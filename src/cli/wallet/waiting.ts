/** Shows on the error stream that something takes longer than a second. */

import type { Clock, Timer } from '../../lib/clock.js';
import type { CliContext } from '../command.js';

/** Milliseconds until the first message, and between messages on a terminal and elsewhere. */
const FIRST = 1_000;
const ON_TERMINAL = 1_000;
const ELSEWHERE = 5_000;

/** Waits for the result; after a second, shows `task: 3 s`. */
export async function whileWaiting<T>(
  task: string,
  work: Promise<T>,
  { stderr }: Pick<CliContext, 'stderr'>,
  clock: Clock,
): Promise<T> {
  const started = clock.monotonic();
  const onTerminal = stderr.isTTY === true;
  let shown = false;
  let timer: Timer;
  const show = (): void => {
    shown = true;
    const text = `${task}: ${Math.round((clock.monotonic() - started) / 1_000)} s`;
    stderr.write(onTerminal ? `\r\u001b[K${text}` : `${text}\n`);
    timer = clock.after(onTerminal ? ON_TERMINAL : ELSEWHERE, show);
  };
  timer = clock.after(FIRST, show);
  try {
    return await work;
  } finally {
    timer.cancel();
    if (shown && onTerminal) stderr.write('\r\u001b[K');
  }
}
