/** The client of a command: it says whom it waits for, gives up in time, watches writes, and helps with a missing API key. */

import { isRead, type Operation, type Result } from '../api/operation.js';
import { type CallOptions, type CallParameters, type ClientOptions, NodeClient } from '../client/client.js';
import { systemClock } from '../lib/clock.js';
import { isTesseraError, TesseraError } from '../lib/errors.js';
import { type CliContext, type FlagSpec, flag, integerFlag, type ParsedArgs } from './command.js';
import { whileWaiting } from './output.js';

/** Seconds to wait for an answer: it comes late to a passphrase after wrong ones, and to a payment to a peer. */
const DEFAULT_TIMEOUT = 120;
const MAX_TIMEOUT = 86_400;

export const API_KEY_FILE_ENV = 'TESSERA_API_KEY_FILE';
export const API_KEY_FILE = 'api-key';

export const TIMEOUT_FLAG: FlagSpec = flag(
  '--timeout SECONDS',
  `Seconds to wait for an answer. Default: ${DEFAULT_TIMEOUT}.`,
);

export class CommandClient extends NodeClient {
  readonly limitMs: number;
  readonly #context: CliContext;

  constructor(options: ClientOptions, args: ParsedArgs, context: CliContext) {
    super(options);
    this.limitMs = 1_000 * (integerFlag(args, TIMEOUT_FLAG.name, 1, MAX_TIMEOUT) ?? DEFAULT_TIMEOUT);
    this.#context = context;
  }

  override call<O extends Operation>(operation: O, ...parameters: CallParameters<O>): Promise<Result<O>> {
    const [args, given = {}] = parameters as [unknown, CallOptions?];
    const { timeoutMs = this.limitMs } = given;
    const sent = super.call(operation, ...([args, { ...given, timeoutMs }] as CallParameters<O>)).catch((error) => {
      throw withAdvice(error);
    });
    const answer = whileWaiting(`waiting for ${this.url}`, sent, this.#context, {
      clock: systemClock,
      limitMs: timeoutMs,
    });
    return isRead(operation) ? answer : this.#context.writes.answer(answer);
  }
}

export function withAdvice(error: unknown): unknown {
  if (!isTesseraError(error, 'missing_api_key') && !isTesseraError(error, 'invalid_api_key')) return error;
  const hint = `Name its file with --api-key-file or ${API_KEY_FILE_ENV}; a node keeps its own in <data dir>/${API_KEY_FILE}.`;
  return new TesseraError(error.code, `${error.message} ${hint}`, { cause: error });
}
