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
  /** True for words that were just made: nothing was ever paid to them. */
  readonly areWordsNew?: boolean | undefined;
  /** Funds and keys (development and test networks). */
  readonly seeds?: readonly WalletSeed[];
}

export interface WalletOptions extends NewWallet {
  readonly keystoreFile: string;
  /** Name of the network in backup files; empty in tests. */
  readonly networkName?: string;
  /** Passphrase that opens the wallet, or that a new wallet gets. */
  readonly passphrase: string;
  /** True when a new wallet may have a blank passphrase: development networks only (decision V25). */
  readonly allowBlankPassphrase: boolean;
  /** True when the file keeps its passphrase, and a change holds until the wallet is closed: development networks only. */
  readonly keepsPassphrase?: boolean;
  /** Number of spendable token outputs above which small ones are merged; null for never. */
  readonly aggregateAbove: number | null;
  /** True when outputs of own transactions that no block has yet can be spent; the default. */
  readonly spendOwnChange?: boolean;
  /** Height above which blocks have a difficulty target; without it no block has one. */
  readonly activationHeight?: number;
  /** Signers of blocks; undefined in a network that names none. */
  readonly producers?: Producers | undefined;
  /** The transactions of the genesis file, which block 0 must have. */
  readonly genesis?: ReadonlyMap<string, Transaction>;
  readonly maxInputs?: number;
  /** Raw units below which change is avoided. */
  readonly dust?: bigint;
  /** The least raw units of a token output in this network; 1 by default (decision B18). */
  readonly minOutputAmount?: bigint;
  /** The most idempotency keys that are kept. */
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
