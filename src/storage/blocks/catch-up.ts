/**
 * Getting the blocks that were made while this node was away, or all of them, from other storage nodes. Peers are asked in
 * turn for ranges; one that is silent or has nothing is passed over until it speaks again, one that sends a block that
 * fails verification is cut off. Nothing a peer says is believed: every block goes through the archive's own rules.
 */

import { decodeFullBlock } from '../../chain/codec.js';
import type { FullBlock } from '../../chain/types.js';
import type { Clock, Timer } from '../../lib/clock.js';
import { errorMessage, isTesseraError, TesseraError } from '../../lib/errors.js';
import type { Logger } from '../../lib/logger.js';
import { createSignal, type Signal } from '../../lib/signal.js';
import { type Metrics, noMetrics } from '../../observability/metrics.js';
import { MAX_BLOCKS_PER_ANSWER, type MessageType } from '../../peers/messages.js';
import type { Link, Message, PeerNetwork } from '../../peers/network.js';
import type { Archive } from '../archive/archive.js';
import { splitBlocks } from './full-block.js';

const DEFAULT_REQUEST_TIMEOUT_MS = 10_000;
const DEFAULT_RETRY_MS = 5_000;
/** Longest time for which a peer's word does not count. */
const MAX_DOUBT_MS = 600_000;

interface Doubt {
  readonly failures: number;
  /** `clock.monotonic()` until which its word does not count. */
  readonly until: number;
}

export interface CatchUpOptions {
  /** How long a peer may take to answer. */
  readonly requestTimeoutMs?: number;
  /** After a failure peers are asked again for their tips in this time. */
  readonly retryMs?: number;
  readonly blocksPerRequest?: number;
}

export interface CatchUpModules {
  readonly archive: Archive;
  readonly network: Pick<PeerNetwork, 'links' | 'linkUp' | 'linkDown'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics?: Metrics;
}

/** `height` is the number of blocks stored, `target` the number that the furthest peer says it has. */
export interface CatchUpProgress {
  readonly height: number;
  readonly target: number;
}

export interface CatchUp {
  /** Where it is while blocks are being fetched; undefined when nothing is to be done. */
  readonly current: CatchUpProgress | undefined;
  readonly progress: Signal<CatchUpProgress>;
  /** Nothing more is to be fetched for now. */
  readonly idle: Signal<CatchUpProgress>;
  start(): void;
  stop(): Promise<void>;
  /** A storage node said that it has `next` blocks. */
  hear(link: Link, next: number): void;
  /** Asks all storage nodes how far they are. */
  lookAround(): void;
}

export function createCatchUp(options: CatchUpOptions, modules: CatchUpModules): CatchUp {
  const { archive, network, clock, logger, metrics = noMetrics } = modules;
  const { requestTimeoutMs = DEFAULT_REQUEST_TIMEOUT_MS, retryMs = DEFAULT_RETRY_MS } = options;
  const blocksPerRequest = Math.min(options.blocksPerRequest ?? MAX_BLOCKS_PER_ANSWER, MAX_BLOCKS_PER_ANSWER);

  const tips = new Map<Link, number>();
  /** By node key: peers that said they have more blocks and did not give them, or gave blocks that are not valid here. */
  const doubts = new Map<string, Doubt>();
  const progress = createSignal<CatchUpProgress>();
  const idle = createSignal<CatchUpProgress>();
  const stopping = new AbortController();
  const subscriptions: (() => void)[] = [];
  const asking = new Set<Promise<void>>();
  let running: Promise<void> | undefined;
  let retry: Timer | undefined;
  let turn = 0;
  /** The peer that was asked last. */
  let tried: Link | undefined;

  const status = (): CatchUpProgress => ({
    height: archive.nextHeight,
    target: Math.max(archive.nextHeight, ...tips.values()),
  });

  const behind = metrics.gauge('tessera_storage_blocks_behind');
  metrics.beforeScrape(() => behind.set(running === undefined ? 0 : status().target - archive.nextHeight));

  const isSource = (link: Link): boolean => link.role === 'storage' && link.trusted;

  const hear = (link: Link, next: number): void => {
    if (stopping.signal.aborted || !isSource(link) || isDoubted(link)) return;
    tips.set(link, next);
    wake();
  };

  const wake = (): void => {
    if (running !== undefined || stopping.signal.aborted || sources().length === 0) return;
    running = run().finally(() => {
      running = undefined;
      idle.emit(status());
      wake();
    });
  };

  /** Peers that say they have more. */
  const sources = (): Link[] => [...tips].filter(([, next]) => next > archive.nextHeight).map(([link]) => link);

  const isDoubted = ({ nodeKey }: Link): boolean => clock.monotonic() < (doubts.get(nodeKey)?.until ?? 0);

  /** The word of a peer that does not keep it counts for less each time; one that gives wrong blocks is left alone for long. */
  const doubt = ({ nodeKey }: Link, isWrong: boolean): void => {
    const failures = (doubts.get(nodeKey)?.failures ?? 0) + 1;
    const pauseMs = isWrong ? MAX_DOUBT_MS : Math.min(retryMs * 2 ** (failures - 1), MAX_DOUBT_MS);
    doubts.set(nodeKey, { failures, until: clock.monotonic() + pauseMs });
  };

  const run = async (): Promise<void> => {
    logger.info(status(), 'catching up with other storage nodes');
    while (!stopping.signal.aborted) {
      const candidates = sources();
      const link = candidates[turn++ % Math.max(candidates.length, 1)];
      if (link === undefined) break;
      try {
        await fetchFrom(link);
      } catch (error) {
        if (stopping.signal.aborted) return;
        passOver(link, error);
      }
    }
    logger.info(status(), 'caught up as far as other storage nodes can be used');
  };

  const fetchFrom = async (link: Link): Promise<void> => {
    tried = link;
    const from = archive.nextHeight;
    const reply = await link.request(
      'blocks.get',
      { from, count: blocksPerRequest },
      { timeoutMs: requestTimeoutMs, signal: stopping.signal },
    );
    if (!isMessage(reply, 'blocks')) throw new TesseraError('peer_unreachable', `the peer answered with ${reply.type}`);
    if (reply.body.from !== from)
      throw new TesseraError('protocol_violation', 'the peer sent other blocks than asked for');
    if (reply.body.count === 0) throw new TesseraError('peer_unreachable', 'the peer has no such blocks after all');
    for (const bytes of splitBlocks(reply.attachment, reply.body.count)) {
      if (stopping.signal.aborted) return;
      await storeFetched(decodeFullBlock(bytes));
      doubts.delete(link.nodeKey);
      progress.emit(status());
    }
    // A range that was stored in the meantime is progress too; otherwise the peer would be asked for ever.
    if (archive.nextHeight === from)
      throw new TesseraError('protocol_violation', 'the peer sent blocks of other numbers');
  };

  /** Stores a block, unless the mempool delivers it before it is its turn: that is no fault of the peer. */
  const storeFetched = async (full: FullBlock): Promise<void> => {
    const isStored = (): boolean => full.block.header.bNum < BigInt(archive.nextHeight);
    if (isStored()) return;
    try {
      await archive.store(full);
    } catch (error) {
      if (!(isTesseraError(error, 'block_refused') && isStored())) throw error;
    }
  };

  /** Not to be asked again before it speaks again, or never. */
  const passOver = (link: Link, error: unknown): void => {
    tips.delete(link);
    scheduleRetry();
    const facts = { err: error, peer: link.address };
    if (isTesseraError(error, 'peer_unreachable')) {
      doubt(link, false);
      logger.warn(facts, 'a storage node does not give its blocks');
      return;
    }
    if (isTesseraError(error, 'data_corrupt') || isTesseraError(error, 'database_failed')) {
      // Not the peer's fault, and no peer can help: wait for the retry or for the node to stop.
      logger.error(facts, 'a fetched block cannot be stored');
      tips.clear();
      return;
    }
    doubt(link, true);
    logger.warn(facts, 'a storage node sent a block that is not valid here');
    // A block that only does not fit to our last one may be right, and we on the wrong chain: no reason to cut it off.
    if (!(isTesseraError(error) && error.details.rule === 'link')) link.close(`invalid block: ${errorMessage(error)}`);
  };

  const scheduleRetry = (): void => {
    retry ??= clock.after(retryMs, () => {
      retry = undefined;
      lookAround();
    });
  };

  const lookAround = (): void => {
    for (const link of network.links) ask(link);
  };

  const ask = (link: Link): void => {
    if (stopping.signal.aborted || !isSource(link)) return;
    if (isDoubted(link)) {
      scheduleRetry();
      return;
    }
    const question = link
      .request('chain.tip.get', {}, { timeoutMs: requestTimeoutMs, signal: stopping.signal })
      .then((reply) => {
        if (isMessage(reply, 'chain.tip')) hear(link, reply.body.next);
      })
      .catch((error: unknown) => {
        if (stopping.signal.aborted) return;
        logger.warn({ err: error, peer: link.address }, 'a storage node does not say how far it is');
        if (network.links.has(link)) scheduleRetry();
      })
      .finally(() => asking.delete(question));
    asking.add(question);
  };

  return {
    get current() {
      // A peer that has broken its word before does not make this node wait: it is asked all the same.
      return running && (tried === undefined || !doubts.has(tried.nodeKey)) ? status() : undefined;
    },
    progress,
    idle,
    hear,
    lookAround,
    start() {
      subscriptions.push(
        network.linkUp.on(ask),
        network.linkDown.on(({ link }) => tips.delete(link)),
      );
      lookAround();
    },
    async stop() {
      stopping.abort();
      retry?.cancel();
      for (const unsubscribe of subscriptions.splice(0)) unsubscribe();
      await running;
      await Promise.all(asking);
    },
  };
}

function isMessage<T extends MessageType>(message: Message, type: T): message is Message<T> {
  return message.type === type;
}
