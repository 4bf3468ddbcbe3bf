/** Shows on the error stream that something takes longer than a second. */

import { type Clock, systemClock, type Timer } from '../../lib/clock.js';
import type { CliProcess } from '../command.js';

/** Milliseconds until the first message, and between messages on a terminal and elsewhere. */
const FIRST = 1_000;
const ON_TERMINAL = 1_000;
const ELSEWHERE = 5_000;

export interface Waiting {
  readonly clock: Clock;
  /** Milliseconds after which the work gives up. */
  readonly limitMs?: number;
}

/** Waits for the result; after a second, shows `task: 3 s`, and of how many. */
export async function whileWaiting<T>(
  task: string,
  work: Promise<T>,
  { stderr }: Pick<CliProcess, 'stderr'>,
  { clock, limitMs }: Waiting = { clock: systemClock },
): Promise<T> {
  const limit = limitMs === undefined ? '' : ` of ${Math.round(limitMs / 1_000)} s`;
  const started = clock.monotonic();
  const onTerminal = stderr.isTTY === true;
  let shown = false;
  let timer: Timer;
  const show = (): void => {
    shown = true;
    const text = `${task}: ${Math.round((clock.monotonic() - started) / 1_000)} s${limit}`;
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
