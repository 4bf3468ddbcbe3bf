/** Unspent outputs as balances show them. */

import type { Asset, OutPoint } from '../../chain/types.js';

/** An unspent output as balances show it: a null genesis hash is already the creating transaction's hash (decision V6). */
export interface Holding {
  readonly outPoint: OutPoint;
  readonly value: Asset;
  readonly locktime: bigint;
}

/**
 * The unspent outputs of an address at one moment, in the order of hash and index. Each is decoded when the iteration
 * comes to it.
 */
export interface Holdings extends Iterable<Holding> {
  readonly count: number;
  readonly tokens: bigint;
  /** Genesis hash → amount. */
  readonly items: ReadonlyMap<string, bigint>;
}
