/** Checks a block of storage against the outputs after the last stored block: storage may be damaged, or on another chain. */

import type { TxOut } from '../../chain/types.js';
import type { ChainRules } from '../../ledger/block/rules.js';
import type { LedgerView } from '../../ledger/block/spending.js';
import { BlockVerifier } from '../../ledger/block/verify-block.js';
import { GROUP } from '../../ledger/utxo/output-words.js';
import type { Verifier } from '../../ledger/verifier/verifier.js';
import { equalBytes } from '../../lib/bytes.js';
import type { Clock } from '../../lib/clock.js';
import type { AdoptedBlock } from '../state/adoption.js';
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
    this.#rules = new BlockVerifier(rules, {
      ledger: viewOf(state, store),
      scripts: verifier,
      // Nothing waits here that was not verified when it was admitted.
      isVerified: ({ hash, bytes }) => {
        const pending = state.pending(hash);
        return pending !== undefined && equalBytes(pending.bytes, bytes);
      },
      clock,
    });
  }

  /** Throws `block_refused`; `details.rule` is `link` for a block that does not follow the last one. */
  async check({ full }: AdoptedBlock): Promise<void> {
    const { head, issued } = this.#state;
    await this.#rules.verify(full, { next: head.height + 1, hash: head.hash, issued });
  }
}

/** What spends can be in the chain only once anyway, so only the hashes of creations are looked up. */
function viewOf(state: MempoolState, store: StateStore): LedgerView {
  return {
    async knownHashes(hashes) {
      const known = await store.getMany(hashes.map(keys.create));
      const found = hashes.filter((_, i) => known[i] !== undefined);
      if (found.length === 0) return found;
      return found.filter((hash) => !state.isBeingMade(hash));
    },
    async unspent(outPoints) {
      const found = state.storedOutputs();
      const outputs: (TxOut | undefined)[] = [];
      for (let from = 0; from < outPoints.length; from += GROUP) {
        const group = outPoints.slice(from, from + GROUP);
        state.utxos.approach(group);
        outputs.push(...group.map(found));
      }
      return outputs;
    },
  };
}
