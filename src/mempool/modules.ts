/** Lower parts of a mempool, which the others are given: each names those that it uses. */

import type { Room } from '../db/disk-room.js';
import type { Leadership } from '../journal/journal.js';
import type { Verifier } from '../ledger/verifier/verifier.js';
import type { HasClock, HasLogger, HasMetrics } from '../observability/modules.js';
import type { PeerNetwork } from '../peers/network.js';
import type { StorageTips } from './blocks/storage-tips.js';
import type { Applier } from './state/applier.js';
import type { MempoolState } from './state/state.js';
import type { StateStore } from './state/state-store.js';
import type { Statuses } from './state/statuses.js';

export interface MempoolParts extends HasClock, HasLogger, HasMetrics {
  readonly applier: Applier;
  readonly leadership: Leadership;
  readonly network: PeerNetwork;
  readonly room: Room;
  readonly state: MempoolState;
  readonly statuses: Statuses;
  readonly store: StateStore;
  readonly tips: StorageTips;
  readonly verifier: Verifier;
}
