/** Options and parts that a mempool is made from. */

import type { Transaction } from '../chain/types.js';
import type { Unicorn } from '../chain/unicorn.js';
import type { Room } from '../db/disk-room.js';
import type { Kv } from '../db/kv.js';
import type { Journal, Leadership } from '../journal/journal.js';
import type { HasClock, HasLogger, HasMetrics, HasRandom } from '../observability/modules.js';
import type { PeerNetwork } from '../peers/network.js';
import type { AdmissionOptions } from './admission/admission.js';
import type { BlockMakerOptions } from './blocks/block-maker.js';
import type { ChainSyncOptions } from './blocks/chain-sync.js';
import type { Signer } from './blocks/signer.js';
import type { OutputImageOptions } from './image/output-image.js';
import type { MempoolProgress } from './state/applier.js';
import type { StateRules } from './state/state.js';
import type { StatusesOptions } from './state/statuses.js';

export interface MempoolOptions {
  readonly rules: StateRules;
  readonly pool: AdmissionOptions;
  readonly blocks: BlockMakerOptions;
  readonly chain: ChainSyncOptions;
  readonly statuses: StatusesOptions;
  /** Threads that verify signatures beside the main one. */
  readonly verifyThreads: number;
}

export interface MempoolModules extends HasClock, HasLogger, HasMetrics, HasRandom {
  readonly kv: Kv;
  readonly journal: Journal;
  /** Leadership; without it this node makes the blocks. */
  readonly leadership?: Leadership;
  /** The name of this node among those that share the journal; undefined when nobody else does. */
  readonly replica?: string | undefined;
  readonly network: PeerNetwork;
  readonly unicorn: (seed: bigint) => Promise<Unicorn> | Unicorn;
  readonly progress?: MempoolProgress | undefined;
  /** Signs the blocks; undefined in a network that names no producers. */
  readonly signer?: Signer | undefined;
  /** Room on the disk; unlimited when left out. */
  readonly room?: Room;
  /** Place of the image of the unspent outputs; without it none is kept. */
  readonly image?: OutputImageOptions | undefined;
  /** Hands transactions to whoever makes the blocks, where that is none of our nodes (`eras` of the genesis file). Throws to refuse them. */
  readonly passOn?: ((transactions: readonly Transaction[]) => Promise<void>) | undefined;
  /** True while blocks are made only when somebody asks for them (dev networks). */
  readonly isMiningHeld?: (() => boolean) | undefined;
}
