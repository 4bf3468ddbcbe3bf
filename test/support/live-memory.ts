/**
 * How much memory live buffers take after some work. The work runs in a process of its own: in the test runner's process its
 * own buffers come and go.
 */

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { builtScript } from './built-script.js';

const run = promisify(execFile);

/** Runs a script that prints `liveGrowth()`; gives that number of bytes. */
export async function liveGrowthOf(script: URL): Promise<number> {
  const { stdout } = await run(process.execPath, ['--expose-gc', await builtScript(script)]);
  return Number(stdout);
}
