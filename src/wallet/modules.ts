/** Lower parts of a wallet, which the others are given: each names those that it uses. */

import type { Kv } from '../db/kv.js';
import type { TimeSlices } from '../lib/time-slices.js';
import type { HasClock, HasLogger, HasMetrics, HasRandom } from '../observability/modules.js';
import type { CoinStore } from './coins/coin-store.js';
import type { History } from './history/history.js';
import type { KeyRing } from './keys/key-ring.js';
import type { Keystore } from './keys/keystore.js';
import type { OwnOutputs } from './keys/own-outputs.js';
import type { Labels } from './labels.js';
import type { MetaStore } from './meta.js';
import type { Outgoing } from './payments/outgoing.js';
import type { WriteBuffer } from './write-buffer.js';

export interface WalletParts extends HasClock, HasLogger, HasMetrics, HasRandom {
  readonly coins: CoinStore;
  readonly history: History;
  readonly keys: KeyRing;
  readonly keystore: Keystore;
  readonly kv: Kv;
  readonly labels: Labels;
  readonly meta: MetaStore;
  readonly outgoing: Outgoing;
  readonly ownOutputs: OwnOutputs;
  readonly slices: TimeSlices;
  readonly writes: WriteBuffer;
}
