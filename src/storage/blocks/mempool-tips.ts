/**
 * Where the mempool nodes of this operator stand. What one knows to be stored is a mark that an archive must reach: one that
 * was restored from an older copy learns this at the first link, not at the next block. And a mempool node that is behind
 * fetches from here what it lacks. Until both stand at the same block, this node is not ready, and says at which they are.
 */

import { setMaxListeners } from 'node:events';
import type { Clock, Timer } from '../../lib/clock.js';
import { errorMessage } from '../../lib/errors.js';
import type { Logger } from '../../lib/logger.js';
import type { MessageBody } from '../../peers/messages.js';
import type { Link, Message, PeerNetwork } from '../../peers/network.js';
import type { Archive } from '../archive/archive.js';

type Tip = Pick<MessageBody<'chain.tip'>, 'next' | 'hash'>;

/** Milliseconds until a mempool node that is at another block is asked again. */
const RETRY_MS = 2_000;
/** Milliseconds after which it is said again that it still is. */
const SAY_AGAIN_MS = 60_000;

export interface MempoolTipsModules {
  readonly archive: Pick<Archive, 'nextHeight' | 'hashAt'>;
  readonly network: Pick<PeerNetwork, 'links' | 'linkUp' | 'linkDown'>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Blocks are missing here: other storage nodes may have them. */
  readonly onBehind: () => void;
}

export class MempoolTips {
  readonly #modules: MempoolTipsModules;
  readonly #stopping = new AbortController();
  readonly #listeners: (() => void)[] = [];
  /** Number of blocks that a mempool node knows to be stored. */
  #known = 0;
  /** The same for one that says it knows fewer blocks than are stored here. */
  #behind: number | undefined;
  #otherChain: string | null = null;
  #retry: Timer | undefined;
  /** Which problem was said last, and when, by the monotonic clock; undefined when there was none since. */
  #said: { readonly kind: string; readonly at: number } | undefined;

  constructor(modules: MempoolTipsModules) {
    this.#modules = modules;
    // Every request under way listens to it.
    setMaxListeners(0, this.#stopping.signal);
  }

  /** What is wrong with this archive or the mempool node; null when nothing is. */
  get problem(): string | null {
    if (this.#otherChain !== null) return this.#otherChain;
    const { nextHeight } = this.#modules.archive;
    if (this.#behind !== undefined)
      return `the mempool node is at block ${this.#behind - 1} and this archive at block ${nextHeight - 1}: the mempool node fetches the blocks between`;
    if (nextHeight >= this.#known) return null;
    const missing =
      this.#known - nextHeight === 1 ? `block ${nextHeight} is` : `blocks ${nextHeight} to ${this.#known - 1} are`;
    return `${missing} missing here, and the mempool node knows that they were stored: it delivers the last ones that it has kept; others must come from another storage node or a newer backup`;
  }

  start(): void {
    const { network } = this.#modules;
    this.#listeners.push(
      network.linkUp.on((link) => this.#ask(link)),
      network.linkDown.on(({ link }) => {
        if (isOwnMempool(link)) this.#behind = undefined;
      }),
    );
    for (const link of network.links) this.#ask(link);
  }

  stop(): void {
    this.#stopping.abort();
    this.#retry?.cancel();
    for (const remove of this.#listeners.splice(0)) remove();
  }

  /** A mempool node has delivered a block that is stored: it is not behind. */
  delivered(height: number): void {
    this.#known = Math.max(this.#known, height + 1);
    if (height + 1 >= this.#modules.archive.nextHeight) this.#behind = undefined;
  }

  /** A mempool node says which blocks it knows to be stored. */
  hear(link: Link, tip: Tip): void {
    if (!isOwnMempool(link)) return;
    this.#compare(tip).catch((error: unknown) => {
      if (this.#stopping.signal.aborted) return;
      const { logger } = this.#modules;
      logger.warn(
        { peer: link.address, reason: errorMessage(error) },
        'the tip of the mempool node is not compared yet',
      );
      this.#askAgain();
    });
  }

  async #compare({ next, hash }: Tip): Promise<void> {
    const { archive, onBehind } = this.#modules;
    this.#known = next;
    const stored = await archive.hashAt(next - 1);
    this.#otherChain =
      stored === undefined || stored === hash
        ? null
        : `block ${next - 1} is ${stored} here, and ${hash} at the mempool node: the two are of different chains`;
    this.#behind = next < archive.nextHeight ? next : undefined;
    const { problem } = this;
    this.#say(problem, next);
    if (problem === null) return;
    if (archive.nextHeight < next) onBehind();
    this.#askAgain();
  }

  /** The numbers in it change with each block that comes: that is no news. */
  #say(problem: string | null, stored: number): void {
    const { archive, clock, logger } = this.#modules;
    const at = clock.monotonic();
    const kind = this.#otherChain !== null ? 'other chain' : this.#behind !== undefined ? 'ahead' : 'behind';
    if (problem === null) this.#said = undefined;
    else if (this.#said?.kind !== kind || at - this.#said.at >= SAY_AGAIN_MS) {
      this.#said = { kind, at };
      logger.warn({ next: archive.nextHeight, stored }, problem);
    }
  }

  #askAgain(): void {
    const { clock, network } = this.#modules;
    if (this.#stopping.signal.aborted) return;
    this.#retry?.cancel();
    this.#retry = clock.after(RETRY_MS, () => {
      for (const link of network.links) this.#ask(link);
    });
  }

  #ask(link: Link): void {
    if (!isOwnMempool(link)) return;
    link
      .request('chain.tip.get', {}, { signal: this.#stopping.signal })
      .then((reply) => {
        if (reply.type === 'chain.tip') this.hear(link, (reply as Message<'chain.tip'>).body);
      })
      .catch((error: unknown) => {
        if (this.#stopping.signal.aborted) return;
        const { logger } = this.#modules;
        logger.warn(
          { peer: link.address, reason: errorMessage(error) },
          'the mempool node does not say which blocks are stored',
        );
      });
  }
}

function isOwnMempool({ role, trusted }: Link): boolean {
  return role === 'mempool' && trusted;
}
