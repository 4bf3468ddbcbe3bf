/** Accepts the groups of a command one after the other, each in one piece, and lets the event loop run in between. */

import type { Turn } from '../../chain/decode-in-pieces.js';
import { isCreate } from '../../chain/transaction.js';
import type { Transaction } from '../../chain/types.js';
import type { KvBatch } from '../../db/kv.js';
import type { AcceptanceContext, CandidateTx, GroupOutcome } from './acceptance.js';
import { keys } from './layout.js';
import type { MempoolState } from './state.js';
import type { StateStore } from './state-store.js';

/** Transactions that are accepted before it is asked whether the turn is over: a millisecond or two. */
const PIECE_TRANSACTIONS = 64;

export class AcceptInTurns {
  readonly #state: Pick<MempoolState, 'accept' | 'coins'>;
  readonly #turn: Turn;
  #sinceTurn = 0;

  /** `turn` resolves when the next piece may run. */
  constructor(state: Pick<MempoolState, 'accept' | 'coins'>, turn: Turn) {
    this.#state = state;
    this.#turn = turn;
  }

  async accept(
    groups: readonly (readonly CandidateTx[])[],
    context: Omit<AcceptanceContext, 'batch'>,
    batch: KvBatch,
  ): Promise<readonly GroupOutcome[]> {
    const outcomes: GroupOutcome[] = [];
    let approached = 0;
    for (const [i, group] of groups.entries()) {
      if (this.#sinceTurn >= PIECE_TRANSACTIONS) {
        await this.#turn();
        this.#sinceTurn = 0;
      }
      if (i === approached) approached = this.#approach(groups, i);
      this.#sinceTurn += group.length;
      outcomes.push(...this.#state.accept([group], context, batch));
    }
    return outcomes;
  }

  /** Fetches what the groups of the next piece spend; returns which group comes after them. */
  #approach(groups: readonly (readonly CandidateTx[])[], from: number): number {
    const transactions: Transaction[] = [];
    let next = from;
    while (next < groups.length && transactions.length < PIECE_TRANSACTIONS) {
      for (const { tx } of groups[next++] ?? []) transactions.push(tx);
    }
    this.#state.coins.approach(transactions);
    return next;
  }
}

/** Tells which of the creations of items among these transactions are in the chain: their hashes may not come again (decision B6). */
export async function knownCreates(
  store: Pick<StateStore, 'getMany'>,
  groups: readonly (readonly CandidateTx[])[],
): Promise<(hash: string) => boolean> {
  const creates = groups.flat().filter(({ tx }) => isCreate(tx));
  if (creates.length === 0) return () => false;
  const found = await store.getMany(creates.map(({ hash }) => keys.create(hash)));
  const hashes = new Set(creates.filter((_, i) => found[i] !== undefined).map(({ hash }) => hash));
  return (hash) => hashes.has(hash);
}
