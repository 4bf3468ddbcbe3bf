/**
 * What the mempool nodes of this operator know to be stored. A mempool node forgets a block once storage has confirmed it,
 * so its tip is a mark that an archive must reach: one that was restored from an older copy finds out at the first link,
 * not at the next block.
 */

import { errorMessage } from '../../lib/errors.js';
import type { Logger } from '../../lib/logger.js';
import type { Link, Message, PeerNetwork } from '../../peers/network.js';
import type { Archive } from '../archive/archive.js';

export interface MempoolTipsModules {
  readonly archive: Pick<Archive, 'nextHeight' | 'hashAt'>;
  readonly network: Pick<PeerNetwork, 'links' | 'linkUp'>;
  readonly logger: Logger;
  /** Blocks are missing here: other storage nodes may have them. */
  readonly onBehind: () => void;
}

export class MempoolTips {
  readonly #modules: MempoolTipsModules;
  readonly #stopping = new AbortController();
  #removeListener: (() => void) | undefined;
  /** Number of blocks that a mempool node knows to be stored. */
  #known = 0;
  #otherChain = '';

  constructor(modules: MempoolTipsModules) {
    this.#modules = modules;
  }

  /** What is wrong with this archive; empty when nothing is. */
  get problem(): string {
    if (this.#otherChain !== '') return this.#otherChain;
    const { nextHeight } = this.#modules.archive;
    if (nextHeight >= this.#known) return '';
    const missing =
      this.#known - nextHeight === 1 ? `block ${nextHeight} is` : `blocks ${nextHeight} to ${this.#known - 1} are`;
    return `${missing} missing here, and the mempool node knows that they were stored: link a storage node that has them, or restore a newer backup`;
  }

  start(): void {
    const { network } = this.#modules;
    this.#removeListener = network.linkUp.on((link) => this.#ask(link));
    for (const link of network.links) this.#ask(link);
  }

  stop(): void {
    this.#stopping.abort();
    this.#removeListener?.();
  }

  #ask(link: Link): void {
    if (link.role !== 'mempool' || !link.trusted) return;
    link
      .request('chain.tip.get', {}, { signal: this.#stopping.signal })
      .then((reply) => this.#hear(reply))
      .catch((error: unknown) => {
        if (this.#stopping.signal.aborted) return;
        const { logger } = this.#modules;
        logger.warn(
          { peer: link.address, reason: errorMessage(error) },
          'the mempool node does not say which blocks are stored',
        );
      });
  }

  async #hear(reply: Message): Promise<void> {
    if (reply.type !== 'chain.tip') return;
    const { archive, logger, onBehind } = this.#modules;
    const { next, hash } = (reply as Message<'chain.tip'>).body;
    this.#known = next;
    const stored = await archive.hashAt(next - 1);
    this.#otherChain =
      stored === undefined || stored === hash
        ? ''
        : `block ${next - 1} is ${stored} here, and ${hash} at the mempool node: the two are of different chains`;
    if (this.problem === '') return;
    logger.error({ next: archive.nextHeight, stored: next }, this.problem);
    if (archive.nextHeight < next) onBehind();
  }
}
