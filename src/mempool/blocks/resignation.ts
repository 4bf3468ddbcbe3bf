/**
 * A leader that cannot make blocks, because no miner or no storage node is linked to it or its disk is full, makes room for a
 * node that can. When none can, each has its turn, and it is as if nobody had resigned.
 */

import type { Room } from '../../db/disk-room.js';
import type { Leadership } from '../../journal/leadership.js';
import type { Clock, Timer } from '../../lib/clock.js';
import type { Logger } from '../../lib/logger.js';
import type { Applier } from '../state/applier.js';
import type { BlockMaker } from './block-maker.js';
import type { StorageTips } from './storage-tips.js';

/** Milliseconds between two looks. */
const LOOK_MS = 1_000;
/** Milliseconds for which a leader may be unable: links come up after the start. */
const UNABLE_MS = 10_000;

export interface ResignationModules {
  readonly leadership: Leadership;
  readonly maker: Pick<BlockMaker, 'miners'>;
  readonly tips: Pick<StorageTips, 'all'>;
  readonly applier: Pick<Applier, 'problem'>;
  readonly room: Pick<Room, 'isLow'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class Resignation {
  readonly #modules: ResignationModules;
  #timer: Timer | undefined;
  #unableSince: number | undefined;

  constructor(modules: ResignationModules) {
    this.#modules = modules;
  }

  start(): void {
    if (this.#modules.leadership.resign !== undefined) this.#lookLater();
  }

  stop(): void {
    this.#timer?.cancel();
  }

  #lookLater(): void {
    this.#timer = this.#modules.clock.after(LOOK_MS, () => {
      this.#look();
      this.#lookLater();
    });
  }

  #look(): void {
    const { leadership, clock, logger } = this.#modules;
    const reason = leadership.leads ? this.#inability() : null;
    if (reason === null) {
      this.#unableSince = undefined;
      return;
    }
    const now = clock.monotonic();
    this.#unableSince ??= now;
    if (now - this.#unableSince < UNABLE_MS) return;
    this.#unableSince = undefined;
    logger.warn({ reason }, `this node lets another make the blocks: ${reason}`);
    leadership.resign?.();
  }

  /** Why this node can make no block; null when it can. */
  #inability(): string | null {
    const { maker, tips, applier, room } = this.#modules;
    if (maker.miners.length === 0) return 'no miner has joined';
    if (tips.all.size === 0) return 'no storage node is linked';
    return room.isLow ? 'its disk is nearly full' : applier.problem;
  }
}
