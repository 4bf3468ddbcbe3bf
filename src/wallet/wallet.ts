/**
 * The wallet of a node: keys, coins and own transactions in one place, for the API (`WalletService`), for the user service,
 * which sends what is queued and reports what the chain says, and for the miner, which asks for addresses. It knows no
 * network. Every write is durable when its promise resolves.
 */

import type { Producers } from '../chain/certificate.js';
import type { WalletSeed } from '../chain/genesis.js';
import type { Transaction } from '../chain/types.js';
import type { ScryptCost } from '../crypto/scrypt.js';
import type { Room } from '../db/disk-room.js';
import type { Kv } from '../db/kv.js';
import type { Clock } from '../lib/clock.js';
import { errorMessage, TesseraError } from '../lib/errors.js';
import type { Logger } from '../lib/logger.js';
import type { Random } from '../lib/random.js';
import { TimeSlices } from '../lib/time-slices.js';
import { DoubleSigning } from '../observability/double-signing.js';
import { type Metrics, noMetrics } from '../observability/metrics.js';
import type { ToldBlock } from './block-check.js';
import { BlockIntake, type ChainPoint } from './block-intake.js';
import type { AddressRefresh } from './coins/address-refresh.js';
import type { CoinTotals } from './coins/coin-index.js';
import { type BlockOutcome, CoinStore } from './coins/coin-store.js';
import { type WalletInfoOptions, walletInfo } from './coins/wallet-info.js';
import { Coverage } from './coverage.js';
import { History } from './history/history.js';
import { Records } from './history/records.js';
import { Items } from './items.js';
import { KeyRing } from './keys/key-ring.js';
import { Keystore } from './keys/keystore.js';
import { PassphraseLimiter } from './keys/passphrase-limiter.js';
import type { WalletWords } from './keys/words.js';
import { Labels } from './labels.js';
import { FORMAT_KEY } from './layout.js';
import { MetaStore } from './meta.js';
import { DonationQuota } from './payments/donation-quota.js';
import { Intents } from './payments/intents.js';
import { Outgoing, type OwnTransaction } from './payments/outgoing.js';
import { Payments } from './payments/payments.js';
import { Settlement } from './payments/settlement.js';
import { loadSeeds } from './seeds.js';
import type {
  KeyPairRecord,
  Label,
  MovementPage,
  MovementQuery,
  OwnPayment,
  WalletInfo,
  WalletItem,
  WalletService,
} from './service.js';
import { Transfers } from './transfers.js';
import { WriteBuffer } from './write-buffer.js';

/** Inputs of one transaction: about 200 KB and 100 ms of signing. */
const DEFAULT_MAX_INPUTS = 500;
/** Raw units: a thousandth of a display token. Change below it is avoided where possible. */
const DEFAULT_DUST = 72_072n;

/** Asks the chain for the outpoints of addresses; resolves when the request is on its way. */
export type Refresher = (addresses: readonly string[]) => Promise<void>;

export interface WalletOptions {
  /** Path of the keystore file. */
  readonly keystoreFile: string;
  /** Stands in its backup files; empty in tests. */
  readonly networkName?: string;
  /** Opens the wallet; for a new wallet, becomes its passphrase. */
  readonly passphrase: string;
  /** A new wallet may have a blank passphrase: development networks only (decision V25). */
  readonly allowBlankPassphrase: boolean;
  /** The words of a new wallet; random ones otherwise. */
  readonly words?: WalletWords | undefined;
  /** Merge small outputs when more spendable token outputs than this are held; null never does. */
  readonly aggregateAbove: number | null;
  /** Spend outputs of own transactions that no block has yet; true by default. */
  readonly spendOwnChange?: boolean;
  /** Blocks after this one carry a difficulty target; without it none does. */
  readonly activationHeight?: number;
  /** Who signs blocks; undefined in a network that names none. */
  readonly producers?: Producers | undefined;
  readonly maxInputs?: number;
  /** Raw units. */
  readonly dust?: bigint;
  /** Raw units that a token output has at least in this network; 1 by default (decision B18). */
  readonly minOutputAmount?: bigint;
  /** Idempotency keys that are kept at most. */
  readonly maxIntents?: number;
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
  /** Room on the disk; unlimited when left out. */
  readonly room?: Room;
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
  readonly history: History;
  readonly coverage: Coverage;
  readonly records: Records;
  readonly settlement: Settlement;
  readonly transfers: Transfers;
  readonly intents: Intents;
  readonly items: Items;
  readonly chain: BlockIntake;
}

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
    const parts = await openParts(options, modules);
    const wallet = new Wallet(parts);
    if (!parts.meta.current.seeded) await loadSeeds(parts, options);
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

  backup(passphrase: string): Promise<string> {
    return this.coverage.backup(passphrase);
  }

  async exportKeyPairs(): Promise<ReadonlyMap<string, KeyPairRecord>> {
    this.#parts.writes.checkOpen();
    return this.#parts.keys.exportPairs();
  }

  async importKeyPairs(pairs: ReadonlyMap<string, KeyPairRecord>): Promise<readonly string[]> {
    const { history, keys, writes } = this.#parts;
    writes.checkRoom();
    const added = [...pairs.keys()].filter((address) => !this.owns(address));
    const imported = keys.importPairs(pairs);
    writes.onFailure(() => keys.discard(added));
    await writes.flush();
    history.expectImport(added);
    if (imported.length > 0) await this.#requestRefresh(imported);
    return imported;
  }

  changePassphrase(oldPassphrase: string, newPassphrase: string): Promise<void> {
    return this.#parts.keystore.changePassphrase(oldPassphrase, newPassphrase);
  }

  /** Own transactions by hash, oldest first; the API's name for them. */
  async outgoing({
    limit,
  }: {
    readonly limit?: number;
  } = {}): Promise<readonly (readonly [hash: string, transaction: Transaction])[]> {
    return (await this.transfers.history(limit)).map(({ hash, transaction }) => [hash, transaction] as const);
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
  verifyPassphrase(passphrase: string): Promise<void> {
    return this.#parts.keystore.verify(passphrase);
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

  /** See `BlockIntake.check`. */
  checkBlock(told: ToldBlock): void {
    this.#parts.chain.check(told);
  }

  /** See `BlockIntake.apply`. */
  applyBlock(told: ToldBlock): Promise<BlockOutcome> {
    return this.#parts.chain.apply(told);
  }

  /** See `BlockIntake.beginRefresh`. */
  beginRefresh(addresses: readonly string[], point: ChainPoint): AddressRefresh | undefined {
    return this.#parts.chain.beginRefresh(addresses, point);
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
    const { limiter, writes, keystore, keys, transfers, intents } = this.#parts;
    if (writes.isClosed) return;
    writes.refuseMore();
    limiter.close();
    await transfers.settled();
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

async function openParts(options: WalletOptions, modules: WalletModules): Promise<Parts> {
  const { kv, clock, random, logger, metrics = noMetrics } = modules;
  const writes = new WriteBuffer(kv, modules.room);
  const limiter = new PassphraseLimiter(clock);
  const keystore = await Keystore.open(
    {
      file: options.keystoreFile,
      passphrase: options.passphrase,
      createIfMissing: (await kv.get(FORMAT_KEY)) === undefined,
      allowBlankPassphrase: options.allowBlankPassphrase,
      words: options.words,
      ...(options.scryptCost ? { scryptCost: options.scryptCost } : {}),
    },
    { random, limiter, logger, ...(modules.syncFolder ? { syncFolder: modules.syncFolder } : {}) },
  );
  const keys = await KeyRing.open({ kv, writes, keystore });
  const meta = await MetaStore.open(kv, writes);
  const { spendOwnChange = true } = options;
  const coins = await CoinStore.open({ spendOwnChange }, { kv, writes, meta, owns: (address) => keys.claim(address) });
  const outgoing = await Outgoing.open(kv, writes, meta);
  const owns = (address: string): boolean => keys.owns(address);
  const inFlight = [...outgoing.inFlight()].map(({ hash }) => hash);
  const history = await History.open({ kv, writes, meta, owns, logger, now: () => clock.now() }, inFlight);
  const labels = await Labels.open(kv, writes);
  const records = new Records({ history, labels, outgoing, writes, owns });
  const donations = await DonationQuota.open(kv, writes, clock);
  const intents = await Intents.open({ maxKept: options.maxIntents }, { kv, writes, clock, logger });
  const slices = new TimeSlices(clock);
  const limits = { maxInputs: options.maxInputs ?? DEFAULT_MAX_INPUTS, dust: options.dust ?? DEFAULT_DUST };
  const payments = new Payments(
    { limits, aggregateAbove: options.aggregateAbove, minOutputAmount: options.minOutputAmount ?? 1n, spendOwnChange },
    { coins, keys, outgoing, history, writes, meta, clock, slices },
  );
  const settlement = new Settlement({ coins, outgoing, history, writes, metrics, logger });
  const transfers = new Transfers({ coins, outgoing, donations, payments, settlement, writes, logger });
  const coverage = new Coverage(options, { coins, keys, keystore, labels, meta, transfers, writes, random, clock });
  const doubleSigning = new DoubleSigning({ logger, metrics });
  const chain = new BlockIntake(options, {
    coins,
    history,
    keys,
    meta,
    settlement,
    slices,
    transfers,
    writes,
    doubleSigning,
  });
  const items = new Items({ kv, coins, writes });
  const answers = { coverage, records, settlement, transfers, intents, items, chain };
  return { writes, limiter, keystore, keys, meta, coins, history, ...answers };
}
