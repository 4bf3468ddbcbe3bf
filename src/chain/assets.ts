/** Arithmetic of assets (docs/chain.md#assets). A total beyond 2^64-1 overflows and equals nothing (decision B4). */

import { DEFAULT_GENESIS_HASH, U64_MAX } from './constants.js';
import type { Asset, GenesisHashSpec, ItemAsset, OutPoint, TokenAsset } from './types.js';

/** Running totals of tokens, and of items by genesis hash. */
export class AssetSum {
  #tokens = 0n;
  #items: Map<string, bigint> | undefined;
  #overflowed = false;
  readonly #isOriginal: boolean;

  /** `isOriginal`: overflows as original nodes do: tokens stay at 2^64-1, items begin again at 0. */
  constructor({ isOriginal = false }: { readonly isOriginal?: boolean } = {}) {
    this.#isOriginal = isOriginal;
  }

  /** Adds an asset. Items without genesis hash are not counted. An amount of zero makes an entry, which `equals` compares too. */
  add(asset: Asset): void {
    if (asset.kind === 'token') {
      this.#tokens = this.#bounded(this.#tokens + asset.amount);
      return;
    }
    if (asset.genesisHash === null) return;
    this.#items ??= new Map();
    const sum = (this.#items.get(asset.genesisHash) ?? 0n) + asset.amount;
    this.#items.set(asset.genesisHash, this.#isOriginal ? sum & U64_MAX : this.#bounded(sum));
  }

  /** True when neither sum has overflowed, and tokens and items agree entry by entry. */
  equals(other: AssetSum): boolean {
    if (this.#overflowed || other.#overflowed || this.#tokens !== other.#tokens) return false;
    if ((this.#items?.size ?? 0) !== (other.#items?.size ?? 0)) return false;
    for (const [genesisHash, amount] of this.#items ?? []) {
      if (other.#items?.get(genesisHash) !== amount) return false;
    }
    return true;
  }

  #bounded(sum: bigint): bigint {
    if (sum <= U64_MAX) return sum;
    this.#overflowed = !this.#isOriginal;
    return U64_MAX;
  }
}

/** Tokens, in raw units. */
export function tokenAsset(amount: bigint): TokenAsset {
  return { kind: 'token', amount };
}

/** Items of the given identity. */
export function itemAsset(amount: bigint, genesisHash: string | null, metadata: string | null = null): ItemAsset {
  return { kind: 'item', amount, genesisHash, metadata };
}

/** The asset as its owner holds it: an item without genesis hash gets the hash of the transaction that created it. */
export function withFixedHash(asset: Asset, outPoint: OutPoint): Asset {
  if (asset.kind === 'token' || asset.genesisHash !== null) return asset;
  return { ...asset, genesisHash: outPoint.tHash };
}

/** The genesis hash that an output of a create transaction states. */
export function genesisHashOf(spec: GenesisHashSpec): string | null {
  return spec === 'Create' ? null : DEFAULT_GENESIS_HASH;
}

/** Largest total that is shown: clients decode totals as int64. */
const MAX_SHOWN_TOTAL = 0x7fff_ffff_ffff_ffffn;

/** A total for display, at most 2^63-1: anyone may create any number of items. Sums that rules compare are exact. */
export function shownTotal(sum: bigint): bigint {
  return sum > MAX_SHOWN_TOTAL ? MAX_SHOWN_TOTAL : sum;
}
