/**
 * Reports a producer that has signed two blocks of one height (docs/adr/0010-block-certificates.md). Nothing prevents
 * that; a node that sees both blocks names the producer, and keeps the first block.
 */

import type { Logger } from '../lib/logger.js';
import type { CounterHandle, Metrics } from './metrics.js';

/** Most blocks that are reported; nobody needs one more line after so many. */
const MAX_TOLD = 1_000;

export interface SignedTwice {
  readonly height: number;
  /** Hash of this node's block at the height, which a producer has signed. */
  readonly kept: string;
  /** Hash of the other block of the height. */
  readonly other: string;
  /** Public key in hex of the producer that has signed the other block, or a block that follows it. */
  readonly producer: string;
}

export class DoubleSigning {
  readonly #logger: Logger;
  readonly #blocks: CounterHandle;
  readonly #told = new Set<string>();

  constructor({ logger, metrics }: { readonly logger: Logger; readonly metrics: Metrics }) {
    this.#logger = logger;
    this.#blocks = metrics.counter('tessera_blocks_signed_twice_total');
  }

  /** Reports a block other than the kept one; once, however often the block is shown. */
  found(facts: SignedTwice): void {
    const { height, kept, other, producer } = facts;
    if (this.#told.has(other) || this.#told.size >= MAX_TOLD) return;
    this.#told.add(other);
    this.#blocks.inc();
    this.#logger.error(
      { ...facts },
      `producer ${producer} has signed two blocks of height ${height}: ${kept}, which is kept, and ${other}`,
    );
  }
}
