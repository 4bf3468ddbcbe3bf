/** The next blocks of the chain as a storage node has them, proven by a producer's certificate where the network names producers. */

import type { Producers } from '../../chain/certificate.js';
import type { Turn } from '../../chain/decode-in-pieces.js';
import { TesseraError } from '../../lib/errors.js';
import { MAX_BLOCKS_PER_ANSWER, type RoundFactsBody, splitBlocks } from '../../peers/messages.js';
import type { Link, Message } from '../../peers/network.js';
import { type HeaderQuestion, type ProofRange, ProvenHashes } from '../../peers/proven-hashes.js';
import { type AdoptedBlock, readAdoptedBlock } from '../state/adoption.js';
import type { RoundFacts } from '../state/commands.js';

const REQUEST_TIMEOUT_MS = 60_000;

export class FetchedBlocks {
  readonly #producers: Producers | undefined;
  readonly #signal: AbortSignal;
  readonly #turn: Turn;
  /** The hashes of the next blocks, where a certificate proves them. */
  #proven: ProvenHashes | undefined;

  /** Takes the producers; without any, blocks are taken unsigned. */
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
