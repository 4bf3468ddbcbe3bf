/**
 * How much that waits a transaction may be behind: those whose outputs it spends, those that these spend, and so on; members
 * of a DRUID set are behind each other. Counted when a transaction arrives: what is behind one that waits never grows. A
 * limit of this node, not a rule of the chain (docs/adr/0018-chained-payments.md).
 */

import { spentOutPoints } from '../../chain/transaction.js';
import type { Transaction, TxIn } from '../../chain/types.js';
import { fault, type Verdict } from '../../lib/fault.js';
import type { CandidateTx } from '../state/acceptance.js';
import type { Kin } from '../state/pool.js';
import type { MempoolState } from '../state/state.js';

export interface AncestorLimitsOptions {
  /** Transactions that wait and that one more may be behind; 100 by default. */
  readonly maxAncestors?: number;
  /** Bytes of them; 100,000 by default. */
  readonly maxAncestorBytes?: number;
}

const DEFAULT_ANCESTORS = 100;
const DEFAULT_BYTES = 100_000;

/** The transactions of a list by hash: one may spend what another one of the same list creates. */
export type SubmittedList = ReadonlyMap<string, CandidateTx>;

export class AncestorLimits {
  readonly #maxCount: number;
  readonly #maxBytes: number;
  readonly #state: Pick<MempoolState, 'kin' | 'isReady'>;

  constructor(options: AncestorLimitsOptions, state: Pick<MempoolState, 'kin' | 'isReady'>) {
    this.#maxCount = options.maxAncestors ?? DEFAULT_ANCESTORS;
    this.#maxBytes = options.maxAncestorBytes ?? DEFAULT_BYTES;
    this.#state = state;
  }

  fault(tx: Transaction, list: SubmittedList): Verdict {
    const isBehind = ({ previousOut }: TxIn): boolean => previousOut !== null && this.#waits(previousOut.tHash, list);
    if (!tx.inputs.some(isBehind)) return null;
    const ofList = (hash: string): Kin | undefined => submittedKin(list.get(hash));
    if (!this.#isBeyond(tx, (hash) => this.#state.kin(hash) ?? ofList(hash))) return null;
    return this.#isBeyond(tx, ofList) ? this.#tooManyInList : this.#tooMany;
  }

  #waits(hash: string, list: SubmittedList): boolean {
    return list.has(hash) || this.#state.isReady(hash);
  }

  #isBeyond(tx: Transaction, kinOf: (hash: string) => Kin | undefined): boolean {
    const ancestors = new Set<string>();
    const open = hashesSpentBy(tx);
    let bytes = 0;
    for (let hash = open.pop(); hash !== undefined; hash = open.pop()) {
      if (ancestors.has(hash)) continue;
      const kin = kinOf(hash);
      if (kin === undefined) continue;
      ancestors.add(hash);
      bytes += kin.bytes;
      if (ancestors.size > this.#maxCount || bytes > this.#maxBytes) return true;
      open.push(...kin.behind);
    }
    return false;
  }

  get #tooMany(): Verdict {
    return fault(
      'too_many_ancestors',
      `It is behind more than ${this.#maxCount} transactions or ${this.#maxBytes} bytes that wait for a block; submit it again after the next block`,
    );
  }

  /** No block changes this. */
  get #tooManyInList(): Verdict {
    return fault(
      'invalid_request',
      `It is behind more than ${this.#maxCount} transactions or ${this.#maxBytes} bytes of the same list; submit the list in parts, each after the block of the one before`,
    );
  }
}

function submittedKin(candidate: CandidateTx | undefined): Kin | undefined {
  return candidate && { bytes: candidate.bytes.length, behind: hashesSpentBy(candidate.tx) };
}

function hashesSpentBy(tx: Transaction): string[] {
  return spentOutPoints(tx).map(({ tHash }) => tHash);
}
