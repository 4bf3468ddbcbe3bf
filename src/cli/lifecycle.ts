/**
 * Runs a service until something ends it: a first SIGINT or SIGTERM stops it within five seconds, a second one at once; a fatal error is
 * reported. When nobody reads the log any more, that is an error too: a supervisor starts the process again, with a log.
 */

import { fileError } from '../db/database-error.js';
import { createDeferred } from '../lib/deferred.js';
import { errorMessage, isTesseraError, TesseraError } from '../lib/errors.js';
import { stringifyExact } from '../lib/json.js';
import { printable, printableJson } from '../lib/printable.js';
import type { Service } from '../lib/service.js';
import type { HasLogger } from '../observability/modules.js';
import { type CliContext, onStopSignal } from './command.js';

const STOP_TIMEOUT_MS = 5_000;

const MAX_LINE = 4_000;

const SIGNAL_EXITS = { SIGINT: 130, SIGTERM: 143 } as const;

type Ending = { readonly kind: 'signal' } | { readonly kind: 'failure'; readonly error: unknown };

export interface LifecycleModules extends HasLogger {
  readonly context: CliContext;
  readonly onReady?: () => void;
  readonly stopTimeoutMs?: number;
}

/** Starts, waits for the end, stops. Resolves with the exit status: 0 after a signal, 1 after a failure. */
export async function runUntilStopped(running: Service, modules: LifecycleModules): Promise<number> {
  const { logger, context, onReady } = modules;
  const ended = createDeferred<Ending>();
  const fail = (error: unknown) => ended.resolve({ kind: 'failure', error });
  const removers = [
    listenForSignals(context, () => {
      logger.info({}, 'stopping; a second signal ends the process at once');
      ended.resolve({ kind: 'signal' });
    }),
    context.onReaderGone?.(() => fail(new TesseraError('write_failed', 'the log of the node is no longer read'))),
  ];
  running.failed.catch(fail);
  try {
    running.start().then(() => onReady?.(), fail);
    const ending = await ended.promise;
    if (ending.kind === 'failure') reportFailure(ending.error, 'the node cannot go on', modules);
    const stopped = await stopInTime(running, modules);
    return ending.kind === 'signal' && stopped ? 0 : 1;
  } finally {
    for (const remove of removers) remove?.();
  }
}

function listenForSignals(context: CliContext, onFirst: () => void): () => void {
  let seen = false;
  return onStopSignal(context, (signal) => {
    if (seen) context.exit(SIGNAL_EXITS[signal]);
    else onFirst();
    seen = true;
  });
}

async function stopInTime(
  running: Service,
  { logger, stopTimeoutMs = STOP_TIMEOUT_MS }: LifecycleModules,
): Promise<boolean> {
  const late = createDeferred<never>();
  // A timer of `Clock` would not keep the process alive, and this one must end in real time.
  const timer = setTimeout(() => {
    late.reject(new TesseraError('internal_error', `the node did not stop within ${stopTimeoutMs} ms`));
  }, stopTimeoutMs);
  try {
    await Promise.race([running.stop(), late.promise]);
    return true;
  } catch (error) {
    logger.error({ error }, 'not stopped cleanly');
    return false;
  } finally {
    clearTimeout(timer);
  }
}

/** Prints the error with its code for the person who started the node, then writes a log line, unless that person reads both. */
export function reportFailure(
  error: unknown,
  message: string,
  { logger, context }: Pick<LifecycleModules, 'logger' | 'context'>,
): void {
  // The file may be one of the program: opening it fails too when the process has too many files open.
  const named = fileError(error);
  printFailure(named, context);
  const { stdout, stderr } = context;
  if (stdout.isTTY !== true || stderr.isTTY !== true) logger.error(errorFields(named), message);
}

/** An error as log fields. Errors with a code are expected, so their stack is of no use to an operator. */
export function errorFields(error: unknown): object {
  if (!isTesseraError(error)) return { error };
  const details = Object.keys(error.details).length === 0 ? {} : { details: error.details };
  const cause = error.cause === undefined ? {} : { cause: errorMessage(error.cause) };
  return { code: error.code, error: error.message, ...details, ...cause };
}

/** The line for an error, `tessera: data_dir_locked: Another process …`; what others wrote into the message is shown as text. */
export function failureText(error: unknown): string {
  return `tessera: ${codeOf(error)}: ${detailOf(error)}`;
}

/** The JSON for an error, `{"code":"data_dir_locked","detail":"Another …","hint":null}`; `hint` is the command to run next, if there is one. */
export function failureJson(error: unknown, hint: string | null = null): string {
  return printableJson(stringifyExact({ code: codeOf(error), detail: detailOf(error), hint }));
}

/** Tells an error on the error stream: a text for people, or with --json one line for programs (docs/cli.md#errors). */
export function printFailure(error: unknown, { stderr, json = false }: Pick<CliContext, 'stderr' | 'json'>): void {
  stderr.write(`${json ? failureJson(error) : failureText(error)}\n`);
}

function codeOf(error: unknown): string {
  return isTesseraError(error) ? error.code : 'internal_error';
}

function detailOf(error: unknown): string {
  const lines = errorMessage(error).split('\n');
  return lines.map((line) => printable(line, MAX_LINE)).join('\n');
}
