/** The process around the command line: its streams and signals, and its end when an invariant breaks. */

import { errorMessage, TesseraError } from '../lib/errors.js';
import { armFailpoint } from '../lib/failpoints.js';
import type { CliProcess, Output } from './command.js';
import { printFailure } from './lifecycle.js';
import { runCli } from './run.js';

/** Error that kept a result from standard output; the lines of a node's log are not results. */
let lost: Error | null | undefined;

const stdout: Output = Object.create(process.stdout, {
  write: {
    value: (text: string) =>
      process.stdout.write(text, (error: NodeJS.ErrnoException | null | undefined) => {
        if (error?.code !== 'EPIPE') lost ??= error;
      }),
  },
});

/** Callbacks for the case that nobody reads standard output any more. */
const readerGone = new Set<() => void>();

const context: CliProcess = {
  // Standard input is opened only when a command reads it: a node does not.
  get stdin() {
    return process.stdin;
  },
  stdout,
  stderr: process.stderr,
  env: process.env,
  onSignal(signal, listener) {
    process.on(signal, listener);
    return () => process.off(signal, listener);
  },
  onReaderGone(listener) {
    readerGone.add(listener);
    return () => readerGone.delete(listener);
  },
  onIdle: (listener) => process.once('beforeExit', listener),
  exit: (code) => process.exit(code),
};

/** An uncaught error is a broken invariant: the state in memory cannot be trusted, but that on disk can. */
function onBrokenInvariant(kind: string, error: unknown): void {
  const stack = error instanceof Error ? error.stack : undefined;
  const entry = { level: 50, time: Date.now(), code: 'internal_error', kind, error: errorMessage(error), stack };
  process.stderr.write(`${JSON.stringify({ ...entry, msg: 'broken invariant: the process ends' })}\n`);
  process.exit(1);
}

/** Reports lost output: whoever asked for a result must not take a file without it for one. */
function outputLost(cause: Error): number {
  const error = new TesseraError('write_failed', `the output cannot be written: ${cause.message}`, { cause });
  printFailure(error, { stderr: process.stderr, json: process.argv.includes('--json') });
  return 1;
}

export async function runProgram(): Promise<void> {
  // Only the owner may read what the program writes; this covers the files of LevelDB too.
  process.umask(0o077);
  // By default Node opens its inspector at SIGUSR1. A listener prevents that.
  process.on('SIGUSR1', () => undefined);
  process.on('uncaughtException', (error) => onBrokenInvariant('uncaughtException', error));
  process.on('unhandledRejection', (error) => onBrokenInvariant('unhandledRejection', error));
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') return;
    // A reader that is gone (`tessera config | head`) is no failure of a command; a node, whose log nobody reads any more, handles it.
    if (readerGone.size === 0) process.exit(0);
    for (const listener of readerGone) listener();
  });
  // An error of stderr means that nobody reads it any more: a node must still stop cleanly.
  process.stderr.on('error', () => undefined);

  const note = armFailpoint(process.env);
  if (note !== undefined) process.stderr.write(`tessera: ${note}\n`);

  const status = await runCli(process.argv.slice(2), context);
  // A node that did not stop in time may hold sockets and timers: the process ends all the same, after its output is written.
  process.stdout.write('', () => process.exit(lost && status === 0 ? outputLost(lost) : status));
}
