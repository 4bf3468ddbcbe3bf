/**
 * Hands closed blocks to storage until one storage node has confirmed them, and only then lets the chain go on. The block
 * is part of the state, so after a restart the delivery goes on by itself. Every linked storage node gets the block; the
 * first that has it on disk counts, the others may be catching up.
 */

import type { Clock, Timer } from '../../lib/clock.js';
import { errorMessage } from '../../lib/errors.js';
import type { Logger } from '../../lib/logger.js';
import { type Metrics, startTimer } from '../../observability/metrics.js';
import type { Link, Message, PeerNetwork } from '../../peers/network.js';
import type { Applier } from '../state/applier.js';
import { closedBlockBytes, closedHash, type Round } from '../state/round.js';
import type { MempoolState } from '../state/state.js';
import type { Signer } from './signer.js';

/** Milliseconds until a block that nobody confirmed is sent again. */
const RETRY_MS = 2_000;
/** Milliseconds that a storage node has for its answer: a full block may take seconds to check on a slow disk. */
const ANSWER_MS = 60_000;

export interface BlockSenderModules {
  readonly state: MempoolState;
  readonly applier: Applier;
  readonly network: PeerNetwork;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Undefined in a network that names no producers. */
  readonly signer?: Signer | undefined;
}

export class BlockSender {
  readonly #state: MempoolState;
  readonly #applier: Applier;
  readonly #network: PeerNetwork;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #signer: Signer | undefined;
  readonly #startTimer: () => () => void;
  /** Links that have been sent the block under way and have not answered yet. */
  readonly #asked = new Set<Link>();
  readonly #listeners: (() => void)[] = [];
  /** The closed block that storage shall keep, and the end of its measurement. */
  #sending: { readonly height: number; readonly stopTimer: () => void } | undefined;
  #problem: { readonly height: number; readonly text: string } | undefined;
  #retryTimer: Timer | undefined;
  #confirming = false;
  #running = false;

  constructor({ state, applier, network, clock, logger, metrics, signer }: BlockSenderModules) {
    this.#state = state;
    this.#applier = applier;
    this.#network = network;
    this.#clock = clock;
    this.#logger = logger;
    this.#signer = signer;
    const seconds = metrics.histogram('tessera_mempool_block_confirm_seconds');
    this.#startTimer = () => startTimer(seconds, clock);
  }

  /** Why the closed block is not stored though a storage node was asked; empty while there is nothing to say. */
  get problem(): string {
    return this.#problem !== undefined && this.#problem.height === this.#state.round?.height ? this.#problem.text : '';
  }

  start(): void {
    this.#running = true;
    this.#listeners.push(
      this.#applier.applied.on(() => this.#proceed()),
      this.#applier.confirmed.on(({ height }) => this.#onConfirmed(height)),
      this.#network.linkUp.on(() => this.#proceed()),
    );
    this.#proceed();
  }

  stop(): void {
    this.#running = false;
    this.#retryTimer?.cancel();
    for (const remove of this.#listeners.splice(0)) remove();
  }

  #proceed(): void {
    const { round } = this.#state;
    if (!this.#running || round === null || round.winner === null) return;
    if (this.#sending?.height !== round.height) {
      this.#sending = { height: round.height, stopTimer: this.#startTimer() };
    }
    if (this.#confirming) return;
    const links = [...this.#network.links].filter(
      (link) => link.role === 'storage' && link.trusted && !this.#asked.has(link),
    );
    if (links.length === 0) return;
    const hash = closedHash(round);
    const bytes = closedBlockBytes(round);
    for (const link of links) void this.#send(link, round, hash, bytes);
  }

  async #send(link: Link, round: Round, hash: string, bytes: Uint8Array): Promise<void> {
    this.#asked.add(link);
    const certificate = this.#signer?.block({ height: round.height, hash });
    try {
      const answer = await link.request(
        'block.deliver',
        { block_num: round.height, hash, ...(certificate && { certificate }) },
        { attachment: bytes, timeoutMs: ANSWER_MS },
      );
      if (answer.type === 'block.stored') await this.#confirm(round, hash);
      else this.#sendAgain(round, link, refusalOf(answer));
    } catch (error) {
      this.#sendAgain(round, link, errorMessage(error));
    } finally {
      this.#asked.delete(link);
      // It was left out of the delivery of the next block while it was busy with this one.
      if (!this.#isCurrent(round)) this.#proceed();
    }
  }

  async #confirm(round: Round, hash: string): Promise<void> {
    if (!this.#isCurrent(round) || this.#confirming) return;
    this.#confirming = true;
    try {
      await this.#applier.submit<'block-stored'>({ kind: 'block-stored', height: round.height, hash });
    } finally {
      this.#confirming = false;
      this.#proceed();
    }
  }

  #onConfirmed(height: number): void {
    if (this.#sending?.height === height) this.#sending.stopTimer();
    this.#sending = undefined;
  }

  #sendAgain(round: Round, link: Link, reason: string): void {
    if (!this.#running || !this.#isCurrent(round)) return;
    const { height } = round;
    this.#logger.warn({ height, storage: link.address, reason }, `block ${height} is not stored yet`);
    this.#problem = { height, text: `block ${height} is not stored: ${link.address}: ${reason}` };
    this.#retryTimer?.cancel();
    this.#retryTimer = this.#clock.after(RETRY_MS, () => this.#proceed());
  }

  #isCurrent(round: Round): boolean {
    return this.#state.round !== null && this.#state.round.height === round.height;
  }
}

function refusalOf(answer: Message): string {
  if (answer.type === 'block.refused') return (answer as Message<'block.refused'>).body.reason;
  return `it answered ${answer.type}`;
}
