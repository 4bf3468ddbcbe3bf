/** Parts that a role gives to its node, and parts that it is made from. */

import type { Producers } from '../../chain/certificate.js';
import type { Genesis } from '../../chain/genesis.js';
import type { Config } from '../../config/schema.js';
import type { KeyPair } from '../../crypto/ed25519.js';
import type { DataDir } from '../../db/data-dir.js';
import type { Room } from '../../db/disk-room.js';
import type { Kv } from '../../db/kv.js';
import type { Logger } from '../../lib/logger.js';
import type { Service } from '../../lib/service.js';
import type { Mempool } from '../../mempool/mempool.js';
import type { Miner } from '../../miner/miner.js';
import type { HasClock, HasMetrics, HasRandom } from '../../observability/modules.js';
import type { Progress, ProgressOptions } from '../../observability/progress.js';
import type { PeerNetwork } from '../../peers/network.js';
import type { ChainIndex } from '../../storage/chain-index/chain-index.js';
import type { RunningStorageService } from '../../storage/storage-service.js';
import type { RunningUserService } from '../../user/user-service.js';
import type { Wallet } from '../../wallet/wallet.js';
import type { ArchiveAccount } from '../verify/archive-account.js';

export interface RoleContext extends HasClock, HasMetrics, HasRandom {
  readonly config: Config;
  readonly genesis: Genesis;
  readonly dataDir: DataDir;
  /** The node's own key, by which its peers know it. */
  readonly nodeKey: KeyPair;
  /** The producers; undefined in a network that names none. */
  readonly producers: Producers | undefined;
  /** Network of the node, which is not started yet. */
  readonly network: PeerNetwork;
  readonly room: Room;
  /** Aborted when the node is told to stop, to end `load`. */
  readonly stopping: AbortSignal;
  /** See `WalletOptions`. */
  readonly keepsPassphrase?: boolean;
  /** See `MempoolModules`. */
  readonly isMiningHeld?: (() => boolean) | undefined;
  logger(component: string): Logger;
  /** Shows the progress of a long task; `name` is its label in the metrics. */
  progress(name: TaskName, options: ProgressOptions): Progress;
}

/** The long tasks of a node, as the metrics name them. */
export type TaskName =
  | 'load'
  | 'replay'
  | 'rewrite'
  | 'count'
  | 'heal'
  | 'bring_over'
  | 'adopt'
  | 'catch_up'
  | 'index'
  | 'wallet_refresh'
  | 'wallet_blocks';

/** The services of a role; the API uses them by their interfaces. */
export interface RoleServices {
  readonly mempool?: Mempool;
  readonly storage?: RunningStorageService;
  readonly chainIndex?: ChainIndex;
  readonly miner?: Miner;
  readonly wallet?: Wallet;
  readonly user?: RunningUserService;
}

export interface Role extends Service {
  readonly services: RoleServices;
  /** Sets message handlers and loads. Called before the network starts; `start` is called after it. */
  load(): Promise<void>;
  readiness(): readonly string[];
  /** Work that the role cannot do now although it is ready: a load balancer should keep it for the rest. */
  degraded?(): readonly string[];
}

/** Definition of a role in the composition root. */
export interface RoleDefinition {
  /** Opens the role of a node. */
  open(context: RoleContext): Promise<Role>;
  /** Makes the data of a stopped node anew (`tessera rebuild`). */
  rebuild(options: RebuildOptions): Promise<Rebuilt>;
  /** Checks the data of a stopped node, whose records have been read, by its rules (`tessera verify`). */
  verify?(data: VerifiedData): Promise<void>;
  /** Compares outputs that a node counts as unspent with an archive. Resolves with the number of equal ones. */
  holdAgainst?(archive: ArchiveAccount, data: VerifiedData, show: (outputs: number) => void): Promise<number>;
}

/** The data of a stopped node that is verified. */
export interface VerifiedData extends Pick<RebuildOptions, 'config' | 'signal'> {
  readonly directory: DataDir;
  /** The last database of the role, which holds its state, and all of them by name. */
  readonly kv: Kv;
  readonly databases: ReadonlyMap<string, Kv>;
  progress(task: string, unit: string): Progress;
  /** Reports a result about a database, the last one by default. */
  note(found: string, database?: string): void;
  /** Reads every record of a database, and reports their number. */
  readAll(name: string, kv: Kv): Promise<void>;
}

export interface RebuildOptions {
  readonly config: Config;
  /** The data folder of a storage node from which blocks are read. */
  readonly archive: string | undefined;
  /** Hours back from now in which payments of a wallet are sent again. */
  readonly hours: number;
  readonly signal: AbortSignal;
  readonly onProgress: (done: number, total: number) => void;
}

export interface Rebuilt {
  /** Result in words, for people and for programs. */
  readonly text: string;
  readonly report: object;
  readonly problems: readonly string[];
}
