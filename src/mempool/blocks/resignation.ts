/** Makes a leader that cannot make blocks give up the lead to a node that can. When none can, they take turns. */

import type { Room } from '../../db/disk-room.js';
import type { Leadership } from '../../journal/journal.js';
import type { Timer } from '../../lib/clock.js';
import type { HasClock, HasLogger } from '../../observability/modules.js';
import type { Applier } from '../state/applier.js';
import type { MempoolState } from '../state/state.js';
import type { BlockMaker } from './block-maker.js';
import type { BlockSender } from './block-sender.js';
import type { ChainSync } from './chain-sync.js';
import type { StorageTips } from './storage-tips.js';

const LOOK_MS = 1_000;
/** Milliseconds for which a leader may be unable: links come up after the start. */
const UNABLE_MS = 10_000;
/** Milliseconds for which storage may answer nothing while it has a block to keep: the lease of a leader. */
const SILENT_MS = 5_000;

export interface ResignationModules extends HasClock, HasLogger {
  readonly leadership: Leadership;
  readonly maker: Pick<BlockMaker, 'miners'>;
  readonly tips: Pick<StorageTips, 'all' | 'answers'>;
  readonly sync: Pick<ChainSync, 'problem' | 'clocks'>;
  readonly sender: Pick<BlockSender, 'problem' | 'isWaiting'>;
  readonly applier: Pick<Applier, 'problem'>;
  readonly state: Pick<MempoolState, 'head'>;
  readonly room: Pick<Room, 'isLow'>;
  /** True while no node of ours makes blocks. */
  readonly isFollowed: () => boolean;
}

export class Resignation {
  readonly #modules: ResignationModules;
  #timer: Timer | undefined;
  #unableSince: number | undefined;
  #height: number | undefined;
  #isAsking = false;
  #stopped = false;

  constructor(modules: ResignationModules) {
    this.#modules = modules;
  }

  start(): void {
    this.#height = this.#modules.state.head.height;
    if (this.#modules.leadership.resign !== undefined) this.#lookLater();
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  #lookLater(): void {
    this.#timer = this.#modules.clock.after(LOOK_MS, () => {
      this.#look();
      this.#lookLater();
    });
  }

  #look(): void {
    const { leadership, clock, sync, state, sender } = this.#modules;
    const { height } = state.head;
    // A node that is still fetching blocks from storage goes on leading.
    const isGrowing = height !== this.#height;
    this.#height = height;
    // The node gives up the lease at each look: otherwise it would have it again before the clock is set.
    const { problem } = sync.clocks;
    if (problem !== null) {
      this.#resign(problem);
      return;
    }
    if (leadership.leads && !isGrowing && sender.isWaiting && !this.#isAsking) this.#askStorage(height);
    const reason = leadership.leads && !isGrowing ? this.#inability() : null;
    if (reason === null) {
      this.#unableSince = undefined;
      return;
    }
    const now = clock.monotonic();
    this.#unableSince ??= now;
    if (now - this.#unableSince < UNABLE_MS) return;
    this.#resign(reason);
  }

  /** Asks storage for a sign of life: a block may take it long, but a question is answered at once. */
  #askStorage(height: number): void {
    const { tips, leadership, state } = this.#modules;
    this.#isAsking = true;
    tips.answers(SILENT_MS, (isHeard) => {
      this.#isAsking = false;
      if (isHeard || this.#stopped || !leadership.leads || state.head.height !== height) return;
      this.#resign(`it has sent block ${height + 1}, and no storage node answers`);
    });
  }

  #resign(reason: string): void {
    const { logger, leadership } = this.#modules;
    this.#unableSince = undefined;
    if (leadership.leads) logger.warn({ reason }, `this node lets another make the blocks: ${reason}`);
    leadership.resign?.();
  }

  #inability(): string | null {
    const { maker, tips, sync, sender, applier, room, isFollowed } = this.#modules;
    if (maker.miners.length === 0 && !isFollowed()) return 'no miner has joined';
    if (tips.all.size === 0) return 'no storage node is linked';
    if (room.isLow) return 'its disk is nearly full';
    return applier.problem ?? sender.problem ?? sync.problem;
  }
}
