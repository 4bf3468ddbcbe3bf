/**
 * Tips of the mempool nodes of this operator. An archive must reach the last block that a mempool node knows to be stored: an archive
 * restored from an older copy learns this at the first link, not at the next block. A mempool node that is behind fetches the missing
 * blocks from here. Until both are at the same block, this node is not ready, and says at which blocks they are. Of several
 * mempool nodes the one that knows most counts: another may be cut off from their journal.
 */

import { setMaxListeners } from 'node:events';
import type { Timer } from '../../lib/clock.js';
import { errorMessage } from '../../lib/errors.js';
import type { HasClock, HasLogger } from '../../observability/modules.js';
import type { MessageBody } from '../../peers/messages.js';
import type { Link, Message, PeerNetwork } from '../../peers/network.js';
import type { Archive } from '../archive/archive.js';

type Tip = Pick<MessageBody<'chain.tip'>, 'next' | 'hash'>;

/** Last statement of a linked mempool node, compared with the blocks that were stored here then. */
interface Word {
  readonly next: number;
  readonly isBehind: boolean;
  /** Why the node is on another chain; null when it is not. */
  readonly otherChain: string | null;
}

/** Milliseconds until a mempool node that is at another block is asked again. */
const RETRY_MS = 2_000;
/** Milliseconds after which a problem that persists is logged again. */
const SAY_AGAIN_MS = 60_000;

export interface MempoolTipsModules extends HasClock, HasLogger {
  readonly archive: Pick<Archive, 'nextHeight' | 'hashAt'>;
  readonly network: Pick<PeerNetwork, 'links' | 'linkUp' | 'linkDown'>;
  /** Called when blocks are missing here: other storage nodes may have them. */
  readonly onBehind: () => void;
}

export class MempoolTips {
  readonly #modules: MempoolTipsModules;
  readonly #stopping = new AbortController();
  readonly #listeners: (() => void)[] = [];
  readonly #words = new Map<Link, Word>();
  /** Number of blocks that a mempool node knows to be stored; the highest of all. */
  #known = 0;
  /** Number of blocks that the mempool nodes know, when all of them know fewer than are stored here. */
  #behind: number | undefined;
  #otherChain: string | null = null;
  #retry: Timer | undefined;
  /** Problem that was logged last, and when, by the monotonic clock; undefined when there was none since. */
  #said: { readonly kind: string; readonly at: number } | undefined;

  constructor(modules: MempoolTipsModules) {
    this.#modules = modules;
    // Every request under way listens to this signal.
    setMaxListeners(0, this.#stopping.signal);
  }

  /** Problem between this archive and the mempool nodes; null without one. */
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
        if (!this.#words.delete(link)) return;
        this.#judge();
        if (this.#words.size > 0 && this.problem !== null) this.#askAgain();
      }),
    );
    for (const link of network.links) this.#ask(link);
  }

  stop(): void {
    this.#stopping.abort();
    this.#retry?.cancel();
    for (const remove of this.#listeners.splice(0)) remove();
  }

  /** Notes that a mempool node has delivered a block that is stored, and so is not behind. */
  delivered(link: Link, height: number): void {
    const { archive, network } = this.#modules;
    if (!isOwnMempool(link) || !network.links.has(link)) return;
    const isLast = height + 1 >= archive.nextHeight;
    const word = this.#words.get(link) ?? (isLast ? { next: 0, isBehind: false, otherChain: null } : undefined);
    if (word === undefined) return;
    this.#words.set(link, {
      ...word,
      next: Math.max(word.next, height + 1),
      isBehind: word.isBehind && !isLast,
    });
    this.#judge();
  }

  /** Notes the blocks that a mempool node knows to be stored. */
  hear(link: Link, tip: Tip): void {
    if (!isOwnMempool(link)) return;
    this.#compare(link, tip).catch((error: unknown) => {
      if (this.#stopping.signal.aborted) return;
      const { logger } = this.#modules;
      logger.warn(
        { peer: link.address, reason: errorMessage(error) },
        'the tip of the mempool node is not compared yet',
      );
      this.#askAgain();
    });
  }

  async #compare(link: Link, { next, hash }: Tip): Promise<void> {
    const { archive, network, onBehind } = this.#modules;
    const stored = await archive.hashAt(next - 1);
    if (!network.links.has(link)) return;
    const otherChain =
      stored === undefined || stored === hash
        ? null
        : `block ${next - 1} is ${stored} here, and ${hash} at the mempool node: the two are of different chains`;
    const isBehind = next < archive.nextHeight;
    this.#words.set(link, { next, isBehind, otherChain });
    this.#judge();
    const { problem } = this;
    this.#say(problem, this.#known);
    if (problem !== null && archive.nextHeight < this.#known) onBehind();
    // A node that is behind is asked again: its height counts when no other node is left.
    if (problem !== null || isBehind) this.#askAgain();
  }

  /** Judges all statements anew. Without a mempool node the last judgement stays, except that nodes are behind: none can fetch. */
  #judge(): void {
    const words = [...this.#words.values()];
    this.#behind = undefined;
    if (words.length === 0) return;
    this.#known = Math.max(...words.map(({ next }) => next));
    const first = words.filter(({ next }) => next === this.#known).map(({ otherChain }) => otherChain);
    this.#otherChain = first.includes(null) ? null : (first[0] ?? null);
    if (words.every(({ isBehind }) => isBehind)) this.#behind = this.#known;
  }

  /** Logs a problem once, and again after a while: its numbers change with each block, which is no news. */
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
