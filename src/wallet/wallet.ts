/**
 * The wallet of a node: keys, coins and own transactions in one place, for the API (`WalletService`), for the user service,
 * which sends what is queued and reports what the chain says, and for the miner, which asks for addresses. It knows no
 * network. Every write is durable when its promise resolves.
 */

import { addressOf } from '../chain/address.js';
import { tokenAsset } from '../chain/assets.js';
import { txOut } from '../chain/builders.js';
import type { WalletSeed } from '../chain/genesis.js';
import type { FullBlock, Transaction } from '../chain/types.js';
import type { ScryptCost } from '../crypto/scrypt.js';
import type { Kv } from '../db/kv.js';
import type { Clock } from '../lib/clock.js';
import { errorMessage, TesseraError } from '../lib/errors.js';
import type { Logger } from '../lib/logger.js';
import { createMutex } from '../lib/mutex.js';
import type { Random } from '../lib/random.js';
import type { Signal } from '../lib/signal.js';
import { TimeSlices } from '../lib/time-slices.js';
import { type Metrics, noMetrics } from '../observability/metrics.js';
import { checkBlock, checkPlace } from './block-check.js';
import { AddressRefresh } from './coins/address-refresh.js';
import type { CoinTotals } from './coins/coin-index.js';
import { type BlockOutcome, CoinStore, groupByAddress } from './coins/coin-store.js';
import { KeyRing } from './keys/key-ring.js';
import { Keystore } from './keys/keystore.js';
import { PassphraseLimiter } from './keys/passphrase-limiter.js';
import { FORMAT_KEY } from './layout.js';
import { MetaStore } from './meta.js';
import { type DonationLimits, DonationQuota } from './payments/donation-quota.js';
import { Outgoing, type OwnTransaction } from './payments/outgoing.js';
import { type ItemOrder, type PaymentOrder, Payments } from './payments/payments.js';
import { Settlement } from './payments/settlement.js';
import type { KeyPairRecord, OwnPayment, WalletInfo, WalletService } from './service.js';
import { WriteBuffer } from './write-buffer.js';

/** Inputs of one transaction: about 200 KB and 100 ms of signing. */
const DEFAULT_MAX_INPUTS = 500;
/** Raw units: a thousandth of a display token. Change below it is avoided where possible. */
const DEFAULT_DUST = 72_072n;

/** Asks the chain for the outpoints of addresses; resolves when the request is on its way. */
export type Refresher = (addresses: readonly string[]) => Promise<void>;

/** A block by its place, as a mempool node names its last stored one. */
export interface ChainPoint {
  /** -1 before the first block. */
  readonly height: number;
  /** Null when it was not told. */
  readonly hash: string | null;
}

export interface WalletOptions {
  /** Path of the keystore file. */
  readonly keystoreFile: string;
  /** Opens the wallet, or becomes its passphrase when it is new. */
  readonly passphrase: string;
  /** A new wallet may have a blank passphrase: development networks only (decision V25). */
  readonly allowBlankPassphrase: boolean;
  /** Merge small outputs when more spendable token outputs than this are held; null never does. */
  readonly aggregateAbove: number | null;
  /** Blocks after this one carry a difficulty target; without it none does. */
  readonly activationHeight?: number;
  readonly maxInputs?: number;
  /** Raw units. */
  readonly dust?: bigint;
  /** Funds and keys that a new wallet starts with (development and test networks). */
  readonly seeds?: readonly WalletSeed[];
  readonly seedKeyPairs?: ReadonlyMap<string, KeyPairRecord>;
  /** Cost of new seals; tests only. */
  readonly scryptCost?: ScryptCost;
}

export interface WalletModules {
  /** The wallet's own store; the wallet does not close it. */
  readonly kv: Kv;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics?: Metrics;
  /** How the folder of the keystore is synced; tests make it fail. */
  readonly syncFolder?: (folder: string) => Promise<void>;
}

interface Parts {
  readonly writes: WriteBuffer;
  readonly limiter: PassphraseLimiter;
  readonly keystore: Keystore;
  readonly keys: KeyRing;
  readonly meta: MetaStore;
  readonly coins: CoinStore;
  readonly outgoing: Outgoing;
  readonly donations: DonationQuota;
  readonly payments: Payments;
  readonly settlement: Settlement;
  readonly slices: TimeSlices;
  readonly logger: Logger;
}

export class Wallet implements WalletService {
  readonly #parts: Parts;
  readonly #activationHeight: number;
  readonly #merges = createMutex();
  #refresher: Refresher | null = null;
  #closed = false;

  private constructor(parts: Parts, activationHeight: number) {
    this.#parts = parts;
    this.#activationHeight = activationHeight;
  }

  /** Opens the wallet, or makes it. Throws `wrong_passphrase`, `wallet_unreadable`, `blank_passphrase`, `malformed_key_pair`. */
  static async open(options: WalletOptions, modules: WalletModules): Promise<Wallet> {
    const parts = await openParts(options, modules);
    const wallet = new Wallet(parts, options.activationHeight ?? Number.POSITIVE_INFINITY);
    if (!parts.meta.current.seeded) await wallet.#loadSeeds(options);
    const { metrics = noMetrics } = modules;
    metrics.beforeScrape(() => metrics.gauge('tessera_block_height').set(wallet.height));
    return wallet;
  }

  // What the API asks for

  async info({ page, spent }: { readonly page?: number; readonly spent?: boolean }): Promise<WalletInfo> {
    const { coins } = this.#parts;
    const list = spent === true ? await coins.spent() : coins.unspent(page);
    const { running, available, locked } = coins.totals();
    return { addresses: groupByAddress(list), running, available, locked, items: coins.items() };
  }

  async newAddress(): Promise<string> {
    this.#checkOpen();
    const { keys, writes } = this.#parts;
    const address = keys.create();
    writes.onFailure(() => keys.discard([address]));
    await writes.flush();
    return address;
  }

  async exportKeyPairs(): Promise<ReadonlyMap<string, KeyPairRecord>> {
    this.#checkOpen();
    return this.#parts.keys.exportPairs();
  }

  async importKeyPairs(pairs: ReadonlyMap<string, KeyPairRecord>): Promise<readonly string[]> {
    this.#checkOpen();
    const { keys, writes } = this.#parts;
    const added = [...pairs.keys()].filter((address) => !this.owns(address));
    const imported = keys.importPairs(pairs);
    writes.onFailure(() => keys.discard(added));
    await writes.flush();
    if (imported.length > 0) await this.#requestRefresh(imported);
    return imported;
  }

  changePassphrase(oldPassphrase: string, newPassphrase: string): Promise<void> {
    return this.#parts.keystore.changePassphrase(oldPassphrase, newPassphrase);
  }

  /** Own transactions by hash, oldest first; the API's name for them. */
  async outgoing(): Promise<readonly (readonly [hash: string, transaction: Transaction])[]> {
    return (await this.history()).map(({ hash, transaction }) => [hash, transaction] as const);
  }

  async payments({ limit }: { readonly limit?: number } = {}): Promise<readonly OwnPayment[]> {
    return (await this.#parts.outgoing.history(limit)).map(({ transaction, ...entry }) => ({
      ...entry,
      outputs: transaction.outputs.map(({ value, scriptPublicKey: address }) => ({
        address,
        value,
        own: address !== null && this.owns(address),
      })),
    }));
  }

  async refresh(target: { readonly all: true } | { readonly addresses: readonly string[] }): Promise<void> {
    this.#checkOpen();
    const wanted = 'all' in target ? this.addresses() : target.addresses;
    // Addresses of others are nothing to this wallet; asking for them would only tell the mempool node about them.
    const own = [...new Set(wanted)].filter((address) => this.owns(address));
    if ('addresses' in target && own.length === 0) {
      throw new TesseraError('no_addresses', 'addresses must name at least one address of this wallet');
    }
    await this.#requestRefresh(own);
  }

  // Keys and coins

  /** Throws `wrong_passphrase`; guessing is slowed (decisions V14, V26). */
  verifyPassphrase(passphrase: string): Promise<void> {
    return this.#parts.keystore.verify(passphrase);
  }

  /** Every own address. */
  addresses(): readonly string[] {
    return [...this.#parts.keys.addresses.keys()];
  }

  owns(address: string): boolean {
    return this.#parts.keys.addresses.has(address);
  }

  /** True when the address holds something that is not spent. */
  isUsed(address: string): boolean {
    return this.#parts.coins.isUsed(address);
  }

  totals(): CoinTotals {
    return this.#parts.coins.totals();
  }

  // Payments

  /** Throws `payment_refused`, `insufficient_funds`, `overloaded` or `wallet_write_failed`. */
  async pay(order: PaymentOrder): Promise<OwnTransaction> {
    this.#checkOpen();
    return this.#announce(await this.#parts.payments.pay(order));
  }

  /** As `pay`, counted as a donation to the peer; undefined when a limit is reached. */
  async donate(order: PaymentOrder, nodeKey: string, limits: DonationLimits): Promise<OwnTransaction | undefined> {
    this.#checkOpen();
    const { donations, payments } = this.#parts;
    if (!donations.take(nodeKey, limits)) return undefined;
    try {
      return this.#announce(await payments.pay({ ...order, kind: 'donation' }));
    } catch (error) {
      donations.giveBack(nodeKey);
      throw error;
    }
  }

  async createItem(order: ItemOrder): Promise<OwnTransaction> {
    this.#checkOpen();
    return this.#announce(await this.#parts.payments.createItem(order));
  }

  /** Own transactions that are queued or sent. */
  inFlight(): readonly OwnTransaction[] {
    return [...this.#parts.outgoing.inFlight()];
  }

  inFlightByHash(hash: string): OwnTransaction | undefined {
    return this.#parts.outgoing.get(hash);
  }

  /** Own addresses that a transaction in flight spends from and pays to. */
  addressesOf(hash: string): readonly string[] {
    const entry = this.#parts.outgoing.get(hash);
    return entry === undefined ? [] : this.#parts.coins.addressesOf(hash, entry.transaction);
  }

  /** Own transactions with their states, oldest first; the most recent ones. */
  history(): Promise<readonly OwnTransaction[]> {
    return this.#parts.outgoing.history();
  }

  /** The next transaction to send; it is not given again until `putBack`. */
  takeQueued(): OwnTransaction | undefined {
    return this.#parts.outgoing.takeQueued();
  }

  putBack(hash: string): void {
    this.#parts.outgoing.putBack(hash);
  }

  /** What became of own transactions. */
  get settlement(): Pick<Settlement, 'markSent' | 'requeue' | 'markRejected' | 'markConfirmed'> {
    return this.#parts.settlement;
  }

  /** An own transaction can be sent. */
  get queued(): Signal<OwnTransaction> {
    return this.#parts.settlement.queued;
  }

  /** An own transaction was confirmed or rejected. */
  get settled(): Signal<OwnTransaction> {
    return this.#parts.settlement.settled;
  }

  get changed(): Signal<CoinTotals> {
    return this.#parts.settlement.changed;
  }

  // The chain

  /** Last block taken in; -1 before the first. */
  get height(): number {
    return this.#parts.coins.height;
  }

  /** Hash of that block, when it is known. */
  get tipHash(): string | undefined {
    return this.#parts.meta.current.blockHash;
  }

  /**
   * Throws `protocol_violation` for a block that is not what it says, has no proof of work, or does not follow the last one.
   */
  async applyBlock(block: FullBlock, hash: string): Promise<BlockOutcome> {
    this.#checkOpen();
    const { header } = block.block;
    checkBlock(block, hash, { activationHeight: this.#activationHeight, concerns: (tx) => this.#concerns(tx) });
    checkPlace(header, hash, { height: this.height, hash: this.tipHash });
    const { settlement, meta } = this.#parts;
    const { outcome, done } = settlement.takeBlock(block);
    if (outcome === 'applied') {
      meta.update({ blockHash: hash });
      this.#noteReward(block.miningTransaction);
    }
    if (outcome === 'applied' || done.length > 0) await settlement.commit(done);
    if (outcome === 'applied') this.#mergeLater();
    return outcome;
  }

  /**
   * Begins to take in the chain's word on these addresses, as of a block. Undefined when the wallet is ahead of it. Throws
   * `protocol_violation` when the wallet knows another block of this number.
   */
  beginRefresh(addresses: readonly string[], point: ChainPoint): AddressRefresh | undefined {
    this.#checkOpen();
    if (point.height < this.height) return undefined;
    if (point.height === this.height && point.hash !== null && (this.tipHash ?? point.hash) !== point.hash) {
      throw new TesseraError('protocol_violation', `block ${point.height} is ${this.tipHash}, not ${point.hash}`);
    }
    return new AddressRefresh(new Set(addresses.filter((address) => this.owns(address))), point.height, this.#parts);
  }

  /** All addresses were refreshed as of this block. */
  async advanceTo({ height, hash }: ChainPoint): Promise<void> {
    this.#checkOpen();
    const { coins, meta, settlement } = this.#parts;
    if (height > this.height) meta.update({ blockHash: hash ?? undefined });
    coins.advanceTo(height);
    await settlement.commit();
    this.#mergeLater();
  }

  /** Who does refreshes; without one `refresh` throws `refresh_failed`. */
  setRefresher(refresher: Refresher | null): void {
    this.#refresher = refresher;
  }

  /** A durable address for the next mining reward; a new one after each reward. */
  async rewardAddress(): Promise<string> {
    this.#checkOpen();
    const { meta, keys, writes } = this.#parts;
    const address = meta.current.rewardAddress ?? keys.create();
    if (meta.current.rewardAddress === null) meta.update({ rewardAddress: address });
    await writes.flush();
    return address;
  }

  /** Writes what is staged and wipes the keys from memory. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    const { limiter, writes, keystore } = this.#parts;
    limiter.close();
    await this.#merges.run(() => undefined);
    await writes.flush().finally(() => keystore.close());
  }

  #checkOpen(): void {
    if (this.#closed) throw new TesseraError('shutting_down', 'the wallet is closed');
  }

  #announce(made: OwnTransaction): OwnTransaction {
    this.#parts.settlement.announce(made);
    return made;
  }

  #concerns({ inputs, outputs, fees }: Transaction): boolean {
    const { coins } = this.#parts;
    return (
      [...outputs, ...fees].some(({ scriptPublicKey: to }) => to !== null && this.owns(to)) ||
      inputs.some(({ previousOut }) => previousOut !== null && coins.has(previousOut))
    );
  }

  #noteReward({ outputs }: Transaction): void {
    const { meta } = this.#parts;
    const { rewardAddress } = meta.current;
    if (rewardAddress !== null && outputs.some(({ scriptPublicKey: to }) => to === rewardAddress)) {
      meta.update({ rewardAddress: null });
    }
  }

  /** Joins small coins in the background, one merge after the other. */
  #mergeLater(): void {
    const { payments, settlement, logger } = this.#parts;
    void this.#merges.run(async () => {
      if (this.#closed) return;
      try {
        for (const made of await payments.merge()) settlement.queued.emit(made);
      } catch (error) {
        logger.warn({ error: errorMessage(error) }, 'small outputs could not be merged; the next block tries again');
      }
    });
  }

  async #requestRefresh(addresses: readonly string[]): Promise<void> {
    if (this.#refresher === null)
      throw new TesseraError('refresh_failed', 'no mempool node is linked; try again later');
    try {
      await this.#refresher(addresses);
    } catch (cause) {
      throw new TesseraError('refresh_failed', `the refresh could not be requested: ${errorMessage(cause)}`, { cause });
    }
  }

  async #loadSeeds({ seeds = [], seedKeyPairs = new Map() }: WalletOptions): Promise<void> {
    const { keys, coins, meta, writes } = this.#parts;
    const placed = seeds.map((seed) => ({ seed, address: addressOf(seed.publicKey, seed.addressVersion) }));
    const pairs = new Map<string, KeyPairRecord>(seedKeyPairs);
    for (const { seed, address } of placed) pairs.set(address, seed);
    keys.importPairs(pairs);
    for (const { seed, address } of placed) {
      coins.add({ tHash: seed.tHash, n: seed.n }, txOut(tokenAsset(seed.amount), address));
    }
    meta.update({ seeded: true });
    await writes.flush();
  }
}

async function openParts(options: WalletOptions, modules: WalletModules): Promise<Parts> {
  const { kv, clock, random, logger, metrics = noMetrics } = modules;
  const writes = new WriteBuffer(kv);
  const limiter = new PassphraseLimiter(clock);
  const keystore = await Keystore.open(
    {
      file: options.keystoreFile,
      passphrase: options.passphrase,
      createIfMissing: (await kv.get(FORMAT_KEY)) === undefined,
      allowBlankPassphrase: options.allowBlankPassphrase,
      ...(options.scryptCost ? { scryptCost: options.scryptCost } : {}),
    },
    { random, limiter, ...(modules.syncFolder ? { syncFolder: modules.syncFolder } : {}) },
  );
  const keys = await KeyRing.open({ kv, writes, keystore, random });
  const meta = await MetaStore.open(kv, writes);
  const coins = await CoinStore.open({ kv, writes, meta, owns: (address) => keys.addresses.has(address) });
  const outgoing = await Outgoing.open(kv, writes, meta);
  const donations = await DonationQuota.open(kv, writes, clock);
  const slices = new TimeSlices(clock);
  const limits = { maxInputs: options.maxInputs ?? DEFAULT_MAX_INPUTS, dust: options.dust ?? DEFAULT_DUST };
  const payments = new Payments(
    { limits, aggregateAbove: options.aggregateAbove },
    { coins, keys, outgoing, writes, meta, clock, slices },
  );
  const settlement = new Settlement({ coins, outgoing, writes, metrics, logger });
  return { writes, limiter, keystore, keys, meta, coins, outgoing, donations, payments, settlement, slices, logger };
}
