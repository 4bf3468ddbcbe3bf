/** Commands that do something once, though an answer is lost: they repeat the request with its idempotency key. */

import { randomUUID } from 'node:crypto';
import type { Operation, Result } from '../api/operation.js';
import { callOnce } from '../client/call-once.js';
import type { CallArguments, NodeClient } from '../client/client.js';
import { UnknownOutcome } from '../client/repeat.js';
import { systemClock } from '../lib/clock.js';
import { createDeferred } from '../lib/deferred.js';
import { TesseraError } from '../lib/errors.js';
import { printable } from '../lib/printable.js';
import { type CliContext, ExitError, type FlagSpec, type ParsedArgs } from './command.js';

/** Exit status when it is not known whether it was done. */
export const UNKNOWN = 3;
/** Milliseconds after the first lost answer in which it is repeated: time for a node to start again. */
const REPEATED_FOR = 120_000;

export const IDEMPOTENCY_KEY_FLAG: FlagSpec = {
  name: 'idempotency-key',
  value: 'KEY',
  description:
    'Name of the request: with the same KEY it is done once, however often the command is run. Default: a new one for each run.',
};

/** Calls an operation that takes an idempotency key until its answer comes. Throws `ExitError` with status 3. */
export async function doOnce<O extends Operation>(
  operation: O,
  call: CallArguments<O>,
  client: NodeClient,
  { args, context }: { readonly args: ParsedArgs; readonly context: CliContext },
): Promise<Result<O>> {
  const key = args.value(IDEMPOTENCY_KEY_FLAG.name) ?? randomUUID();
  const flag = `--${IDEMPOTENCY_KEY_FLAG.name} ${key}`;
  const advice = `repeat the command with ${flag}, or look at tessera wallet history`;
  const asking = callOnce(client, operation, call, {
    key,
    forMs: REPEATED_FOR,
    clock: systemClock,
    // Not with a `Clock`, whose timers do not keep the process alive.
    pause: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
    onRepeat: ({ message }) => {
      context.stderr.write(`no answer (${printable(message)}): asking again, which does it once (${flag})\n`);
    },
  });
  try {
    const answer = await orInterrupted(asking, context, advice);
    const missing = missingMember(operation, answer);
    if (missing === undefined) return answer;
    throw new UnknownOutcome(
      new TesseraError(
        'node_unreachable',
        `${client.url} does not answer as a node does: its answer has no ${missing}`,
      ),
    );
  } catch (error) {
    if (!(error instanceof UnknownOutcome)) throw error;
    throw new ExitError(UNKNOWN, error.code, `${error.message}; it is not known whether it was done: ${advice}`);
  }
}

/**
 * The result of a request that does something. When SIGINT or SIGTERM comes while it is out, the command ends with status 3, and says
 * how to go on: throws `ExitError` with the advice.
 */
export async function orInterrupted<T>(
  request: Promise<T>,
  { onSignal }: Pick<CliContext, 'onSignal'>,
  advice: string,
): Promise<T> {
  const interrupted = createDeferred<never>();
  const stop = (): void => {
    const what = 'interrupted while the request was out: it is not known whether it was done';
    interrupted.reject(new ExitError(UNKNOWN, 'aborted', `${what}: ${advice}`));
  };
  const removers = (['SIGINT', 'SIGTERM'] as const).map((signal) => onSignal(signal, stop));
  try {
    return await Promise.race([request, interrupted.promise]);
  } finally {
    for (const remove of removers) remove();
  }
}

/** What every answer of the operation has, and this one does not: something else than a node listens there. */
function missingMember({ success }: Operation, answer: unknown): string | undefined {
  const schemas = Object.values(success).flatMap(({ schema }) => schema ?? []);
  if (answer === undefined && schemas.length < Object.keys(success).length) return undefined;
  const required = schemas.map((schema) => (Array.isArray(schema.required) ? schema.required.map(String) : []));
  if (required.length === 0) return undefined;
  const has = (name: string): boolean => typeof answer === 'object' && answer !== null && Object.hasOwn(answer, name);
  return required.some((names) => names.every(has)) ? undefined : required[0]?.find((name) => !has(name));
}
