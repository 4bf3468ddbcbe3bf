/**
 * Whether a block of storage may be adopted: the rules that storage goes by, against the outputs behind the last stored
 * block. Storage is of the same operator, and may be damaged or of another chain all the same.
 */

import type { ChainRules } from '../../ledger/block/rules.js';
import type { LedgerView } from '../../ledger/block/spending.js';
import { BlockVerifier } from '../../ledger/block/verify-block.js';
import type { Verifier } from '../../ledger/verifier/verifier.js';
import type { Clock } from '../../lib/clock.js';
import type { AdoptedBlock } from '../state/adopted-block.js';
import { keys } from '../state/layout.js';
import type { MempoolState } from '../state/state.js';
import type { StateStore } from '../state/state-store.js';

export interface AdoptionCheckModules {
  readonly state: MempoolState;
  readonly store: StateStore;
  readonly verifier: Verifier;
  readonly clock: Clock;
}

export class AdoptionCheck {
  readonly #state: MempoolState;
  readonly #rules: BlockVerifier;

  constructor(rules: ChainRules, { state, store, verifier, clock }: AdoptionCheckModules) {
    this.#state = state;
    this.#rules = new BlockVerifier(rules, { ledger: viewOf(state, store), scripts: verifier, clock });
  }

  /** Throws `block_refused`; `details.rule` is `link` for a block that does not follow the last one. */
  async check({ full }: AdoptedBlock): Promise<void> {
    const { head, issued } = this.#state;
    await this.#rules.verify(full, { next: head.height + 1, hash: head.hash, issued });
  }
}

/** What spends can be in the chain once, because its inputs can; of the hashes only those of creations need a memory. */
function viewOf(state: MempoolState, store: StateStore): LedgerView {
  return {
    async knownHashes(hashes) {
      const known = await store.getMany(hashes.map(keys.create));
      const { round } = state;
      const made = new Set(round?.transactions.map(({ hash }) => hash));
      return hashes.filter((hash, i) => known[i] !== undefined && !made.has(hash));
    },
    async unspent(outPoints) {
      return outPoints.map(state.storedOutputs());
    },
  };
}
