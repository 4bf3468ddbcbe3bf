/**
 * Arithmetic of assets (docs/chain.md#assets). The reference lets token sums saturate and item sums wrap; here a running
 * total that would pass 2^64-1 is marked as overflowed and equals nothing (decision B4). The saturating operations stand
 * apart, for display and for the reference's vectors.
 */

import { compareUtf8 } from '../lib/bytes.js';
import { DEFAULT_GENESIS_HASH, DISPLAY_UNIT, TOTAL_TOKENS, U64_MAX } from './constants.js';
import type { Asset, GenesisHashSpec, ItemAsset, OutPoint, TokenAsset } from './types.js';

/** Totals as the API shows them; `items` maps genesis hash to amount, ascending by UTF-8 bytes. */
export interface AssetValues {
  readonly tokens: bigint;
  readonly items: ReadonlyMap<string, bigint>;
}

/** A running total. */
export class AssetSum {
  #tokens = 0n;
  #items: Map<string, bigint> | undefined;
  #overflowed = false;

  /** The total of the given values. */
  static of(values: AssetValues): AssetSum {
    const sum = new AssetSum();
    sum.#tokens = values.tokens;
    if (values.items.size > 0) sum.#items = new Map(values.items);
    return sum;
  }

  /** True once any part has passed 2^64-1; from then on the sum equals nothing. */
  get overflowed(): boolean {
    return this.#overflowed;
  }

  /**
   * Adds an asset. An item without genesis hash is not counted, as in the reference; zero of an item leaves an entry of
   * zero, which is not the same as no entry.
   */
  add(asset: Asset): void {
    if (asset.kind === 'token') {
      this.#tokens = this.#bounded(this.#tokens + asset.amount);
      return;
    }
    if (asset.genesisHash === null) return;
    this.#items ??= new Map();
    this.#items.set(asset.genesisHash, this.#bounded((this.#items.get(asset.genesisHash) ?? 0n) + asset.amount));
  }

  /** True when neither overflowed and tokens and items agree entry by entry. */
  equals(other: AssetSum): boolean {
    if (this.#overflowed || other.#overflowed || this.#tokens !== other.#tokens) return false;
    if ((this.#items?.size ?? 0) !== (other.#items?.size ?? 0)) return false;
    for (const [genesisHash, amount] of this.#items ?? []) {
      if (other.#items?.get(genesisHash) !== amount) return false;
    }
    return true;
  }

  /** The totals, items sorted. Parts that overflowed stand at 2^64-1. */
  values(): AssetValues {
    const entries = [...(this.#items ?? [])].sort(([a], [b]) => compareUtf8(a, b));
    return { tokens: this.#tokens, items: new Map(entries) };
  }

  #bounded(sum: bigint): bigint {
    if (sum <= U64_MAX) return sum;
    this.#overflowed = true;
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

/** True when both are the same asset in every member. */
export function equalAssets(a: Asset, b: Asset): boolean {
  if (a.amount !== b.amount) return false;
  if (a.kind === 'token' || b.kind === 'token') return a.kind === b.kind;
  return a.genesisHash === b.genesisHash && a.metadata === b.metadata;
}

/** Sum of two u64, at most 2^64-1. */
export function saturatingAdd(a: bigint, b: bigint): bigint {
  return atMostU64(a + b);
}

/** Difference of two u64, at least 0. */
export function saturatingSub(a: bigint, b: bigint): bigint {
  return a < b ? 0n : a - b;
}

/** Product of two u64, at most 2^64-1. */
export function saturatingMul(a: bigint, b: bigint): bigint {
  return atMostU64(a * b);
}

/** Quotient of two u64; by zero it is 2^64-1. */
export function saturatingDiv(a: bigint, b: bigint): bigint {
  return b === 0n ? U64_MAX : a / b;
}

function atMostU64(n: bigint): bigint {
  return n > U64_MAX ? U64_MAX : n;
}

/** An amount in display tokens, exact, such as `1.5`; `Value out of bounds` from the whole supply on, as the reference. */
export function displayAmount(amount: bigint): string {
  if (amount >= TOTAL_TOKENS) return 'Value out of bounds';
  const value = Number(amount) / Number(DISPLAY_UNIT);
  const shortest = String(value);
  if (!shortest.includes('e')) return shortest;
  // Below 1e-6 JavaScript switches to exponents, which Rust never prints.
  const [digits = '', exponent = '0'] = shortest.split('e-');
  return `0.${'0'.repeat(Number(exponent) - 1)}${digits.replace('.', '')}`;
}

/** Largest total that is shown: clients decode totals as int64. */
const MAX_SHOWN_TOTAL = 0x7fff_ffff_ffff_ffffn;

/**
 * A total as it is shown. Anyone may create items, in any number and for any address, so a sum of them can be larger than what
 * clients can read: it then stands at 2^63-1. Sums that decide anything are exact.
 */
export function shownTotal(sum: bigint): bigint {
  return sum > MAX_SHOWN_TOTAL ? MAX_SHOWN_TOTAL : sum;
}
