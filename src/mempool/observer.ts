/** What the mempool tells whoever measures it or shows its progress. Without an observer nothing is spent. */

import type { ErrorCode } from '../lib/errors.js';

/** One submission under way; exactly one of its members is called. */
export interface SubmissionObserver {
  /** `known` of the transactions had been admitted before. */
  admitted(fresh: number, known: number): void;
  /** The whole submission is refused. */
  refused(code: ErrorCode): void;
}

export interface MempoolObserver {
  /** A decoded submission arrives. */
  submission(): SubmissionObserver;
  /** A template was cut; `seconds` from the decision to the open round. */
  templateCut(transactions: number, seconds: number): void;
  /** The miners have been sent the template of this block. */
  templateSent(height: number): void;
  proofJudged(height: number, accepted: boolean): void;
  blockClosed(height: number): void;
  /** The confirmed block is being applied; call the result when it is done. */
  applyingBlock(): () => void;
}

/** How far the start is. */
export interface MempoolProgress {
  /** Reading the state at the start: unspent outputs so far. */
  loading(outputs: number): void;
  /** Applying what the journal has beyond the state: commands done, commands to do. */
  replaying(done: number, total: number): void;
}
