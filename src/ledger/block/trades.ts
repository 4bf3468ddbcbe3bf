/** DRUID sets in a block: whole, together, and fair to every party (docs/chain.md#druid-sets). */

import { druidSetFault } from '../../chain/druid.js';
import type { Pieces } from '../../lib/pieces.js';
import { type BlockFault, blockFault } from './rules.js';
import type { VerifiedTransaction } from './verified-block.js';

/**
 * Fault of an incomplete trade: whoever makes the blocks could otherwise let one half of a trade happen without the other.
 * The members of a set stand side by side, so that two sets under one name are told apart.
 */
export function* tradesFault(transactions: readonly VerifiedTransaction[]): Pieces<BlockFault | null> {
  for (let at = 0; at < transactions.length; ) {
    yield;
    const first = transactions[at];
    const info = first?.transaction.druidInfo ?? null;
    if (first === undefined || info === null) {
      at++;
      continue;
    }
    const left = BigInt(transactions.length - at);
    const count = info.participants > 0n && info.participants <= left ? Number(info.participants) : 0;
    const members = transactions.slice(at, at + count).map(({ transaction }) => transaction);
    if (count === 0 || members.some(({ druidInfo }) => druidInfo?.druid !== info.druid)) {
      return blockFault('trade', `the DRUID set of transaction ${first.hash} is not whole`);
    }
    const unfair = druidSetFault(info.druid, members);
    if (unfair !== null) return blockFault('trade', `the DRUID set of transaction ${first.hash}: ${unfair.message}`);
    at += count;
  }
  return null;
}
