/** Commands that do something once, though an answer is lost: they repeat the request with its idempotency key. */

import { randomUUID } from 'node:crypto';
import type { Operation, Result } from '../api/operation.js';
import { callOnce } from '../client/call-once.js';
import type { CallArguments, NodeClient } from '../client/client.js';
import { UnknownOutcome } from '../client/repeat.js';
import { systemClock } from '../lib/clock.js';
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
  try {
    return await callOnce(client, operation, call, {
      key,
      forMs: REPEATED_FOR,
      clock: systemClock,
      // Not with a `Clock`, whose timers do not keep the process alive.
      pause: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
      onRepeat: ({ message }) => {
        context.stderr.write(`no answer (${printable(message)}): asking again, which does it once (${flag})\n`);
      },
    });
  } catch (error) {
    if (!(error instanceof UnknownOutcome)) throw error;
    const what = `${error.message}; it is not known whether it was done`;
    throw new ExitError(
      UNKNOWN,
      error.code,
      `${what}: repeat the command with ${flag}, or look at tessera wallet history`,
    );
  }
}
