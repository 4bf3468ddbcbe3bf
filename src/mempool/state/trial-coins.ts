/** What could be spent if some transactions had come in: for a look ahead that leaves no trace in the coins. */

import { createdOutPoints, isUnspendable, outPointKey, spentOutPoints } from '../../chain/transaction.js';
import type { OutPoint, Transaction } from '../../chain/types.js';
import type { Verdict } from '../../lib/fault.js';
import { type Coins, SPENT } from './coins.js';

export class TrialCoins {
  readonly #coins: Pick<Coins, 'claimFault'>;
  readonly #claimed = new Set<string>();
  readonly #offered = new Set<string>();

  constructor(coins: Pick<Coins, 'claimFault'>) {
    this.#coins = coins;
  }

  /** As `Coins.claim`. */
  claim(tx: Transaction): Verdict {
    const spent = spentOutPoints(tx);
    for (const outPoint of spent) {
      const wrong = this.#claimFault(outPoint);
      if (wrong !== null) return wrong;
    }
    for (const outPoint of spent) this.#claimed.add(outPointKey(outPoint));
    return null;
  }

  /** As `Coins.offer`. */
  offer(hash: string, tx: Transaction): void {
    for (const { outPoint, txOut } of createdOutPoints(tx, hash)) {
      if (!isUnspendable(txOut)) this.#offered.add(outPointKey(outPoint));
    }
  }

  #claimFault(outPoint: OutPoint): Verdict {
    const key = outPointKey(outPoint);
    if (this.#claimed.has(key)) return SPENT;
    return this.#offered.has(key) ? null : this.#coins.claimFault(outPoint);
  }
}
