/**
 * Answers for balances. Those of addresses with many outputs take time even to copy, and become planned answers; the others
 * are made at once.
 */

import type { Balances, MempoolService } from '../../../mempool/service.js';
import { PlannedAnswer } from '../../http/long-answers.js';

/** Answers with this many outputs or more are planned; copying fewer takes less than a millisecond. */
const MANY_OUTPUTS = 1_000;

export function balanceAnswer<T>(
  mempool: MempoolService,
  addresses: readonly string[],
  view: (balances: Balances) => T,
): T | PlannedAnswer<T> {
  const make = (): T => view(mempool.balances(addresses));
  return mempool.countOutputs(addresses, MANY_OUTPUTS) < MANY_OUTPUTS ? make() : new PlannedAnswer(make);
}
