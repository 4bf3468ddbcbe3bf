/** Balances of addresses, copied out of the table of unspent outputs. */

import { shownTotal } from '../chain/assets.js';
import type { UtxoTable } from '../ledger/utxo/utxo-table.js';
import { compareUtf8 } from '../lib/bytes.js';
import { TesseraError } from '../lib/errors.js';
import { type Balances, type Holdings, MAX_LISTED_OUTPUTS } from './service.js';

/** Throws `too_many_outputs` when the addresses have more than `MAX_LISTED_OUTPUTS` unspent outputs together. */
export function balancesOf(utxos: UtxoTable, addresses: readonly string[]): Balances {
  let tokens = 0n;
  let left = MAX_LISTED_OUTPUTS;
  const items = new Map<string, bigint>();
  const byAddress = new Map<string, Holdings>();
  for (const address of new Set(addresses)) {
    const holdings = utxos.copyOf(address, left);
    if (!holdings.isWhole) throw tooManyOutputs();
    if (holdings.count === 0) continue;
    left -= holdings.count;
    byAddress.set(address, holdings);
    tokens += holdings.tokens;
    for (const [hash, amount] of holdings.items) items.set(hash, (items.get(hash) ?? 0n) + amount);
  }
  const sorted = [...items].sort(([a], [b]) => compareUtf8(a, b));
  return { tokens, items: new Map(sorted.map(([hash, sum]) => [hash, shownTotal(sum)])), addresses: byAddress };
}

/** The number of unspent outputs of the addresses together, or `limit` when they have more. */
export function countOutputs(utxos: UtxoTable, addresses: readonly string[], limit: number): number {
  let count = 0;
  for (const address of new Set(addresses)) {
    for (const _slot of utxos.slotsOf(address)) {
      count++;
      if (count >= limit) return count;
    }
  }
  return count;
}

function tooManyOutputs(): TesseraError {
  return new TesseraError(
    'too_many_outputs',
    `These addresses have more than ${MAX_LISTED_OUTPUTS} unspent outputs together, which no answer lists. Ask for fewer addresses at once.`,
  );
}
