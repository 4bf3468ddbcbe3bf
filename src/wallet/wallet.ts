/**
 * The wallet of a node: its parts are used by the API, the user service and the miner. It knows no network. A write is durable when its promise
 * resolves. An own transaction goes from `payments`, which makes it, to `outgoing`, until a block has it, to `settlement`, and into `history`.
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
import type { KeyPairRecord, WalletInfo, WalletOutpoint } from './service.js';

/** Asks the chain for the outpoints of addresses; resolves when the request is sent. */
export type Refresher = (addresses: readonly string[]) => Promise<void>;

/** The parts of a wallet that others use, and the methods that need several of them. */
export type Wallet = Omit<Parts, 'meta' | 'movements' | 'writes'> & WholeWallet;

/** Opens or makes the wallet. Throws `wrong_passphrase`, `wallet_unreadable`, `blank_passphrase`, `malformed_key_pair`. */
export async function loadWallet(options: WalletOptions, modules: WalletModules): Promise<Wallet> {
  const isMade = !existsSync(options.keystoreFile);
  const parts = await openParts(options, modules);
  if (!parts.meta.current.seeded) await loadSeeds(parts, { ...options, isMade, now: modules.clock.now() });
  const { metrics = noMetrics } = modules;
  metrics.beforeScrape(() => metrics.gauge('tessera_block_height').set(parts.chain.height));
  return Object.assign(new WholeWallet(parts), parts);
}

class WholeWallet {
  readonly #parts: Parts;
  #refresher: Refresher | null = null;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  info(options: WalletInfoOptions): Promise<WalletInfo> {
    return walletInfo(this.#parts.coins, options);
  }

  /** A new address, which others can be told; durable when it resolves. */
  async newAddress(): Promise<string> {
    const { keys, writes } = this.#parts;
    writes.checkRoom();
    const address = keys.create('receive');
    writes.onFailure(() => keys.discard([address]));
    await writes.flush();
    return address;
  }

  async exportKeyPairs(): Promise<ReadonlyMap<string, KeyPairRecord>> {
    this.#parts.writes.checkOpen();
    return this.#parts.keys.exportPairs();
  }

  async importKeyPairs(pairs: ReadonlyMap<string, KeyPairRecord>): Promise<readonly string[]> {
    const { keys, movements, writes } = this.#parts;
    writes.checkRoom();
    const added = [...pairs.keys()].filter((address) => !keys.owns(address));
    const imported = keys.importPairs(pairs);
    movements.expectImport(added);
    writes.onFailure(() => {
      movements.endImport(added);
      keys.discard(added);
    });
    await writes.flush();
    if (imported.length > 0) await this.#requestRefresh(imported);
    return imported;
  }

  async refresh(target: { readonly all: true } | { readonly addresses: readonly string[] }): Promise<void> {
    const { keys, writes } = this.#parts;
    writes.checkOpen();
    const wanted = 'all' in target ? keys.watched() : target.addresses;
    // Other people's addresses are of no use to this wallet; asking for them would only show them to the mempool node.
    const own = [...new Set(wanted)].filter((address) => keys.owns(address));
    if ('addresses' in target && own.length === 0) {
      throw new TesseraError('no_addresses', 'addresses must name at least one address of this wallet');
    }
    await this.#requestRefresh(own);
  }

  setRefresher(refresher: Refresher | null): void {
    this.#refresher = refresher;
  }

  /** Writes all staged records and wipes the keys from memory. */
  async close(): Promise<void> {
    const { idempotencyKeys, keys, keystore, merges, trades, writes } = this.#parts;
    if (writes.isClosed) return;
    writes.refuseMore();
    await merges.settled();
    await trades.settled();
    await idempotencyKeys.close();
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

const MS_PER_SECOND = 1_000;

interface FirstStart extends NewWallet {
  /** True when there was no keystore before. */
  readonly isMade: boolean;
  /** Time of the start, in milliseconds since the Unix epoch. */
  readonly now: number;
}

interface SeedsModules extends Pick<WalletParts, 'coins' | 'keys' | 'meta' | 'writes'> {
  readonly movements: History;
}

/** Loads the seeds; durable when it resolves. */
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

/** Outpoints to list: `spent` wins over `page`; without both, all unspent ones (decision V12). */
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
