/**
 * A storage node's business put together: the archive, what it answers to other nodes, catching up, and telling other
 * storage nodes of each block.
 */

import type { Clock } from '../lib/clock.js';
import type { TesseraError } from '../lib/errors.js';
import type { Logger } from '../lib/logger.js';
import type { Signal } from '../lib/signal.js';
import type { PeerNetwork } from '../peers/network.js';
import type { Archive, StoredBlockName } from './archive/archive.js';
import { handleStorageMessages, tipBody } from './blocks/block-receiver.js';
import { type CatchUpOptions, type CatchUpProgress, createCatchUp } from './blocks/catch-up.js';
import type { StorageService } from './service.js';

export interface StorageServiceOptions {
  readonly catchUp?: CatchUpOptions;
}

export interface StorageServiceModules {
  readonly archive: Archive;
  /** Not started yet: the service sets its handlers when it is made. */
  readonly network: Pick<PeerNetwork, 'handle' | 'links' | 'linkUp' | 'linkDown'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface RunningStorageService extends StorageService {
  /** Begins to catch up with linked storage nodes and to tell them of blocks. */
  start(): Promise<void>;
  /** Ends what is under way; the archive's database stays open. */
  stop(): Promise<void>;
  /** Number of blocks stored. */
  readonly nextHeight: number;
  readonly blockStored: Signal<StoredBlockName>;
  /** Stored data failed its checks, or a block could not be written: the node must stop and show the error (rule P3). */
  readonly failed: Signal<TesseraError>;
  /** Undefined when no blocks are being fetched. */
  readonly catchingUp: CatchUpProgress | undefined;
  readonly catchUpProgress: Signal<CatchUpProgress>;
  /** Nothing more is to be fetched for now. */
  readonly caughtUp: Signal<CatchUpProgress>;
  readonly verify: Archive['verify'];
}

export function createStorageService(
  options: StorageServiceOptions,
  modules: StorageServiceModules,
): RunningStorageService {
  const { archive, network, logger } = modules;
  const catchUp = createCatchUp(options.catchUp ?? {}, modules);
  const subscriptions: (() => void)[] = [];

  handleStorageMessages({
    archive,
    network,
    logger,
    onBehind(blockNum) {
      logger.warn({ blockNum, next: archive.nextHeight }, 'the mempool is ahead of this archive');
      catchUp.lookAround();
    },
    onTip: catchUp.hear,
  });

  const announce = (): void => {
    for (const link of network.links)
      if (link.role === 'storage' && link.trusted) link.send('chain.tip', tipBody(archive));
  };

  return {
    entry: archive.entry,
    blockByNumber: archive.blockByNumber,
    latest: archive.latest,
    item: archive.item,
    verify: archive.verify,
    blockStored: archive.blockStored,
    failed: archive.failed,
    catchUpProgress: catchUp.progress,
    caughtUp: catchUp.idle,
    get nextHeight() {
      return archive.nextHeight;
    },
    get catchingUp() {
      return catchUp.current;
    },
    async start() {
      subscriptions.push(
        archive.blockStored.on(() => {
          // While catching up others know these blocks; they are told once it is done.
          if (catchUp.current === undefined) announce();
        }),
        catchUp.idle.on(announce),
      );
      catchUp.start();
    },
    async stop() {
      for (const unsubscribe of subscriptions.splice(0)) unsubscribe();
      await catchUp.stop();
    },
  };
}
