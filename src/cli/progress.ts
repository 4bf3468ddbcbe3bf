/** Shows how far a long task is: one line that is written over on a terminal, a line every few seconds elsewhere. */

import type { Clock } from '../lib/clock.js';
import type { CliContext } from './command.js';

const TERMINAL_MS = 100;
const LOG_MS = 5_000;

export interface Progress {
  /** `total` is undefined while it is not known. */
  update(done: number, total?: number): void;
  /** Ends the line on a terminal. */
  end(): void;
}

/** Progress of the task, on the error stream, so that results can be piped. */
export function createProgress(task: string, unit: string, { stderr }: CliContext, clock: Clock): Progress {
  const startedAt = clock.monotonic();
  const pause = stderr.isTTY === true ? TERMINAL_MS : LOG_MS;
  let shownAt = startedAt;
  let shown = false;
  return {
    update(done, total) {
      const now = clock.monotonic();
      if (now - shownAt < pause) return;
      shownAt = now;
      shown = true;
      const line = progressLine(task, unit, done, total, (now - startedAt) / 1_000);
      stderr.write(stderr.isTTY === true ? `\r\u001b[K${line}` : `${line}\n`);
    },
    end() {
      if (shown && stderr.isTTY === true) stderr.write('\r\u001b[K');
    },
  };
}

function progressLine(task: string, unit: string, done: number, total: number | undefined, seconds: number): string {
  const rate = done / Math.max(seconds, 0.001);
  const pace = `${Math.round(rate)} ${unit}/s`;
  if (total === undefined || total === 0) return `${task}: ${done} ${unit}, ${pace}`;
  const left = Math.ceil((total - done) / Math.max(rate, 0.001));
  return `${task}: ${Math.floor((100 * done) / total)} %, ${done} of ${total} ${unit}, ${pace}, ${left} s left`;
}
