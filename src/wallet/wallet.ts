/**
 * The wallet of a node: keys, coins and own transactions in one place, for the API (`WalletService`), for the user service,
 * which sends what is queued and reports what the chain says, and for the miner, which asks for addresses. It knows no
 * network. Every write is durable when its promise resolves.
 */

import { existsSync } from 'node:fs';
import { errorMessage, TesseraError } from '../lib/errors.js';
import { noMetrics } from '../observability/metrics.js';
import type { ToldBlock } from './block-check.js';
import type { ChainPoint, ProvenOutput } from './block-intake.js';
import type { AddressRefresh } from './coins/address-refresh.js';
import type { CoinTotals } from './coins/coin-index.js';
import type { BlockOutcome } from './coins/coin-store.js';
import { type WalletInfoOptions, walletInfo } from './coins/wallet-info.js';
import type { Coverage } from './coverage.js';
import type { DonationRequests } from './donation-requests.js';
import type { Items } from './items.js';
import { openParts, type Parts, type WalletModules, type WalletOptions } from './parts.js';
import type { Intents } from './payments/intents.js';
import type { OwnTransaction } from './payments/outgoing.js';
import type { Settlement } from './payments/settlement.js';
import type { PeerAddresses } from './peer-addresses.js';
import { loadSeeds } from './seeds.js';
import type {
  KeyPairRecord,
  Label,
  MovementPage,
  MovementQuery,
  OwnPayment,
  PassphraseCaller,
  WalletInfo,
  WalletItem,
  WalletService,
} from './service.js';
import type { Trades } from './trades/trades.js';
import type { Transfers } from './transfers.js';

/** Asks the chain for the outpoints of addresses; resolves when the request is on its way. */
export type Refresher = (addresses: readonly string[]) => Promise<void>;

export class Wallet implements WalletService {
  readonly #parts: Parts;
  #refresher: Refresher | null = null;

  private constructor(parts: Parts) {
    this.#parts = parts;
  }

  /**
   * Opens the wallet, or makes it. Throws `wrong_passphrase`, `wallet_unreadable`, `blank_passphrase`, `malformed_key_pair`.
   */
  static async open(options: WalletOptions, modules: WalletModules): Promise<Wallet> {
    const isMade = !existsSync(options.keystoreFile);
    const parts = await openParts(options, modules);
    const wallet = new Wallet(parts);
    if (!parts.meta.current.seeded) await loadSeeds(parts, { ...options, isMade, now: modules.clock.now() });
    const { metrics = noMetrics } = modules;
    metrics.beforeScrape(() => metrics.gauge('tessera_block_height').set(wallet.height));
    return wallet;
  }

  // What the API asks for

  info(options: WalletInfoOptions): Promise<WalletInfo> {
    return walletInfo(this.#parts.coins, options);
  }

  items(): Promise<readonly WalletItem[]> {
    return this.#parts.items.list();
  }

  async newAddress(): Promise<string> {
    const { keys, writes } = this.#parts;
    writes.checkRoom();
    const address = keys.create('receive');
    writes.onFailure(() => keys.discard([address]));
    await writes.flush();
    return address;
  }

  /** See `WalletService`. */
  sweep(): Promise<readonly OwnTransaction[]> {
    return this.coverage.sweep();
  }

  uncovered(): bigint {
    return this.coverage.uncovered();
  }

  backup(passphrase: string, caller?: PassphraseCaller): Promise<string> {
    return this.coverage.backup(passphrase, caller);
  }

  async exportKeyPairs(): Promise<ReadonlyMap<string, KeyPairRecord>> {
    this.#parts.writes.checkOpen();
    return this.#parts.keys.exportPairs();
  }

  /** See `WalletService`. */
  get temporaryAddresses(): ReadonlySet<string> {
    return this.#parts.keys.temporary;
  }

  async importKeyPairs(pairs: ReadonlyMap<string, KeyPairRecord>): Promise<readonly string[]> {
    const { history, keys, writes } = this.#parts;
    writes.checkRoom();
    const added = [...pairs.keys()].filter((address) => !this.owns(address));
    const imported = keys.importPairs(pairs);
    history.expectImport(added);
    writes.onFailure(() => {
      history.endImport(added);
      keys.discard(added);
    });
    await writes.flush();
    if (imported.length > 0) await this.#requestRefresh(imported);
    return imported;
  }

  changePassphrase(oldPassphrase: string, newPassphrase: string, caller?: PassphraseCaller): Promise<void> {
    return this.#parts.keystore.changePassphrase(oldPassphrase, newPassphrase, caller);
  }

  outgoing({ limit }: { readonly limit?: number } = {}): ReturnType<WalletService['outgoing']> {
    return this.#parts.records.outgoing(limit);
  }

  payments({ limit }: { readonly limit?: number } = {}): Promise<readonly OwnPayment[]> {
    return this.#parts.records.payments(limit);
  }

  movements(query: MovementQuery): Promise<MovementPage> {
    return this.#parts.records.movements(query);
  }

  labels(): readonly Label[] {
    return this.#parts.records.labels();
  }

  setLabels(list: readonly Label[]): Promise<void> {
    return this.#parts.records.setLabels(list);
  }

  async refresh(target: { readonly all: true } | { readonly addresses: readonly string[] }): Promise<void> {
    this.#parts.writes.checkOpen();
    const wanted = 'all' in target ? this.watched() : target.addresses;
    // Other people's addresses are of no use to this wallet; asking for them would only reveal them to the mempool node.
    const own = [...new Set(wanted)].filter((address) => this.owns(address));
    if ('addresses' in target && own.length === 0) {
      throw new TesseraError('no_addresses', 'addresses must name at least one address of this wallet');
    }
    await this.#requestRefresh(own);
  }

  // Keys and coins

  /** Throws `wrong_passphrase`; guessing is slowed (decisions V14, V26). */
  verifyPassphrase(passphrase: string, caller?: PassphraseCaller): Promise<void> {
    return this.#parts.keystore.verify(passphrase, caller);
  }

  /** Every own address that somebody may have been told of. */
  addresses(): readonly string[] {
    return [...this.#parts.keys.addresses.keys()];
  }

  /** Every address to ask the chain about: also those that another copy of this wallet may have handed out. */
  watched(): readonly string[] {
    return this.#parts.keys.watched();
  }

  /** Addresses that are watched since the last call: the chain may know of them. */
  takeNewlyWatched(): readonly string[] {
    return this.#parts.keys.takeNewlyWatched();
  }

  owns(address: string): boolean {
    return this.#parts.keys.owns(address);
  }

  /** True when the words of the wallet give the key of this address. */
  isCovered(address: string): boolean {
    return this.#parts.keys.isCovered(address);
  }

  /** True when the address holds something that is not spent. */
  isUsed(address: string): boolean {
    return this.#parts.coins.isUsed(address);
  }

  totals(): CoinTotals {
    return this.#parts.coins.totals();
  }

  /** What the words cover, and the backup file. */
  get coverage(): Coverage {
    return this.#parts.coverage;
  }

  /** Own transactions: making and sending them. */
  get transfers(): Transfers {
    return this.#parts.transfers;
  }

  /** What was done for requests that may be repeated. */
  get intents(): Intents {
    return this.#parts.intents;
  }

  /** What is known of the items that it holds. */
  get itemBook(): Items {
    return this.#parts.items;
  }

  /** Whom this wallet has asked for donations. */
  get donationRequests(): DonationRequests {
    return this.#parts.donationRequests;
  }

  /** Addresses that other nodes are told of. */
  get peerAddresses(): PeerAddresses {
    return this.#parts.peerAddresses;
  }

  /** Trades with other wallets. */
  get trades(): Trades {
    return this.#parts.trades;
  }

  /** What became of own transactions. */
  get settlement(): Settlement {
    return this.#parts.settlement;
  }

  // The chain

  /** Last block taken in; -1 before the first. */
  get height(): number {
    return this.#parts.chain.height;
  }

  /** Hash of that block, when it is known. */
  get tipHash(): string | undefined {
    return this.#parts.chain.tipHash;
  }

  /** True when a producer has signed that block. */
  get isTipCertified(): boolean {
    return this.#parts.chain.isTipCertified;
  }

  /** See `BlockIntake.bornAt`. */
  get bornAt(): number | undefined {
    return this.#parts.chain.bornAt;
  }

  /** See `BlockIntake.check`. */
  checkBlock(told: ToldBlock): void {
    this.#parts.chain.check(told);
  }

  /** See `BlockIntake.checkInPieces`. */
  checkBlockInPieces(told: ToldBlock): Promise<void> {
    return this.#parts.chain.checkInPieces(told);
  }

  /** See `BlockIntake.apply`. */
  applyBlock(told: ToldBlock): Promise<BlockOutcome> {
    return this.#parts.chain.apply(told);
  }

  /** See `BlockIntake.sync`. */
  sync(): Promise<void> {
    return this.#parts.chain.sync();
  }

  /** See `BlockIntake.checkPoint`. */
  checkPoint(point: ChainPoint): void {
    this.#parts.chain.checkPoint(point);
  }

  /** See `BlockIntake.beginRefresh`. */
  beginRefresh(addresses: readonly string[], point: ChainPoint, canProve?: boolean): AddressRefresh | undefined {
    return this.#parts.chain.beginRefresh(addresses, point, canProve);
  }

  /** See `BlockIntake.takeProven`. */
  takeProven(
    outputs: readonly ProvenOutput[],
    height: number,
    hasMore?: (address: string) => boolean,
  ): Promise<boolean> {
    return this.#parts.chain.takeProven(outputs, height, hasMore);
  }

  /** See `BlockIntake.hasSeen`. */
  hasSeen(hash: string): Promise<boolean> {
    return this.#parts.chain.hasSeen(hash);
  }

  /** All addresses were refreshed as of this block. */
  advanceTo(point: ChainPoint): Promise<void> {
    return this.#parts.chain.advanceTo(point);
  }

  /** A durable address for the next mining reward; a new one after each reward. */
  rewardAddress(): Promise<string> {
    return this.#parts.chain.rewardAddress();
  }

  /** Who does refreshes; without one `refresh` throws `refresh_failed`. */
  setRefresher(refresher: Refresher | null): void {
    this.#refresher = refresher;
  }

  /** Writes what is staged and wipes the keys from memory. */
  async close(): Promise<void> {
    const { limiter, writes, keystore, keys, transfers, intents, trades } = this.#parts;
    if (writes.isClosed) return;
    writes.refuseMore();
    limiter.close();
    await transfers.settled();
    await trades.settled();
    await intents.close();
    await writes.flush().finally(() => {
      keys.close();
      keystore.close();
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
}
