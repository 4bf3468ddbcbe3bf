/** Forecast of the blocks to come: waiting transactions in the order of service, in blocks as the rules allow them. */

import type { BlockRules } from '../../chain/block-rules.js';
import { type BlockAhead, MAX_BLOCKS_AHEAD, MAX_LISTED_AHEAD, type WaitingPlace } from '../service.js';
import type { PooledTx } from './pool.js';
import type { MempoolState } from './state.js';

/** Waiting transactions that a forecast looks at: the block that the last of them is in ends it, however much a block may hold. */
export const MAX_LOOKED_AT = 16_000;

interface Planned extends Pick<BlockAhead, 'height' | 'isBeingMade'> {
  readonly transactions: readonly PooledTx[];
}

/** Blocks to come. In the order of original nodes a transaction may come later: there, no block has two of one chain. */
function* plannedBlocks(state: MempoolState): Generator<Planned> {
  let height = state.head.height;
  for (const round of state.rounds) {
    height = round.height;
    yield { height, isBeingMade: true, transactions: round.transactions };
  }
  const last = height + MAX_BLOCKS_AHEAD;
  let looked = 0;
  let block = new Filling();
  for (const unit of state.readyUnits()) {
    if (block.take(unit, state.rules.block)) continue;
    yield { height: ++height, isBeingMade: false, transactions: block.taken };
    looked += block.taken.length;
    if (height === last || looked >= MAX_LOOKED_AT) return;
    block = new Filling();
    block.take(unit, state.rules.block);
  }
  if (block.taken.length > 0) yield { height: height + 1, isBeingMade: false, transactions: block.taken };
}

/** A block that is being filled. */
class Filling {
  readonly taken: PooledTx[] = [];
  #bytes = 0;
  #operations = 0;
  #singles = 0;

  /** Adds a unit to the block; false when it does not fit. An empty block takes any. */
  take(unit: readonly PooledTx[], { transactions, bytes, signatureOperations }: BlockRules): boolean {
    const singles = this.#singles + Number(unit.length === 1);
    const size = unit.reduce((sum, tx) => sum + tx.bytes.length, this.#bytes);
    const operations = unit.reduce((sum, tx) => sum + tx.operations, this.#operations);
    const fits = singles <= transactions && size <= bytes && operations <= signatureOperations;
    if (!fits && this.taken.length > 0) return false;
    [this.#singles, this.#bytes, this.#operations] = [singles, size, operations];
    this.taken.push(...unit);
    return true;
  }
}

export function blocksAhead(state: MempoolState): BlockAhead[] {
  return Array.from(plannedBlocks(state), ({ transactions, ...block }) => ({
    ...block,
    count: transactions.length,
    bytes: transactions.reduce((sum, tx) => sum + tx.bytes.length, 0),
    first: transactions.slice(0, MAX_LISTED_AHEAD),
  }));
}

export function placeAhead(state: MempoolState, hash: string): WaitingPlace | undefined {
  const found = state.pending(hash);
  if (found === undefined) return undefined;
  const behind = state.kin(hash)?.behind.filter((other) => other !== hash && state.isReady(other)) ?? [];
  return { hash, ...found, place: placeIn(state, hash), behind };
}

function placeIn(state: MempoolState, hash: string): WaitingPlace['place'] {
  if (!state.isReady(hash) && !state.isBeingMade(hash)) return null;
  let ahead = 0;
  for (const { height, isBeingMade, transactions } of plannedBlocks(state)) {
    const at = transactions.findIndex((tx) => tx.hash === hash);
    if (at >= 0) return { height, isBeingMade, ahead: ahead + at };
    ahead += transactions.length;
  }
  return null;
}
