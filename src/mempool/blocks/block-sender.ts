/**
 * Hands closed blocks to every linked storage node until one has confirmed them, also after a restart. A node that lacks some of the latest blocks
 * gets those first. Of several nodes at one journal the leader does that; the others ask storage how far it is, with each block.
 */

import type { Timer } from '../../lib/clock.js';
import { errorMessage } from '../../lib/errors.js';
import { inPieces } from '../../lib/pieces.js';
import { TimeSlices } from '../../lib/time-slices.js';
import { startTimer } from '../../observability/metrics.js';
import type { RoundFactsBody } from '../../peers/messages.js';
import type { Link, Message } from '../../peers/network.js';
import type { MempoolParts } from '../modules.js';
import type { RoundFacts } from '../state/commands.js';
import { keys } from '../state/layout.js';
import { decodeKept, type KeptRecord } from '../state/records.js';
import { closedBlockPieces, closedHash } from '../state/round.js';
import type { Signer } from './signer.js';
import { relationOf } from './storage-tips.js';

/** Milliseconds until a block that nobody confirmed is sent again. */
const RETRY_MS = 2_000;
/** Milliseconds until a block that breaks a rule of storage is sent again: the answer changes when somebody acts. */
const REFUSED_MS = 60_000;
/** Milliseconds a storage node has to answer: checking a full block may take seconds on a slow disk. */
const ANSWER_MS = 60_000;

export interface BlockSenderModules
  extends Pick<MempoolParts, 'applier' | 'clock' | 'leadership' | 'logger' | 'metrics' | 'state' | 'store' | 'tips'> {
  /** Signer of blocks; undefined in a network that names no producers. */
  readonly signer?: Signer | undefined;
}

interface BlockName {
  readonly height: number;
  readonly hash: string;
}

export class BlockSender {
  readonly #modules: BlockSenderModules;
  readonly #startTimer: () => () => void;
  readonly #slices: TimeSlices;
  readonly #asked = new Set<Link>();
  readonly #resting = new Set<Link>();
  /** Links of storage nodes that say the closed block breaks a rule, until the next attempt. */
  readonly #refusing = new Set<Link>();
  readonly #listeners: (() => void)[] = [];
  /** The closed block that storage must keep, and the function that ends the measurement of its delivery. */
  #sending: { readonly height: number; readonly stopTimer: () => void } | undefined;
  #problem: { readonly height: number; readonly text: string } | undefined;
  #retryTimer: Timer | undefined;
  #refusedTimer: Timer | undefined;
  #confirming = false;
  #running = false;

  constructor(modules: BlockSenderModules) {
    const { clock, metrics } = modules;
    this.#modules = modules;
    this.#slices = new TimeSlices(clock);
    const seconds = metrics.histogram('tessera_mempool_block_confirm_seconds');
    this.#startTimer = () => startTimer(seconds, clock);
  }

  /** Why the closed block is not stored although a storage node was asked; null while there is nothing to report. */
  get problem(): string | null {
    return this.#problem !== undefined && this.#isCurrent(this.#problem.height) ? this.#problem.text : null;
  }

  /** True while a storage node has been sent a block and has not answered. */
  get isWaiting(): boolean {
    return this.#asked.size > 0;
  }

  start(): void {
    this.#running = true;
    this.#listeners.push(
      this.#modules.applier.applied.on(() => this.#proceed()),
      this.#modules.applier.confirmed.on(({ height }) => this.#onConfirmed(height)),
      this.#modules.tips.changed.on(() => this.#proceed()),
      this.#modules.leadership.changed.on(() => this.#onLeadership()),
    );
    this.#proceed();
  }

  stop(): void {
    this.#running = false;
    this.#retryTimer?.cancel();
    this.#refusedTimer?.cancel();
    for (const remove of this.#listeners.splice(0)) remove();
  }

  #onLeadership(): void {
    if (!this.#modules.leadership.leads) return;
    // Another node may have led and sent blocks meanwhile.
    this.#modules.tips.askAnew();
    void this.#noteHead();
  }

  /** Tells the journal of the last stored block: its last leader may have ended before, and another node would wait. */
  async #noteHead(): Promise<void> {
    const { height, hash } = this.#modules.state.head;
    if (hash === null) return;
    try {
      await this.#modules.applier.submit<'block-stored'>({ kind: 'block-stored', height, hash });
    } catch (error) {
      this.#modules.logger.warn(
        { height, reason: errorMessage(error) },
        'the journal does not take the notice of a stored block',
      );
    }
  }

  #proceed(): void {
    if (!this.#running || !this.#modules.leadership.leads) return;
    const { closing } = this.#modules.state;
    if (closing !== null && this.#sending?.height !== closing.height) {
      this.#sending = { height: closing.height, stopTimer: this.#startTimer() };
    }
    for (const [link, tip] of this.#modules.tips.all) {
      if (this.#asked.has(link) || this.#resting.has(link)) continue;
      const relation = relationOf(tip, this.#modules.state);
      if (relation === 'confirming') void this.#confirmTold(link);
      else if (relation === 'even' && !this.#refusing.has(link)) this.#sendClosed(link);
      else if (relation === 'behind') this.#sendKept(link, tip.next);
    }
  }

  /** Confirms the closed block when storage reports it without being asked: an answer was lost. */
  async #confirmTold(from: Link): Promise<void> {
    const { closing } = this.#modules.state;
    if (closing === null || this.#confirming) return;
    const { height } = closing;
    try {
      const hash = closedHash(closing);
      await this.#confirm(height, hash);
      for (const link of this.#modules.tips.all.keys()) link.send('chain.tip', { next: height + 1, hash });
      // The following block may have been closed meanwhile.
      this.#proceed();
    } catch (error) {
      // The disk refuses the command, or the node is ending.
      this.#sendLater(from, height, errorMessage(error));
    }
  }

  #sendClosed(link: Link): void {
    const { closing } = this.#modules.state;
    if (closing === null || this.#confirming) return;
    const { height } = closing;
    const hash = closedHash(closing);
    void this.#send(link, { height, hash }, async () => {
      const current = this.#modules.state.closing;
      if (current?.height !== height) return undefined;
      const facts = this.#modules.state.closingFacts(current);
      // The block may not be put together yet, after a start or an early wake-up.
      return { bytes: await inPieces(closedBlockPieces(current), () => this.#slices.turn()), facts };
    });
  }

  #sendKept(link: Link, height: number): void {
    const hash = this.#modules.state.kept.hashAt(height);
    if (hash === undefined) return;
    void this.#send(link, { height, hash }, async () => {
      const record = await this.#modules.store.get(keys.kept(height));
      return record && decodeKept(record);
    });
  }

  async #send(link: Link, block: BlockName, read: () => Promise<KeptRecord | undefined>): Promise<void> {
    const { height, hash } = block;
    this.#asked.add(link);
    try {
      const record = await read();
      if (record === undefined) return;
      const certificate = this.#modules.signer?.block({ height, hash });
      const round = roundBody(record.facts);
      const body = { block_num: height, hash, round, ...(certificate && { certificate }) };
      const answer = await link.request('block.deliver', body, { attachment: record.bytes, timeoutMs: ANSWER_MS });
      if (answer.type === 'block.stored') await this.#onStored(link, block);
      else this.#onRefused(link, height, answer);
    } catch (error) {
      this.#sendLater(link, height, errorMessage(error));
    } finally {
      this.#asked.delete(link);
      this.#proceed();
    }
  }

  async #onStored(link: Link, { height, hash }: BlockName): Promise<void> {
    if (this.#isCurrent(height)) await this.#confirm(height, hash);
    const known = this.#modules.tips.all.get(link);
    if (known !== undefined && known.next <= height + 1) this.#modules.tips.note(link, { next: height + 1, hash });
  }

  /** Handles a refusal: storage expects a different block than this node assumed, or does not accept this one. */
  #onRefused(link: Link, height: number, answer: Message): void {
    const isRefused = answer.type === 'block.refused';
    const rule = isRefused ? (answer as Message<'block.refused'>).body.rule : undefined;
    if (rule !== undefined && this.#isCurrent(height)) this.#standStill(link, height, rule, refusalOf(answer));
    else this.#sendLater(link, height, refusalOf(answer));
    if (isRefused) this.#modules.tips.ask(link);
  }

  async #confirm(height: number, hash: string): Promise<void> {
    if (!this.#isCurrent(height) || this.#confirming) return;
    this.#confirming = true;
    try {
      await this.#modules.applier.submit<'block-stored'>({ kind: 'block-stored', height, hash });
    } finally {
      this.#confirming = false;
    }
  }

  #onConfirmed(height: number): void {
    if (this.#sending?.height === height) this.#sending.stopTimer();
    this.#sending = undefined;
    this.#refusing.clear();
    if (!this.#modules.leadership.leads) this.#modules.tips.askAll();
  }

  /** Reports a refused block to the operator: sending it again does not help. A storage node that links again is asked at once. */
  #standStill(link: Link, height: number, rule: string, reason: string): void {
    if (!this.#running) return;
    this.#modules.logger.error({ height, storage: link.address, rule, reason }, `storage refuses block ${height}`);
    const text = `block ${height} is refused by storage node ${link.address} for the rule ${rule}: ${reason}; no block is made until that is mended`;
    this.#problem = { height, text };
    this.#refusing.add(link);
    this.#refusedTimer ??= this.#modules.clock.after(REFUSED_MS, () => {
      this.#refusedTimer = undefined;
      this.#refusing.clear();
      this.#proceed();
    });
  }

  #sendLater(link: Link, height: number, reason: string): void {
    if (!this.#running || (height > this.#modules.state.head.height && !this.#isCurrent(height))) return;
    this.#modules.logger.warn({ height, storage: link.address, reason }, `block ${height} is not stored yet`);
    this.#problem = { height, text: `block ${height} is not stored: ${link.address}: ${reason}` };
    this.#resting.add(link);
    this.#retryTimer ??= this.#modules.clock.after(RETRY_MS, () => {
      this.#retryTimer = undefined;
      this.#resting.clear();
      this.#proceed();
    });
  }

  #isCurrent(height: number): boolean {
    return this.#modules.state.closing?.height === height;
  }
}

function roundBody({ participants, proofHashes, asertHashes }: RoundFacts): RoundFactsBody {
  return { participants: [...participants], proofs: [...proofHashes], asert_hashes: asertHashes };
}

function refusalOf(answer: Message): string {
  if (answer.type === 'block.refused') return (answer as Message<'block.refused'>).body.reason;
  if (answer.type === 'error') return (answer as Message<'error'>).body.detail;
  return `it answered ${answer.type}`;
}
