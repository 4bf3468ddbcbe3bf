/** Long work of a command: its progress, on the error stream so that results can be piped, and its end by a signal. */

import { type Clock, systemClock } from '../lib/clock.js';
import { Progress } from '../observability/progress.js';
import { type CliContext, onStopSignal } from './command.js';

/** Shows the progress of a task: a bar on a terminal, a line every few seconds elsewhere. */
export function startProgress(task: string, unit: string, { stderr }: CliContext, clock: Clock): Progress {
  const progress = new Progress(
    { task, unit },
    stderr.isTTY === true ? { clock, terminal: stderr } : { clock, line: (text) => void stderr.write(`${text}\n`) },
  );
  // The task begins now.
  progress.update(0);
  return progress;
}

/** Does the work with a signal that SIGINT and SIGTERM abort. */
export async function interruptible<T>(context: CliContext, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const abort = new AbortController();
  const remove = onStopSignal(context, () => abort.abort());
  return work(abort.signal).finally(remove);
}

export interface LongWork {
  readonly signal: AbortSignal;
  readonly onProgress: (done: number, total: number) => void;
}

/** The same for work that shows how far it is. */
export function withProgress<T>(
  [task, unit]: readonly [task: string, unit: string],
  context: CliContext,
  work: (long: LongWork) => Promise<T>,
): Promise<T> {
  return interruptible(context, async (signal) => {
    const progress = startProgress(task, unit, context, systemClock);
    return work({ signal, onProgress: (done, total) => progress.update(done, total) }).finally(() => progress.end());
  });
}
