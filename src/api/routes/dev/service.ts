/** Service behind the routes under /v1/dev. */

import type { NodeRole } from '../../../lib/roles.js';

export const MAX_BLOCKS_PER_REQUEST = 100;
/** The end of the year 9999, in Unix seconds: as far as the clock goes. */
export const MAX_TIME = 253_402_300_799;

export interface DevAccountFacts {
  /** Name of the account, as `dev:` and --dev-account take it: `1`, `user`. */
  readonly account: string;
  readonly address: string;
  /** Raw units in block 0. */
  readonly tokens: bigint;
}

export interface DevFacts {
  readonly accounts: readonly DevAccountFacts[];
  /** Base URL of each node's own API. */
  readonly urls: Readonly<Record<NodeRole, string>>;
  /** Milliseconds between blocks; null when they are made on demand. */
  readonly intervalMs: number | null;
  /** False while blocks are made only on request. */
  readonly automine: boolean;
}

export interface FaucetOrder {
  readonly address: string;
  /** Raw units to pay; with `set`, the raw units that the address has afterwards. */
  readonly amount: bigint;
  readonly set?: boolean | undefined;
  /** Address that is spent from without its key, in a network that impersonates. */
  readonly from?: string | undefined;
}

export interface FaucetPayment {
  /** Hash of the payment; null when there was nothing to pay. */
  readonly txHash: string | null;
  readonly to: string;
  readonly amount: bigint;
  /** Number of the payment's block; null when no block is made at once (the network makes them at an interval, or on request only). */
  readonly height: number | null;
}

export interface DevSnapshot {
  readonly id: number;
  /** Number of the last block in the snapshot; -1 before block 0. */
  readonly height: number;
  /** Unix seconds on the clock of the chain. */
  readonly time: number;
}

export interface SavedState {
  readonly file: string;
  readonly bytes: number;
  readonly height: number;
}

/** Commands run one after the other. Each throws `overloaded` when too many wait, `shutting_down` when the network stops. */
export interface DevService {
  facts(): DevFacts;
  /** Pays from the wallet of the miner, or from any address. Throws as `UserService.payAddress`. */
  faucet(order: FaucetOrder): Promise<FaucetPayment>;
  /** Makes blocks at once, empty or not, with the `time` (Unix seconds), if one is given, as `setTime`; resolves with their numbers. */
  mine(count: number, time?: number): Promise<readonly number[]>;
  /** With false, blocks are made only by `mine` from now on. Resolves with the setting. */
  setAutomine(isOn: boolean): Promise<boolean>;
  /** Unix seconds on the clock of the chain. */
  time(): number;
  /** Sets the clock, which goes on from there; never to before the last block, nor beyond `MAX_TIME` (`invalid_request`). */
  setTime(seconds: number): Promise<number>;
  snapshots(): readonly DevSnapshot[];
  /** Keeps the chain, the wallets and the clock as they are now. The nodes are away for a moment. */
  takeSnapshot(): Promise<DevSnapshot>;
  /** Brings everything back to a snapshot, which stays. The nodes are away for a moment. Throws `not_found`. */
  revert(id: number): Promise<DevSnapshot>;
  /** Writes the state file of the network. Throws `invalid_request` when it was started without one. */
  saveState(): Promise<SavedState>;
}
