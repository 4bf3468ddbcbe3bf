/** What goes when an own transaction goes: itself, and all own transactions in flight that spend from it. */

import type { CoinStore } from '../coins/coin-store.js';
import type { Outgoing, OwnTransaction } from './outgoing.js';

export interface FlightModules {
  readonly coins: CoinStore;
  readonly outgoing: Outgoing;
}

/** The transaction and its descendants, itself first; empty when it is not in flight. */
export function withDescendants(hash: string, { coins, outgoing }: FlightModules): readonly OwnTransaction[] {
  const found = new Map<string, OwnTransaction>();
  const open = [hash];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const made = found.has(next) ? undefined : outgoing.get(next);
    if (made === undefined) continue;
    found.set(next, made);
    open.push(...coins.spendersOf(made));
  }
  return [...found.values()];
}
