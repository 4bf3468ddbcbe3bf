/**
 * The keys and the genesis file of the dev network (decision V25): wallets for user and miner, and more accounts, all funded in block 0.
 * NOT FOR PRODUCTION: each seed is the hash of a text printed here. The accounts can be others, also of a mnemonic.
 */

import { pbkdf2Sync } from 'node:crypto';
import { validateMnemonic } from '@scure/bip39';
import { wordlist } from '@scure/bip39/wordlists/english.js';
import { addressOf } from '../chain/address.js';
import { DISPLAY_UNIT, TOTAL_TOKENS } from '../chain/constants.js';
import { GENESIS_TX, genesisText } from '../chain/genesis.js';
import { encodePkcs8, type KeyPair, keyPairFromSeed } from '../crypto/ed25519.js';
import { sha3Bytes } from '../crypto/sha3.js';
import { keyAtPath } from '../crypto/slip10.js';
import { toHex } from '../lib/bytes.js';
import { TesseraError } from '../lib/errors.js';

/** Number of accounts besides the two wallets. */
export const DEV_ACCOUNT_COUNT = 10;
/** Most accounts besides the two wallets. */
export const MAX_DEV_ACCOUNTS = 1_000;
/** Outputs that hold the funds of a wallet: several, so that several payments fit into one block. */
const WALLET_OUTPUTS = 10;
/** Raw units: 100 million display units to each account and wallet, below 2^53 so that every client can read it. */
export const DEV_AMOUNT = 100_000_000n * DISPLAY_UNIT;

/** Name of the transaction that holds the funds. */
export const DEV_GENESIS_TX = GENESIS_TX;

export interface DevAccountsOptions {
  /** Twelve or twenty-four words: account N is the address number N - 1 that a wallet with these words receives at. */
  readonly mnemonic?: string | undefined;
  readonly count?: number | undefined;
  /** Raw units of each account in block 0; by default `DEV_AMOUNT`, which the two wallets always have. */
  readonly balance?: bigint | undefined;
}

/** A key of the dev network with its funds in block 0. */
export interface DevAccount {
  readonly keyPair: KeyPair;
  readonly address: string;
  /** Output indices of the genesis transaction. */
  readonly outputs: readonly number[];
  readonly outputAmount: bigint;
}

export interface DevAccounts {
  readonly accounts: readonly DevAccount[];
  /** The wallet of the user node: index 0 of `user_wallet_seeds`. */
  readonly user: DevAccount;
  /** The wallet of the miner: index 1 of `user_wallet_seeds`. */
  readonly miner: DevAccount;
}

/** The accounts, the same for the same options. Throws `invalid_request` for words that are no mnemonic, and for more than can be issued. */
export function devAccounts({
  mnemonic,
  count = DEV_ACCOUNT_COUNT,
  balance = DEV_AMOUNT,
}: DevAccountsOptions = {}): DevAccounts {
  if (BigInt(count) * balance + 2n * DEV_AMOUNT > TOTAL_TOKENS) {
    throw new TesseraError(
      'invalid_request',
      `${count} accounts with ${balance} raw units are more than can be issued`,
    );
  }
  const seedOf = mnemonic === undefined ? publishedSeed : seedsOfWords(mnemonic);
  const accounts = Array.from({ length: count }, (_, i) => account(seedOf(i), { first: i, count: 1, amount: balance }));
  const [user, miner] = ['user', 'miner'].map((name, i) => {
    const first = count + i * WALLET_OUTPUTS;
    return account(sha3Bytes(`tessera dev ${name}`), { first, count: WALLET_OUTPUTS, amount: DEV_AMOUNT });
  }) as [DevAccount, DevAccount];
  return { accounts, user, miner };
}

/** The mnemonic with one space between words, in lower case. Throws `invalid_request`; words are not repeated in it. */
export function normalMnemonic(text: string): string {
  const words = text.normalize('NFKD').toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length !== 12 && words.length !== 24) {
    throw new TesseraError('invalid_request', `a mnemonic has 12 or 24 words, not ${words.length}`);
  }
  const mnemonic = words.join(' ');
  if (validateMnemonic(mnemonic, wordlist)) return mnemonic;
  throw new TesseraError(
    'invalid_request',
    'these words are not a mnemonic: a word is not in the BIP39 list, or is misplaced',
  );
}

/** Seed of the key that signs the blocks of the dev network. Making the key opens a library, which whoever compares seeds can do without. */
export const DEV_PRODUCER_SEED = sha3Bytes('tessera dev producer');

/** That key: `network.producer_keys` and `mempool.producer_key` of its files. */
export const devProducer = (): KeyPair => keyPairFromSeed(DEV_PRODUCER_SEED);

function publishedSeed(index: number): Uint8Array {
  return sha3Bytes(`tessera dev account ${index + 1}`);
}

/** The path at which a wallet with these words receives (docs/wallet.md#the-words-and-their-keys), without the index. */
const RECEIVE_PATH = [44, 0x7465_7373, 0] as const;

function seedsOfWords(mnemonic: string): (index: number) => Uint8Array {
  const root = pbkdf2Sync(normalMnemonic(mnemonic), 'mnemonic', 2_048, 64, 'sha512');
  return (index) => keyAtPath(root, [...RECEIVE_PATH, index]).seed;
}

function account(
  seed: Uint8Array,
  { first, count, amount }: { readonly first: number; readonly count: number; readonly amount: bigint },
): DevAccount {
  const keyPair = keyPairFromSeed(seed);
  return {
    keyPair,
    address: addressOf(keyPair.publicKey),
    outputs: Array.from({ length: count }, (_, i) => first + i),
    outputAmount: amount / BigInt(count),
  };
}

/** The text of a genesis file with these accounts, in the network's shape; of `config/genesis-dev.json` by default. */
export function devGenesis({ accounts, user, miner }: DevAccounts = devAccounts()): string {
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
