/**
 * Accepts the groups of a command one after the other, and lets the event loop run in between: a command may hold what arrived
 * on many connections, and several commands may be delivered together. A group is accepted in one piece.
 */

import type { Turn } from '../../chain/decode-in-pieces.js';
import type { KvBatch } from '../../db/kv.js';
import type { AcceptanceContext, CandidateTx, GroupOutcome } from './acceptance.js';
import type { MempoolState } from './state.js';

/** Transactions that are accepted before it is asked whether the turn is over: a millisecond or two. */
const PIECE_TRANSACTIONS = 64;

export class AcceptInTurns {
  readonly #state: Pick<MempoolState, 'accept'>;
  readonly #turn: Turn;
  #sinceTurn = 0;

  /** `turn` resolves when the next piece may run. */
  constructor(state: Pick<MempoolState, 'accept'>, turn: Turn) {
    this.#state = state;
    this.#turn = turn;
  }

  /** The outcome of each group. */
  async accept(
    groups: readonly (readonly CandidateTx[])[],
    context: Omit<AcceptanceContext, 'batch'>,
    batch: KvBatch,
  ): Promise<readonly GroupOutcome[]> {
    const outcomes: GroupOutcome[] = [];
    for (const group of groups) {
      if (this.#sinceTurn >= PIECE_TRANSACTIONS) {
        await this.#turn();
        this.#sinceTurn = 0;
      }
      this.#sinceTurn += group.length;
      outcomes.push(...this.#state.accept([group], context, batch));
    }
    return outcomes;
  }
}
