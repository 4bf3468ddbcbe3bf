/** Messages between a test runner and the process of its dev network. */

/** Options of a dev network. Without options it has ten accounts, makes blocks on demand, and is removed at its end. */
export interface DevNetworkOptions {
  /** Number of accounts; 10 by default. */
  readonly accounts?: number;
  /** Raw units of each account in block 0; 100,000,000 display units by default. */
  readonly balance?: bigint;
  /** Twelve or twenty-four words that the keys of the accounts come from; without them the keys are the published ones. */
  readonly mnemonic?: string;
  /** Milliseconds between blocks; 0, the default, makes one when there is something to put into it. */
  readonly blockTime?: number;
  /** With false, blocks are made only by `mine`, until `setAutomine(true)`. */
  readonly automine?: boolean;
  /** Port of the network's address; by default any that is free. */
  readonly port?: number;
  /** Folder that keeps the chain, which is continued; by default a temporary folder. */
  readonly dataDir?: string;
  /** File that the chain is loaded from, if it exists, and saved to when the network is stopped. */
  readonly state?: string;
  /** URL of a storage node, or of a network at one address: a new chain begins as a copy of its chain. */
  readonly fork?: string;
  /** True if the four nodes have addresses of their own too: for clients of single roles, and the wallet of the miner. */
  readonly nodeAddresses?: boolean;
}

/** An account that is funded in block 0. */
export interface DevAccount {
  /** Name of the account: `1`, `user`, `miner`. */
  readonly account: string;
  readonly address: string;
  /** The secret key: 64 hex digits. */
  readonly seed: string;
  /** Raw units in block 0. */
  readonly tokens: bigint;
}

/** Facts about a network that is up. */
export interface NetworkFacts {
  readonly url: string;
  readonly urls: Readonly<Record<'mempool' | 'storage' | 'miner' | 'user', string>>;
  readonly accounts: readonly DevAccount[];
}

/** The commands by name, with their arguments and results. */
export interface Commands {
  faucet(order: { readonly address: string; readonly amount: bigint }): {
    readonly txHash: string;
    readonly height: number | null;
  };
  mine(count: number): readonly number[];
  setAutomine(isOn: boolean): boolean;
  time(): number;
  setTime(seconds: number): number;
  takeSnapshot(): { readonly id: number; readonly height: number; readonly time: number };
  revert(id: number): { readonly id: number; readonly height: number; readonly time: number };
  stop(): undefined;
}
export type CommandName = keyof Commands;

/** Message from the runner. */
export type Request =
  | { readonly start: DevNetworkOptions }
  | { readonly id: number; readonly command: CommandName; readonly args: readonly unknown[] };

/** Message to the runner. */
export type Answer =
  | { readonly ready: NetworkFacts }
  | { readonly id: number; readonly result: unknown }
  | { readonly id: number | null; readonly error: { readonly code: string; readonly message: string } };
