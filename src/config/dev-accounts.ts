/**
 * The keys of the dev network and its genesis file (decision V25): a wallet for the user, one for the miner, ten more
 * accounts, all funded in block 0. NOT FOR PRODUCTION: each seed is the hash of a text printed here, so everyone has them.
 */

import { addressOf } from '../chain/address.js';
import { DISPLAY_UNIT } from '../chain/constants.js';
import { GENESIS_TX, genesisText } from '../chain/genesis-text.js';
import { encodePkcs8, type KeyPair, keyPairFromSeed } from '../crypto/ed25519.js';
import { sha3Bytes } from '../crypto/sha3.js';
import { toHex } from '../lib/bytes.js';

/** Number of accounts besides the two wallets. */
const ACCOUNT_COUNT = 10;
/** A wallet holds its funds in several outputs, so that several payments fit into one block. */
const WALLET_OUTPUTS = 10;
/** Raw units: 100 million display units to each account and wallet, below 2^53 so that every client can read it. */
export const DEV_AMOUNT = 100_000_000n * DISPLAY_UNIT;

/** Name of the transaction that holds the funds. */
export const DEV_GENESIS_TX = GENESIS_TX;

/** A key of the dev network with what it owns in block 0. */
export interface DevAccount {
  /** `tessera dev account 1`; the seed is the SHA3-256 of this text. */
  readonly label: string;
  readonly keyPair: KeyPair;
  readonly address: string;
  /** Output indices of the genesis transaction. */
  readonly outputs: readonly number[];
  /** Raw units in each of these outputs. */
  readonly outputAmount: bigint;
}

export interface DevAccounts {
  readonly accounts: readonly DevAccount[];
  /** The wallet of the user node: index 0 of `user_wallet_seeds`. */
  readonly user: DevAccount;
  /** The wallet of the miner: index 1 of `user_wallet_seeds`. */
  readonly miner: DevAccount;
}

/** The same keys at every call. Accounts own the first outputs, then the user's wallet, then the miner's. */
export function devAccounts(): DevAccounts {
  const accounts = Array.from({ length: ACCOUNT_COUNT }, (_, i) => account(`tessera dev account ${i + 1}`, i, 1));
  const user = account('tessera dev user', ACCOUNT_COUNT, WALLET_OUTPUTS);
  const miner = account('tessera dev miner', ACCOUNT_COUNT + WALLET_OUTPUTS, WALLET_OUTPUTS);
  return { accounts, user, miner };
}

/** Who signs the blocks of the dev network: `network.producer_keys` and `mempool.producer_key` of its files. */
export function devProducer(): KeyPair {
  return keyPairFromSeed(sha3Bytes('tessera dev producer'));
}

function account(label: string, firstOutput: number, count: number): DevAccount {
  const keyPair = keyPairFromSeed(sha3Bytes(label));
  return {
    label,
    keyPair,
    address: addressOf(keyPair.publicKey),
    outputs: Array.from({ length: count }, (_, i) => firstOutput + i),
    outputAmount: DEV_AMOUNT / BigInt(count),
  };
}

/** The text of `config/genesis-dev.json`, in the network's shape. */
export function devGenesis(): string {
  const { accounts, user, miner } = devAccounts();
  return genesisText({
    outputs: [...accounts, user, miner].flatMap(({ keyPair, outputs, outputAmount }) =>
      outputs.map(() => ({ public_key: toHex(keyPair.publicKey), amount: outputAmount })),
    ),
    message: 'Tessera dev network. NOT FOR PRODUCTION: all keys are public.',
    walletSeeds: [user, miner].map(walletSeeds),
  });
}

function walletSeeds({ keyPair, outputs, outputAmount }: DevAccount) {
  return outputs.map((n) => ({
    out_point: `${n}-${DEV_GENESIS_TX}`,
    secret_key: toHex(encodePkcs8(keyPair)),
    public_key: toHex(keyPair.publicKey),
    amount: outputAmount,
    address_version: null,
  }));
}
