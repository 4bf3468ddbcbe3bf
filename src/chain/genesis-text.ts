/**
 * Writes a genesis file (docs/chain.md#genesis), for `tessera genesis new` and for the network of `tessera dev`, with its
 * members in the order of the reference. `genesis.ts` reads it.
 */

/** Name of the only genesis transaction; genesis transactions are named by the file, not by their hash. */
export const GENESIS_TX = '000000';

/** An output of block 0, for an address or a public key in hex. Amounts are raw units. */
export type GenesisOutput = { readonly amount: bigint } & (
  | { readonly address: string }
  | { readonly public_key: string }
);

/** A key that a wallet of a test network starts with. */
interface GenesisSeed {
  readonly out_point: string;
  readonly secret_key: string;
  readonly public_key: string;
  readonly amount: bigint;
  readonly address_version: null;
}

export interface GenesisContent {
  readonly outputs: readonly GenesisOutput[];
  /** A text that block 0 keeps forever. */
  readonly message: string;
  readonly issuances?: readonly { readonly address: string; readonly amount: bigint; readonly block_height: number }[];
  readonly walletSeeds?: readonly (readonly GenesisSeed[])[];
  /** Members of `block_rules`, where the network has rules of its own; `genesis.ts` checks them. */
  readonly blockRules?: Readonly<Record<string, unknown>>;
}

/** The text of a genesis file; `parseGenesis` checks it. */
export function genesisText({
  outputs,
  message,
  issuances = [],
  walletSeeds = [],
  blockRules = {},
}: GenesisContent): string {
  const file = {
    mempool_seed_utxo: { [GENESIS_TX]: outputs.map((output) => ({ ...output, locktime: 0 })) },
    mempool_genesis_tx_in: message,
    treasury_supply: outputs.reduce((sum, { amount }) => sum + amount, 0n),
    user_wallet_seeds: walletSeeds,
    initial_issuances: issuances,
    ...(Object.keys(blockRules).length > 0 && { block_rules: blockRules }),
  };
  // JSON.stringify cannot write bigints: they pass as marked strings; the mark and the quotes are removed afterwards.
  const text = JSON.stringify(file, (_, value) => (typeof value === 'bigint' ? `\u0000${value}` : value), 2);
  return `${text.replaceAll(/"\\u0000(\d+)"/g, '$1')}\n`;
}
