/**
 * The wallet of a node: its parts are what the API, the user service and the miner use. It knows no network. A write is durable when its
 * promise resolves. An own transaction goes from `payments`, which makes it, to `outgoing`, until a block has it, to `settlement`, and into
 * `history`.
 */

import { existsSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { addressOf } from '../chain/address.js';
import { tokenAsset } from '../chain/assets.js';
import { txOut } from '../chain/builders.js';
import { errorMessage, TesseraError } from '../lib/errors.js';
import { inPieces, type Pieces } from '../lib/pieces.js';
import { noMetrics } from '../observability/metrics.js';
import type { Coin } from './coins/coin.js';
import type { CoinStore } from './coins/coin-store.js';
import type { History } from './history/history.js';
import type { WalletParts } from './modules.js';
import type { NewWallet, WalletModules, WalletOptions } from './options.js';
import { openParts, type Parts } from './parts.js';
import type { KeyPairRecord, WalletInfo, WalletOutpoint, WalletService } from './service.js';

/** Asks the chain for the outpoints of addresses; resolves when the request is on its way. */
export type Refresher = (addresses: readonly string[]) => Promise<void>;

export class Wallet implements WalletService {
  readonly keystore: Parts['keystore'];
  readonly keys: Parts['keys'];
  readonly coins: Parts['coins'];
  readonly chain: Parts['chain'];
  readonly payments: Parts['payments'];
  readonly outgoing: Parts['outgoing'];
  readonly settlement: Parts['settlement'];
  readonly history: Parts['history'];
  readonly merges: Parts['merges'];
  readonly coverage: Parts['coverage'];
  readonly idempotencyKeys: Parts['idempotencyKeys'];
  readonly items: Parts['items'];
  readonly labels: Parts['labels'];
  readonly trades: Parts['trades'];
  readonly peerAddresses: Parts['peerAddresses'];
  readonly donationRequests: Parts['donationRequests'];
  readonly #writes: Parts['writes'];
  readonly #movements: Parts['movements'];
  #refresher: Refresher | null = null;

  private constructor(parts: Parts) {
    this.keystore = parts.keystore;
    this.keys = parts.keys;
    this.coins = parts.coins;
    this.chain = parts.chain;
    this.payments = parts.payments;
    this.outgoing = parts.outgoing;
    this.settlement = parts.settlement;
    this.history = parts.history;
    this.merges = parts.merges;
    this.coverage = parts.coverage;
    this.idempotencyKeys = parts.idempotencyKeys;
    this.items = parts.items;
    this.labels = parts.labels;
    this.trades = parts.trades;
    this.peerAddresses = parts.peerAddresses;
    this.donationRequests = parts.donationRequests;
    this.#writes = parts.writes;
    this.#movements = parts.movements;
  }

  /** Opens or makes the wallet. Throws `wrong_passphrase`, `wallet_unreadable`, `blank_passphrase`, `malformed_key_pair`. */
  static async open(options: WalletOptions, modules: WalletModules): Promise<Wallet> {
    const isMade = !existsSync(options.keystoreFile);
    const parts = await openParts(options, modules);
    const wallet = new Wallet(parts);
    if (!parts.meta.current.seeded) await loadSeeds(parts, { ...options, isMade, now: modules.clock.now() });
    const { metrics = noMetrics } = modules;
    metrics.beforeScrape(() => metrics.gauge('tessera_block_height').set(wallet.chain.height));
    return wallet;
  }

  info(options: WalletInfoOptions): Promise<WalletInfo> {
    return walletInfo(this.coins, options);
  }

  /** A new address that others can be told of; durable when it resolves. */
  async newAddress(): Promise<string> {
    this.#writes.checkRoom();
    const address = this.keys.create('receive');
    this.#writes.onFailure(() => this.keys.discard([address]));
    await this.#writes.flush();
    return address;
  }

  async exportKeyPairs(): Promise<ReadonlyMap<string, KeyPairRecord>> {
    this.#writes.checkOpen();
    return this.keys.exportPairs();
  }

  async importKeyPairs(pairs: ReadonlyMap<string, KeyPairRecord>): Promise<readonly string[]> {
    const writes = this.#writes;
    writes.checkRoom();
    const added = [...pairs.keys()].filter((address) => !this.keys.owns(address));
    const imported = this.keys.importPairs(pairs);
    this.#movements.expectImport(added);
    writes.onFailure(() => {
      this.#movements.endImport(added);
      this.keys.discard(added);
    });
    await writes.flush();
    if (imported.length > 0) await this.#requestRefresh(imported);
    return imported;
  }

  async refresh(target: { readonly all: true } | { readonly addresses: readonly string[] }): Promise<void> {
    this.#writes.checkOpen();
    const wanted = 'all' in target ? this.keys.watched() : target.addresses;
    // Other people's addresses are of no use to this wallet; asking for them would only reveal them to the mempool node.
    const own = [...new Set(wanted)].filter((address) => this.keys.owns(address));
    if ('addresses' in target && own.length === 0) {
      throw new TesseraError('no_addresses', 'addresses must name at least one address of this wallet');
    }
    await this.#requestRefresh(own);
  }

  setRefresher(refresher: Refresher | null): void {
    this.#refresher = refresher;
  }

  /** Writes what is staged and wipes the keys from memory. */
  async close(): Promise<void> {
    const writes = this.#writes;
    if (writes.isClosed) return;
    writes.refuseMore();
    await this.merges.settled();
    await this.trades.settled();
    await this.idempotencyKeys.close();
    await writes.flush().finally(() => {
      this.keys.close();
      this.keystore.close();
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

const MS_PER_SECOND = 1_000;

interface FirstStart extends NewWallet {
  /** True when there was no keystore before. */
  readonly isMade: boolean;
  /** Milliseconds since the Unix epoch. */
  readonly now: number;
}

interface SeedsModules extends Pick<WalletParts, 'coins' | 'keys' | 'meta' | 'writes'> {
  readonly movements: History;
}

/** Durable when it resolves. */
async function loadSeeds(modules: SeedsModules, options: FirstStart): Promise<void> {
  const { keys, coins, movements, meta, writes } = modules;
  const { seeds = [], words, areWordsNew = words === undefined, isMade, now } = options;
  const placed = seeds.map((seed) => ({ seed, address: addressOf(seed.publicKey, seed.addressVersion) }));
  const pairs = new Map(placed.map(({ seed, address }) => [address, seed]));
  keys.importPairs(pairs);
  const seeded = placed.flatMap(
    ({ seed, address }) => coins.add({ tHash: seed.tHash, n: seed.n }, txOut(tokenAsset(seed.amount), address)) ?? [],
  );
  movements.takeSeeds(seeded);
  meta.update({
    seeded: true,
    ...(isMade && areWordsNew && pairs.size === 0 && { bornAt: Math.floor(now / MS_PER_SECOND) }),
  });
  await writes.flush();
}

/** Coins of one piece: about a millisecond. */
const PIECE_COINS = 1_024;

/** `spent` wins over `page`; without both, everything unspent (decision V12). */
interface WalletInfoOptions {
  readonly page?: number;
  readonly spent?: boolean;
}

async function walletInfo(coins: CoinStore, { page, spent }: WalletInfoOptions): Promise<WalletInfo> {
  const list = spent === true ? await coins.spent() : coins.unspent(page);
  const { running, available, locked } = coins.totals();
  const items = coins.items();
  const addresses = await inPieces(groupByAddress(list), () => nextTurn());
  return { addresses, running, available, locked, items };
}

/** The coins of a list by owning address. */
export function* groupByAddress(
  list: readonly Pick<Coin, 'address' | 'outPoint' | 'value'>[],
): Pieces<Map<string, WalletOutpoint[]>> {
  const groups = new Map<string, WalletOutpoint[]>();
  for (const [i, { address, outPoint, value }] of list.entries()) {
    if (i > 0 && i % PIECE_COINS === 0) yield;
    const group = groups.get(address);
    if (group) group.push({ outPoint, value });
    else groups.set(address, [{ outPoint, value }]);
  }
  return groups;
}
