/** Outcomes of the commands of the journal, for whoever appended them, and the errors of those that have none. */

import { isForgotten } from '../../journal/journal.js';
import { isTesseraError, TesseraError } from '../../lib/errors.js';
import type { GroupOutcome } from './acceptance.js';
import type { Command } from './commands.js';
import type { Round } from './round.js';

interface Outcomes {
  readonly transactions: readonly GroupOutcome[];
  readonly 'cut-block': Round | null;
  readonly proof: boolean;
  readonly 'close-block': Round | null;
  readonly 'block-stored': Round | null;
  /** False when it was no longer the next block. */
  readonly 'block-adopted': boolean;
  readonly digest: null;
}

export type CommandOutcome<K extends Command['kind']> = Outcomes[K];

/**
 * Why nothing is applied any more, in words for clients: the reason itself ends the node, or opens it anew. What this node has appended
 * may be applied all the same, by the others or at its next start.
 */
export function whyEnded(cause: unknown, { mayBeTaken = false } = {}): TesseraError {
  const options = { cause, details: { mayBeTaken } };
  if (isTesseraError(cause, 'shutting_down')) return new TesseraError(cause.code, cause.message, options);
  const text = isForgotten(cause)
    ? 'this node was away for too long, and comes to another state; try again'
    : 'this mempool node cannot go on, and its log says why; try again at another one';
  return new TesseraError('mempool_unreachable', text, options);
}

/** Why a command is not in the journal. */
export function notWritten(cause: TesseraError): TesseraError {
  const text = `the node cannot write to its disk, and nothing was taken: ${cause.message}`;
  return new TesseraError('write_failed', text, { cause });
}
