/**
 * Leadership: which of the nodes that share a journal makes the blocks. The state does not depend on it: it checks height and round of each
 * command, which makes a second leader harmless. There is one at a time only so that several do not do the same work.
 */

import type { Service } from '../lib/service.js';
import type { Signal } from '../lib/signal.js';

export interface Leadership {
  /** True while this node makes the blocks. Asked again before each step: it ends by the clock. */
  readonly leads: boolean;
  /** `leads` has changed. */
  readonly changed: Signal<void>;
  /** Why it is not known who leads; null when it is. */
  readonly problem: string | null;
  /** Lets another lead, for a while at least. Absent where there is no other. */
  resign?(): void;
}

/** Leadership of a journal that nobody else writes to. */
export const soleLeader: Leadership & Service = {
  leads: true,
  changed: { on: () => () => undefined },
  problem: null,
  failed: new Promise<never>(() => undefined),
  start: async () => undefined,
  stop: async () => undefined,
};
