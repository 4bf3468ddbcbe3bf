/** Options of a wallet. */

import type { Producers } from '../chain/certificate.js';
import type { WalletSeed } from '../chain/genesis.js';
import type { Transaction } from '../chain/types.js';
import type { ScryptCost } from '../crypto/scrypt.js';
import type { Room } from '../db/disk-room.js';
import type { Kv } from '../db/kv.js';
import type { HasClock, HasLogger, HasMetrics, HasRandom } from '../observability/modules.js';
import type { WalletWords } from './keys/words.js';

export interface NewWallet {
  readonly words?: WalletWords | undefined;
  /** True for words that were made now: nothing was ever paid to them. */
  readonly areWordsNew?: boolean | undefined;
  /** Funds and keys (development and test networks). */
  readonly seeds?: readonly WalletSeed[];
}

export interface WalletOptions extends NewWallet {
  readonly keystoreFile: string;
  /** Stands in its backup files; empty in tests. */
  readonly networkName?: string;
  /** Opens the wallet; for a new wallet, becomes its passphrase. */
  readonly passphrase: string;
  /** A new wallet may have a blank passphrase: development networks only (decision V25). */
  readonly allowBlankPassphrase: boolean;
  /** The file keeps its passphrase, and a change of it holds until the wallet is closed: development networks only. */
  readonly keepsPassphrase?: boolean;
  /** Merge small outputs when more spendable token outputs than this are held; null never does. */
  readonly aggregateAbove: number | null;
  /** Spend outputs of own transactions that no block has yet; true by default. */
  readonly spendOwnChange?: boolean;
  /** Blocks after this one carry a difficulty target; without it none does. */
  readonly activationHeight?: number;
  /** Signers of blocks; undefined in a network that names none. */
  readonly producers?: Producers | undefined;
  /** The transactions of the genesis file, which block 0 must have. */
  readonly genesis?: ReadonlyMap<string, Transaction>;
  readonly maxInputs?: number;
  /** Raw units. */
  readonly dust?: bigint;
  /** Raw units that a token output has at least in this network; 1 by default (decision B18). */
  readonly minOutputAmount?: bigint;
  /** Idempotency keys that are kept at most. */
  readonly maxIdempotencyKeys?: number;
  /** Cost of new seals; tests only. */
  readonly scryptCost?: ScryptCost;
}

export interface WalletModules extends HasClock, HasLogger, HasRandom, Partial<HasMetrics> {
  /** The wallet's own store; the wallet does not close it. */
  readonly kv: Kv;
  /** Room on the disk; unlimited when left out. */
  readonly room?: Room;
  /** Syncs the folder of the keystore; tests make it fail. */
  readonly syncFolder?: (folder: string) => Promise<void>;
}
