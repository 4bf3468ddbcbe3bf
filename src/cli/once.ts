/** Calls that take effect once even if an answer is lost: the request is repeated with its idempotency key. */

import { randomUUID } from 'node:crypto';
import type { Operation, Result } from '../api/operation.js';
import { callOnce } from '../client/call-once.js';
import type { CallArguments } from '../client/client.js';
import { systemClock } from '../lib/clock.js';
import { pause } from '../lib/pause.js';
import { printable } from '../lib/printable.js';
import { type CliContext, type FlagSpec, flag, type ParsedArgs } from './command.js';
import type { CommandClient } from './command-client.js';

export const IDEMPOTENCY_KEY_FLAG: FlagSpec = flag(
  '--idempotency-key KEY',
  'Name of the request: with the same KEY it is done only once, however often the command runs. Default: a new key ' +
    'for each run.',
);

/** Calls an operation that takes an idempotency key until its answer comes, or it is too late. */
export async function doOnce<O extends Operation>(
  operation: O,
  call: CallArguments<O>,
  client: CommandClient,
  { args, context: { stderr, writes } }: { readonly args: ParsedArgs; readonly context: CliContext },
): Promise<Result<O>> {
  const key = args.value(IDEMPOTENCY_KEY_FLAG.name) ?? randomUUID();
  const flag = `--${IDEMPOTENCY_KEY_FLAG.name} ${key}`;
  writes.advice = `repeat the command with ${flag}, or look at tessera wallet history`;
  const asking = callOnce(client, operation, call, {
    key,
    limitMs: client.limitMs,
    clock: systemClock,
    pause,
    onRepeat: ({ message }) => {
      stderr.write(`no answer (${printable(message)}): asking again; it is done only once (${flag})\n`);
    },
  });
  return writes.answer(asking);
}
