/** Takes in what the chain tells the wallet: checked blocks, refreshes of addresses, and where the next mining reward goes. */

import { blockCertificateFault, type Certificate } from '../chain/certificate.js';
import { namesOf } from '../chain/transaction.js';
import type { Transaction, Utxo } from '../chain/types.js';
import { TesseraError } from '../lib/errors.js';
import { assertSound } from '../lib/fault.js';
import { Mutex } from '../lib/mutex.js';
import { inPieces, type Pieces } from '../lib/pieces.js';
import { DoubleSigning } from '../observability/double-signing.js';
import { headFaultInPieces, placeFault, type ToldBlock, transactionsFaultInPieces } from './block-check.js';
import { AddressRefresh } from './coins/address-refresh.js';
import type { BlockOutcome } from './coins/coin-store.js';
import { Concern } from './concern.js';
import type { BlockPlace } from './history/history.js';
import type { WalletParts } from './modules.js';
import type { WalletOptions } from './options.js';
import type { Merges } from './payments/merges.js';
import type { Settlement } from './payments/settlement.js';

/** A block by its height and hash, as a mempool node names its last stored one. */
export interface ChainPoint {
  /** Height of the block; -1 before the first. */
  readonly height: number;
  /** Hash of the block; null when the node did not tell it. */
  readonly hash: string | null;
  readonly certificate?: Certificate | undefined;
}

export interface ProvenOutput {
  readonly utxo: Utxo;
  readonly made: {
    readonly hash: string;
    readonly transaction: Transaction;
    readonly isReward: boolean;
    readonly place: BlockPlace;
  };
}

/** Records of past blocks that wait to be written with those of later ones. */
const MAX_WAITING_RECORDS = 1_000;

export type BlockIntakeOptions = Pick<WalletOptions, 'activationHeight' | 'producers' | 'genesis'>;

export interface BlockIntakeModules
  extends Pick<WalletParts, 'coins' | 'history' | 'keys' | 'logger' | 'meta' | 'metrics' | 'slices' | 'writes'> {
  readonly merges: Merges;
  readonly settlement: Settlement;
}

export class BlockIntake {
  readonly #options: BlockIntakeOptions;
  readonly #modules: BlockIntakeModules;
  readonly #doubleSigning: DoubleSigning;
  readonly #concerns = new WeakMap<ToldBlock, Concern>();
  readonly #applying = new Mutex();

  constructor(options: BlockIntakeOptions, modules: BlockIntakeModules) {
    this.#options = options;
    this.#modules = modules;
    this.#doubleSigning = new DoubleSigning(modules);
  }

  get height(): number {
    return this.#modules.coins.height;
  }

  get tipHash(): string | undefined {
    return this.#modules.meta.current.blockHash;
  }

  /**
   * Checks a block in pieces. Rejects with `protocol_violation` when no producer has signed it, it is not what it says, or it has no proof of
   * work. The result is kept for this object as long as coins and keys stay the same.
   */
  async check(told: ToldBlock): Promise<void> {
    await this.#checked(told);
  }

  /** Applies a block. Throws `protocol_violation` as `check` does, and when it does not follow the last one. */
  apply(told: ToldBlock): Promise<BlockOutcome> {
    return this.#applying.run(() => this.#apply(told));
  }

  async #apply(told: ToldBlock): Promise<BlockOutcome> {
    const { history, settlement, merges, meta, writes } = this.#modules;
    const { full, hash } = told;
    writes.checkOpen();
    const concern = await this.#checked(told);
    await history.prepare(namesOf(full.block).filter((_, place) => concern.places.has(place)));
    writes.checkOpen();
    const misplaced = placeFault(full.block.header, hash, { height: this.height, hash: this.tipHash });
    if (misplaced !== null && this.#isTipOpen) return 'gap';
    if (misplaced !== null) this.#noteOther(placeBeside(told, this.height), told.certificate);
    assertSound(misplaced);
    const { outcome, done } = settlement.takeBlock(full, concern.isCurrent ? concern : undefined);
    if (outcome === 'applied') {
      meta.update({ blockHash: hash, certified: this.#options.producers !== undefined });
      this.#noteReward(full.miningTransaction);
    }
    const canWait = told.isPast === true && done.length === 0 && writes.size < MAX_WAITING_RECORDS;
    if (!canWait && (outcome === 'applied' || done.length > 0)) await settlement.commit(done);
    if (outcome === 'applied' && told.isPast !== true) merges.later();
    return outcome;
  }

  /** Makes past blocks durable. A crash before that takes back the last of them, with all that they have changed. */
  async sync(): Promise<void> {
    if (this.#modules.writes.size > 0) await this.#modules.settlement.commit();
  }

  /**
   * Begins to take in what the chain says of these addresses as of a block; undefined if the wallet is ahead. `canProve`: unknown outputs
   * can be proven, so they are set aside. Throws `protocol_violation` for an unsigned or another block.
   */
  beginRefresh(addresses: readonly string[], point: ChainPoint, canProve = false): AddressRefresh | undefined {
    const { keys, writes } = this.#modules;
    writes.checkOpen();
    this.checkPoint(point);
    const { height } = point;
    const isChecked = canProve && this.isTipCertified && height === this.height && point.hash === this.tipHash;
    const isOther = point.hash !== null && (this.tipHash ?? point.hash) !== point.hash;
    if (point.height < this.height || (point.height === this.height && isOther)) {
      if (!this.#isTipOpen) {
        if (point.height < this.height) return undefined;
        this.#noteOther(point, point.certificate);
        throw new TesseraError('protocol_violation', `block ${point.height} is ${this.tipHash}, not ${point.hash}`);
      }
      this.#goBackTo(point);
    }
    const own = new Set(addresses.filter((address) => keys.owns(address)));
    return new AddressRefresh({ addresses: own, height, isChecked }, this.#modules);
  }

  /** Takes in unspent outputs as of this block; false once it is not the last one. `hasMore`: true for an address with more to come. */
  async takeProven(
    outputs: readonly ProvenOutput[],
    height: number,
    hasMore: (address: string) => boolean = () => false,
  ): Promise<boolean> {
    const { coins, history, merges, settlement, writes } = this.#modules;
    writes.checkOpen();
    const made = new Map(outputs.map(({ made }) => [made.hash, made]));
    await history.prepare([...made.keys()]);
    if (this.height !== height) return false;
    const addresses = new Set(outputs.flatMap(({ utxo: [, { scriptPublicKey }] }) => scriptPublicKey ?? []));
    const utxos = outputs.map(({ utxo }) => utxo);
    history.takeArrivals(coins.takeUnspent(utxos, addresses, this.#modules.meta.beginArrival()));
    for (const { place, ...one } of made.values()) history.locateOne(one, place);
    history.endImport([...addresses].filter((address) => !hasMore(address)));
    await settlement.commit();
    merges.later();
    return true;
  }

  /** True when the wallet has seen the block of this transaction, as one that concerns it. */
  async hasSeen(hash: string): Promise<boolean> {
    return typeof (await this.#modules.history.byHash([hash])).get(hash)?.height === 'number';
  }

  async advanceTo(point: ChainPoint): Promise<void> {
    const { coins, merges, meta, settlement, writes } = this.#modules;
    const { height, hash } = point;
    writes.checkOpen();
    this.checkPoint(point);
    if (height > this.height || (height === this.height && this.#isTipOpen)) {
      meta.update({ blockHash: hash ?? undefined, certified: this.#options.producers !== undefined && height >= 0 });
    }
    coins.advanceTo(height);
    await settlement.commit();
    merges.later();
  }

  /** Unix seconds of the time before which no block concerns the keys of the words; undefined when that is not known. */
  get bornAt(): number | undefined {
    return this.#modules.meta.current.bornAt;
  }

  /** A durable address for the next mining reward; a new one after each reward. */
  async rewardAddress(): Promise<string> {
    const { meta, keys, writes } = this.#modules;
    writes.checkOpen();
    const address = meta.current.rewardAddress ?? keys.create('rewards');
    if (meta.current.rewardAddress === null) meta.update({ rewardAddress: address });
    await writes.flush();
    return address;
  }

  /** True when a producer has signed the last block. */
  get isTipCertified(): boolean {
    return this.height >= 0 && this.#options.producers !== undefined && !this.#isTipOpen;
  }

  /** True when the last block may be unsigned: an earlier version took it in, or no producer had signed it. */
  get #isTipOpen(): boolean {
    return this.#options.producers !== undefined && this.#modules.meta.current.certified !== true;
  }

  /** Throws `protocol_violation` when the network has producers and none of them has signed the block that is named. */
  checkPoint({ height, hash, certificate }: ChainPoint): void {
    if (this.#options.producers === undefined || height < 0) return;
    if (hash === null) throw new TesseraError('protocol_violation', `block ${height} was named without its hash`);
    assertSound(blockCertificateFault(this.#options.producers, { height, hash }, certificate));
  }

  /** Reports a signed block at the height of the last one, which is signed too. */
  #noteOther({ height, hash: other }: Pick<ChainPoint, 'height' | 'hash'>, certificate: Certificate | undefined): void {
    const kept = this.tipHash;
    if (this.#options.producers === undefined || certificate === undefined || kept === undefined || other === null)
      return;
    if (height !== this.height || other === kept) return;
    this.#doubleSigning.found({ height, kept, other, producer: certificate.key });
  }

  /** Replaces an unproven last block by a certified one, even a lower one. */
  #goBackTo({ height, hash }: ChainPoint): void {
    const { coins, meta } = this.#modules;
    coins.goBackTo(height);
    meta.update({ blockHash: hash ?? undefined, certified: true });
  }

  async #checked(told: ToldBlock): Promise<Concern> {
    const known = this.#concerns.get(told);
    if (known?.isCurrent) return known;
    const concern = await inPieces(this.#checkPieces(told), () => this.#modules.slices.turn());
    this.#concerns.set(told, concern);
    return concern;
  }

  *#checkPieces(told: ToldBlock): Pieces<Concern> {
    const isAgain = this.#concerns.has(told);
    // No transaction of a block that nobody has signed is read.
    if (!isAgain) assertSound(yield* headFaultInPieces(told, this.#options));
    const concern = yield* Concern.of(told.full, this.#modules);
    // Of a block that a later certificate proves, all transactions are looked at, so all must have their names. Once is enough.
    if (told.isProven === true && isAgain) return concern;
    const places = told.isProven === true ? namesOf(told.full.block).keys() : concern.places;
    assertSound(yield* transactionsFaultInPieces(told, places, this.#options));
    return concern;
  }

  #noteReward({ outputs }: Transaction): void {
    const { meta } = this.#modules;
    const { rewardAddress } = meta.current;
    if (rewardAddress !== null && outputs.some(({ scriptPublicKey: to }) => to === rewardAddress)) {
      meta.update({ rewardAddress: null });
    }
  }
}

/** The block that a new block puts at the height of the wallet's last one: itself, or its predecessor. */
function placeBeside({ full, hash }: ToldBlock, last: number): Pick<ChainPoint, 'height' | 'hash'> {
  const { bNum, previousHash } = full.block.header;
  const height = Number(bNum);
  return height === last + 1 ? { height: last, hash: previousHash } : { height, hash };
}
