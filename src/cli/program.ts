/** The process around the command line: its streams and signals, and its end when an invariant is broken. */

import { errorMessage } from '../lib/errors.js';
import { armFailpoint } from '../lib/failpoints.js';
import type { CliContext } from './command.js';
import { runCli } from './run.js';

const context: CliContext = {
  // Opened only when asked for: a node has no use for it.
  get stdin() {
    return process.stdin;
  },
  stdout: process.stdout,
  stderr: process.stderr,
  env: process.env,
  onSignal(signal, listener) {
    process.on(signal, listener);
    return () => process.off(signal, listener);
  },
  exit: (code) => process.exit(code),
};

/** What nobody caught is a broken invariant: the state in memory is not to be trusted, what is on disk is. */
function onBrokenInvariant(kind: string, error: unknown): void {
  const stack = error instanceof Error ? error.stack : undefined;
  const entry = { level: 50, time: Date.now(), code: 'internal_error', kind, error: errorMessage(error), stack };
  process.stderr.write(`${JSON.stringify({ ...entry, msg: 'broken invariant: the process ends' })}\n`);
  process.exit(1);
}

// What the program writes is its owner's: LevelDB, too, makes its files with what is left by this.
process.umask(0o077);
// Node opens its inspector at SIGUSR1, to whoever can send a signal. A listener takes the place of that.
process.on('SIGUSR1', () => undefined);
process.on('uncaughtException', (error) => onBrokenInvariant('uncaughtException', error));
process.on('unhandledRejection', (error) => onBrokenInvariant('unhandledRejection', error));
// A reader that went away (`tessera config | head`) is no failure of ours.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0);
});

const note = armFailpoint(process.env);
if (note !== undefined) process.stderr.write(`tessera: ${note}\n`);

const status = await runCli(process.argv.slice(2), context);
// A node that did not stop in time may hold sockets and timers: the process ends either way, its output written first.
process.stdout.write('', () => process.exit(status));
