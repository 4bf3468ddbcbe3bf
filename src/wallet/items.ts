/**
 * Items of the wallet: how many of each class, and their metadata. Only the transaction that created a class has it, and its hash names the
 * class, so it proves itself. `CoinStore` keeps creations that came from their creator; payers may tell others.
 */

import { decodeTransaction, encodeTransaction } from '../chain/codec.js';
import { transactionHash } from '../chain/hash.js';
import { isCreate } from '../chain/transaction.js';
import type { Transaction } from '../chain/types.js';
import { decodeRecord } from '../db/decode-record.js';
import { creationKey } from './layout.js';
import type { WalletParts } from './modules.js';
import type { WalletItem } from './service.js';

/** The most creations that others have told of and whose items have not come yet; the oldest make room. */
const MAX_TOLD = 1_000;

export type ItemsModules = Pick<WalletParts, 'coins' | 'kv' | 'writes'>;

export class Items {
  readonly #modules: ItemsModules;
  /** Creations that others have told of, by hash. In memory only: anybody may tell. */
  readonly #told = new Map<string, Transaction>();

  constructor(modules: ItemsModules) {
    this.#modules = modules;
  }

  async list(): Promise<readonly WalletItem[]> {
    const { coins } = this.#modules;
    const held = [...coins.items()];
    const creations = await this.#creationsOf(held.map(([genesisHash]) => genesisHash));
    const onCoins = this.#metadataOnCoins();
    return held.map(([genesisHash, amount]) => ({
      genesisHash,
      amount,
      available: coins.totals(genesisHash).available,
      metadata: metadataOf(creations.get(genesisHash)) ?? onCoins.get(genesisHash) ?? null,
    }));
  }

  async creationOf(genesisHash: string): Promise<Transaction | undefined> {
    return (await this.#creationsOf([genesisHash])).get(genesisHash);
  }

  /** Notes a creation of items that a peer shows; it is kept when such items are in the wallet. */
  tell(transaction: Transaction): void {
    const hash = transactionHash(transaction);
    if (!isCreate(transaction) || transaction.outputs[0]?.value.kind !== 'item') return;
    this.#told.delete(hash);
    this.#told.set(hash, transaction);
    for (const oldest of this.#told.keys()) {
      if (this.#told.size <= MAX_TOLD) break;
      this.#told.delete(oldest);
    }
  }

  async #creationsOf(hashes: readonly string[]): Promise<ReadonlyMap<string, Transaction>> {
    const { kv, coins, writes } = this.#modules;
    const records = await kv.getMany(hashes.map(creationKey));
    const found = new Map<string, Transaction>();
    for (const [i, hash] of hashes.entries()) {
      const record = records[i];
      const creation = record === undefined ? this.#told.get(hash) : readCreation(record);
      if (creation === undefined) continue;
      found.set(hash, creation);
      if (record !== undefined || coins.totals(hash).running === 0n) continue;
      // The record is written with the wallet's next write.
      writes.put(creationKey(hash), encodeTransaction(creation));
    }
    return found;
  }

  /** Metadata on coins: folders of earlier versions have it only there, on outputs that were created and never passed on. */
  #metadataOnCoins(): ReadonlyMap<string, string> {
    const found = new Map<string, string>();
    for (const { value, outPoint, assetId } of this.#modules.coins.unspent()) {
      if (value.kind === 'item' && value.metadata !== null && outPoint.tHash === assetId) {
        found.set(assetId, value.metadata);
      }
    }
    return found;
  }
}

/** A creation from its record. Throws `wallet_unreadable`. */
function readCreation(record: Uint8Array): Transaction {
  return decodeRecord('item creation', record, (from) => decodeTransaction(from.rest()), 'wallet_unreadable');
}

export function metadataOf(creation: Transaction | undefined): string | null {
  const value = creation?.outputs[0]?.value;
  return value?.kind === 'item' ? value.metadata : null;
}
