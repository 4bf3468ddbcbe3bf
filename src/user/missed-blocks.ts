/** Brings the wallet block by block to where a mempool node says the chain is, before its outputs are believed. */

import type { Producers } from '../chain/certificate.js';
import type { Clock } from '../lib/clock.js';
import { isTesseraError, TesseraError } from '../lib/errors.js';
import type { Logger } from '../lib/logger.js';
import { TimeSlices } from '../lib/time-slices.js';
import type { PeerNetwork } from '../peers/network.js';
import type { ChainPoint } from '../wallet/block-intake.js';
import type { Wallet } from '../wallet/wallet.js';
import { BlockSource, isLinkFault } from './block-source.js';

/** Seconds by which the clock of this node may be ahead of the time in blocks: a day. */
const CLOCK_MARGIN = 86_400;

export interface MissedBlocksOptions {
  /** Configured storage nodes, `host:port`. */
  readonly storages: readonly string[];
  /** Undefined in a network that names none. */
  readonly producers?: Producers | undefined;
}

export interface MissedBlocksModules {
  readonly wallet: Wallet;
  readonly network: PeerNetwork;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Told how many of the missed blocks have been taken in. */
  readonly onMissed?: ((done: number, total: number) => void) | undefined;
}

export class MissedBlocks {
  readonly #modules: MissedBlocksModules;
  readonly #source: BlockSource | undefined;

  constructor({ storages, producers }: MissedBlocksOptions, modules: MissedBlocksModules) {
    const { wallet, network, clock, logger } = modules;
    this.#modules = modules;
    if (storages.length > 0 && producers !== undefined) {
      const check = wallet.chain.check.bind(wallet.chain);
      this.#source = new BlockSource({ storages, producers }, { network, slices: new TimeSlices(clock), check });
      return;
    }
    const why = storages.length === 0 ? 'peers.storage names no storage node' : 'network.producer_keys is empty';
    logger.info({}, `${why}: what comes while this node is away will have neither block nor sender in the history`);
  }

  /** Takes in the blocks up to this one; true if there were any. Throws `peer_unreachable` when no storage node gives them. */
  async reach(point: ChainPoint, signal: AbortSignal): Promise<boolean> {
    const { wallet } = this.#modules;
    if (this.#source === undefined || point.height <= wallet.chain.height) return false;
    // In a folder of an early version: the next refresh puts the wallet on a block that is known by its hash.
    if (wallet.chain.height >= 0 && wallet.chain.tipHash === undefined) return false;
    try {
      await this.#takeIn(this.#source, point.height, signal);
      return true;
    } catch (error) {
      // Nobody has signed the last block that the wallet knows, and it is none of the chain: the refresh replaces it.
      if (isLinkFault(error) && wallet.chain.height >= 0 && !wallet.chain.isTipCertified) return false;
      throw error;
    }
  }

  async #takeIn(source: BlockSource, end: number, signal: AbortSignal): Promise<void> {
    const { wallet, logger, onMissed } = this.#modules;
    if (wallet.chain.height < 0 && wallet.chain.bornAt !== undefined) {
      const last = await source.lastBefore(wallet.chain.bornAt - CLOCK_MARGIN, end, signal);
      if (last !== undefined) await wallet.chain.advanceTo(last);
    }
    const first = wallet.chain.height + 1;
    logger.info({ from: first, to: end }, 'reading the blocks that were missed from a storage node');
    while (wallet.chain.height < end) {
      const range = { from: wallet.chain.height + 1, to: end, previousHash: wallet.chain.tipHash ?? null };
      for (const told of await source.read(range, signal)) {
        signal.throwIfAborted();
        const outcome = await wallet.chain.apply(told).catch(notOfTheMempool);
        if (outcome === 'gap') throw new TesseraError('peer_unreachable', `block ${range.from} does not follow`);
      }
      await wallet.chain.sync();
      onMissed?.(wallet.chain.height - first + 1, end - first + 1);
    }
  }
}

/** The mempool node that is being followed is not to blame for a block of a storage node. */
function notOfTheMempool(error: unknown): never {
  if (!isTesseraError(error, 'protocol_violation')) throw error;
  throw new TesseraError('peer_unreachable', error.message, { cause: error });
}
