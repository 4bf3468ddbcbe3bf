/**
 * A producer that has signed two blocks of one height (docs/adr/0010-block-certificates.md). Nothing prevents it; whoever
 * sees both says so, by name, and keeps the first.
 */

import type { Logger } from '../lib/logger.js';
import type { CounterHandle, Metrics } from './metrics.js';

/** Blocks that are remembered as told; when so many were, nobody needs one more line of each. */
const MAX_TOLD = 1_000;

export interface SignedTwice {
  readonly height: number;
  /** Hash of the block that this node has at the height, which a producer has signed. */
  readonly kept: string;
  /** Hash of the other one. */
  readonly other: string;
  /** Public key in hex of the producer that has signed the other one, or a block that follows it. */
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

  /** Tells of another block than the one that is kept; of each once, however often it is shown. */
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
