/**
 * What the chain says to the wallet: blocks, refreshes of addresses, and where the next mining reward goes. A block is checked
 * before it is taken in (`block-check.ts`).
 */

import type { FullBlock, Transaction } from '../chain/types.js';
import { TesseraError } from '../lib/errors.js';
import type { TimeSlices } from '../lib/time-slices.js';
import { checkBlock, checkPlace } from './block-check.js';
import { AddressRefresh } from './coins/address-refresh.js';
import type { BlockOutcome, CoinStore } from './coins/coin-store.js';
import type { KeyRing } from './keys/key-ring.js';
import type { MetaStore } from './meta.js';
import type { Settlement } from './payments/settlement.js';
import type { Transfers } from './transfers.js';
import type { WriteBuffer } from './write-buffer.js';

/** A block by its place, as a mempool node names its last stored one. */
export interface ChainPoint {
  /** -1 before the first block. */
  readonly height: number;
  /** Null when it was not told. */
  readonly hash: string | null;
}

export interface BlockIntakeOptions {
  /** Blocks after this one carry a difficulty target; without it none does. */
  readonly activationHeight?: number | undefined;
}

export interface BlockIntakeModules {
  readonly coins: CoinStore;
  readonly keys: KeyRing;
  readonly meta: MetaStore;
  readonly settlement: Settlement;
  readonly slices: TimeSlices;
  readonly transfers: Transfers;
  readonly writes: WriteBuffer;
}

export class BlockIntake {
  readonly #activationHeight: number;
  readonly #modules: BlockIntakeModules;

  constructor({ activationHeight = Number.POSITIVE_INFINITY }: BlockIntakeOptions, modules: BlockIntakeModules) {
    this.#activationHeight = activationHeight;
    this.#modules = modules;
  }

  /** Last block taken in; -1 before the first. */
  get height(): number {
    return this.#modules.coins.height;
  }

  /** Hash of that block, when it is known. */
  get tipHash(): string | undefined {
    return this.#modules.meta.current.blockHash;
  }

  /**
   * Throws `protocol_violation` for a block that is not what it says, has no proof of work, or does not follow the last one.
   */
  async apply(block: FullBlock, hash: string): Promise<BlockOutcome> {
    const { settlement, meta, transfers, writes } = this.#modules;
    writes.checkOpen();
    const { header } = block.block;
    checkBlock(block, hash, { activationHeight: this.#activationHeight, concerns: (tx) => this.#concerns(tx) });
    checkPlace(header, hash, { height: this.height, hash: this.tipHash });
    const { outcome, done } = settlement.takeBlock(block);
    if (outcome === 'applied') {
      meta.update({ blockHash: hash });
      this.#noteReward(block.miningTransaction);
    }
    if (outcome === 'applied' || done.length > 0) await settlement.commit(done);
    if (outcome === 'applied') transfers.mergeLater();
    return outcome;
  }

  /**
   * Begins to take in the chain's word on these addresses, as of a block. Undefined when the wallet is ahead of it. Throws
   * `protocol_violation` when the wallet knows another block of this height.
   */
  beginRefresh(addresses: readonly string[], point: ChainPoint): AddressRefresh | undefined {
    const { keys, writes } = this.#modules;
    writes.checkOpen();
    if (point.height < this.height) return undefined;
    if (point.height === this.height && point.hash !== null && (this.tipHash ?? point.hash) !== point.hash) {
      throw new TesseraError('protocol_violation', `block ${point.height} is ${this.tipHash}, not ${point.hash}`);
    }
    return new AddressRefresh(
      new Set(addresses.filter((address) => keys.addresses.has(address))),
      point.height,
      this.#modules,
    );
  }

  /** All addresses were refreshed as of this block. */
  async advanceTo({ height, hash }: ChainPoint): Promise<void> {
    const { coins, meta, settlement, transfers, writes } = this.#modules;
    writes.checkOpen();
    if (height > this.height) meta.update({ blockHash: hash ?? undefined });
    coins.advanceTo(height);
    await settlement.commit();
    transfers.mergeLater();
  }

  /** A durable address for the next mining reward; a new one after each reward. */
  async rewardAddress(): Promise<string> {
    const { meta, keys, writes } = this.#modules;
    writes.checkOpen();
    const address = meta.current.rewardAddress ?? keys.create();
    if (meta.current.rewardAddress === null) meta.update({ rewardAddress: address });
    await writes.flush();
    return address;
  }

  #concerns({ inputs, outputs, fees }: Transaction): boolean {
    const { coins, keys } = this.#modules;
    return (
      [...outputs, ...fees].some(({ scriptPublicKey: to }) => to !== null && keys.addresses.has(to)) ||
      inputs.some(({ previousOut }) => previousOut !== null && coins.has(previousOut))
    );
  }

  #noteReward({ outputs }: Transaction): void {
    const { meta } = this.#modules;
    const { rewardAddress } = meta.current;
    if (rewardAddress !== null && outputs.some(({ scriptPublicKey: to }) => to === rewardAddress)) {
      meta.update({ rewardAddress: null });
    }
  }
}
