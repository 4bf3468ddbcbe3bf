/** Outcomes of the commands of the journal, for whoever appended them. */

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
