/** The keys and funds that the configuration gives to a new wallet of a development network. */

import { addressOf } from '../chain/address.js';
import { tokenAsset } from '../chain/assets.js';
import { txOut } from '../chain/builders.js';
import type { WalletSeed } from '../chain/genesis.js';
import type { CoinStore } from './coins/coin-store.js';
import type { History } from './history/history.js';
import type { KeyRing } from './keys/key-ring.js';
import type { MetaStore } from './meta.js';
import type { KeyPairRecord } from './service.js';
import type { WriteBuffer } from './write-buffer.js';

export interface Seeds {
  readonly seeds?: readonly WalletSeed[];
  readonly seedKeyPairs?: ReadonlyMap<string, KeyPairRecord>;
}

export interface SeedsModules {
  readonly keys: KeyRing;
  readonly coins: CoinStore;
  readonly history: History;
  readonly meta: MetaStore;
  readonly writes: WriteBuffer;
}

/** Durable when it resolves. */
export async function loadSeeds(modules: SeedsModules, { seeds = [], seedKeyPairs = new Map() }: Seeds): Promise<void> {
  const { keys, coins, history, meta, writes } = modules;
  const placed = seeds.map((seed) => ({ seed, address: addressOf(seed.publicKey, seed.addressVersion) }));
  const pairs = new Map<string, KeyPairRecord>(seedKeyPairs);
  for (const { seed, address } of placed) pairs.set(address, seed);
  keys.importPairs(pairs);
  const seeded = placed.flatMap(
    ({ seed, address }) => coins.add({ tHash: seed.tHash, n: seed.n }, txOut(tokenAsset(seed.amount), address)) ?? [],
  );
  history.takeSeeds(seeded);
  meta.update({ seeded: true });
  await writes.flush();
}
