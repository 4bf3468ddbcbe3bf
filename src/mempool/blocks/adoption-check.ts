/** Fetches blocks of storage, and checks whether they may be adopted: storage may be damaged, or on another chain. */

import type { Producers } from '../../chain/certificate.js';
import type { Turn } from '../../chain/decode-in-pieces.js';
import type { TxOut } from '../../chain/types.js';
import type { ChainRules } from '../../ledger/block/rules.js';
import type { LedgerView } from '../../ledger/block/spending.js';
import { BlockVerifier } from '../../ledger/block/verify-block.js';
import { GROUP } from '../../ledger/utxo/output-words.js';
import { equalBytes } from '../../lib/bytes.js';
import { TesseraError } from '../../lib/errors.js';
import { MAX_BLOCKS_PER_ANSWER, type RoundFactsBody, splitBlocks } from '../../peers/messages.js';
import type { Link, Message } from '../../peers/network.js';
import { type HeaderQuestion, type ProofRange, ProvenHashes } from '../../peers/proven-hashes.js';
import type { MempoolParts } from '../modules.js';
import { type AdoptedBlock, readAdoptedBlock } from '../state/adoption.js';
import type { RoundFacts } from '../state/commands.js';
import { keys } from '../state/layout.js';
import type { MempoolState } from '../state/state.js';
import type { StateStore } from '../state/state-store.js';

export type AdoptionCheckModules = Pick<MempoolParts, 'clock' | 'state' | 'store' | 'verifier'>;

export class AdoptionCheck {
  readonly #state: MempoolState;
  readonly #rules: BlockVerifier;

  constructor(rules: ChainRules, { state, store, verifier, clock }: AdoptionCheckModules) {
    this.#state = state;
    this.#rules = new BlockVerifier(rules, {
      ledger: viewOf(state, store),
      scripts: verifier,
      // Every waiting transaction was verified at its admission.
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

/** The state as rules of the ledger see it. Names of our payments are not kept: none can be in the chain twice. */
function viewOf(state: MempoolState, store: StateStore): LedgerView {
  return {
    async knownHashes(hashes) {
      const known = await store.getMany(hashes.map(keys.known));
      return hashes.filter((hash, i) => known[i] !== undefined && !state.isBeingMade(hash));
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

const REQUEST_TIMEOUT_MS = 60_000;

export class FetchedBlocks {
  readonly #producers: Producers | undefined;
  readonly #signal: AbortSignal;
  readonly #turn: Turn;
  /** The hashes of the next blocks, where a certificate proves them. */
  #proven: ProvenHashes | undefined;

  constructor(producers: Producers | undefined, signal: AbortSignal, turn: Turn) {
    this.#producers = producers;
    this.#signal = signal;
    this.#turn = turn;
  }

  /** Blocks of one answer; none when the storage node does not have them. Throws `block_refused`, and what the link throws. */
  async *from(link: Link, range: ProofRange): AsyncGenerator<AdoptedBlock> {
    const { from } = range;
    const options = { timeoutMs: REQUEST_TIMEOUT_MS, signal: this.#signal };
    const proof = await this.#prove(link, range, options);
    const answer = await link.request('blocks.get', { from, count: MAX_BLOCKS_PER_ANSWER }, options);
    if (answer.type !== 'blocks') throw new TesseraError('peer_unreachable', `it answered ${answer.type}`);
    const { body, attachment } = answer as Message<'blocks'>;
    if (body.from !== from) return;
    for (const [i, bytes] of splitBlocks(attachment, body.count).entries()) {
      const proven = proof?.at(from + i);
      if (this.#signal.aborted || (proof !== undefined && proven === undefined)) return;
      const told = i === body.count - 1 ? body.round : undefined;
      const block = await readAdoptedBlock(bytes, told === undefined ? null : factsOf(told), this.#turn);
      if (proof !== undefined && proof.at(block.height) !== block.hash) {
        throw new TesseraError('block_refused', `block ${block.height} is not the certified one`);
      }
      yield block;
    }
  }

  /** Proof of the next blocks; undefined in a network without producers. The secret alone does not make a chain. */
  async #prove(link: Link, range: ProofRange, question: HeaderQuestion): Promise<ProvenHashes | undefined> {
    if (this.#producers === undefined) return undefined;
    const { from } = range;
    if (this.#proven?.at(from) !== undefined) return this.#proven;
    this.#proven = await ProvenHashes.ask(link, this.#producers, range, question);
    if (this.#proven !== undefined) return this.#proven;
    throw new TesseraError(
      'peer_unreachable',
      `no producer has signed its blocks from ${from} on; if they are from before blocks were signed, start this node once without network.producer_keys`,
    );
  }
}

function factsOf({ participants, proofs, asert_hashes }: RoundFactsBody): RoundFacts {
  return { participants, proofHashes: proofs, asertHashes: asert_hashes };
}
