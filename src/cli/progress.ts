/** Shows the progress of a command, on the error stream so that results can be piped. */

import type { Clock } from '../lib/clock.js';
import { Progress } from '../observability/progress.js';
import type { CliContext } from './command.js';

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
