/**
 * Seeds of a new wallet: the keys that a development network gives it, with their funds, or the time at which it was made.
 */

import { addressOf } from '../chain/address.js';
import { tokenAsset } from '../chain/assets.js';
import { txOut } from '../chain/builders.js';
import type { CoinStore } from './coins/coin-store.js';
import type { History } from './history/history.js';
import type { KeyRing } from './keys/key-ring.js';
import type { MetaStore } from './meta.js';
import type { NewWallet } from './options.js';
import type { WriteBuffer } from './write-buffer.js';

const MS_PER_SECOND = 1_000;

interface FirstStart extends NewWallet {
  /** True when there was no keystore before. */
  readonly isMade: boolean;
  /** Milliseconds since the Unix epoch. */
  readonly now: number;
}

export interface SeedsModules {
  readonly keys: KeyRing;
  readonly coins: CoinStore;
  readonly movements: History;
  readonly meta: MetaStore;
  readonly writes: WriteBuffer;
}

/** Durable when it resolves. */
export async function loadSeeds(modules: SeedsModules, options: FirstStart): Promise<void> {
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
