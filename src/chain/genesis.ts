/**
 * The beginning of the chain (docs/chain.md#genesis): the genesis file, its transactions, whose hashes the file gives,
 * and block 0. An invalid file throws `invalid_config` with the place.
 */

import { compareUtf8 } from '../lib/bytes.js';
import { isTesseraError, TesseraError } from '../lib/errors.js';
import { addressOf, addressVersionOf } from './address.js';
import { tokenAsset } from './assets.js';
import { type BlockRules, readBlockRules } from './block-rules.js';
import { assemble, coinbaseTransaction, txOut } from './builders.js';
import { COINBASE_MATURITY, TOTAL_TOKENS } from './constants.js';
import { type Era, hasOriginals, readEras } from './eras.js';
import {
  at,
  fail,
  type Place,
  readArray,
  readBytes,
  readObject,
  readOptionalText,
  readText,
  readU64,
  rootPlace,
} from './json-fields.js';
import type { AddressVersion, Transaction, TxOut } from './types.js';

const PUBLIC_KEY_LENGTH = 32;
const OUT_POINT = /^(\d{1,10})-(.+)$/s;

interface Issuance {
  readonly address: string;
  /** Amount in raw units. */
  readonly amount: bigint;
  readonly bNum: bigint;
}

/** A key that a wallet of a test network starts with, and the output that it owns. */
export interface WalletSeed {
  readonly tHash: string;
  readonly n: number;
  readonly secretKey: Uint8Array;
  readonly publicKey: Uint8Array;
  /** Amount in raw units. */
  readonly amount: bigint;
  readonly addressVersion: AddressVersion;
}

export interface Genesis {
  /** Transactions by hash, in ascending order. */
  readonly transactions: ReadonlyMap<string, Transaction>;
  /** Issuances, ascending by block. */
  readonly issuances: readonly Issuance[];
  /** Seeds of the wallets, one list for each wallet. */
  readonly walletSeeds: readonly (readonly WalletSeed[])[];
  /** Raw units in the outputs of the genesis transactions: what counts as issued at block 0. */
  readonly initialIssuance: bigint;
  /** Limits of a block of this network, and the start of a round. */
  readonly blockRules: BlockRules;
  /** Rules by height, where original nodes made a part of the chain; ascending. */
  readonly eras: readonly Era[];
}

/** Reads a genesis file; `mempool_seed_utxo` is required. Integers beyond 2^53 must have been read as bigints. */
export function parseGenesis(value: unknown, where = ''): Genesis {
  try {
    return readGenesis(value, rootPlace(where));
  } catch (error) {
    if (!isTesseraError(error, 'malformed_transaction')) throw error;
    throw new TesseraError('invalid_config', error.message, { cause: error, details: error.details });
  }
}

/** The transactions that are appended to block `bNum`: coinbases whose output can be spent at once. */
export function issuanceTransactions({ issuances }: Pick<Genesis, 'issuances'>, bNum: bigint): Transaction[] {
  // Below block 100 the number wraps, and adding the maturity wraps back to the block's own, as with the reference.
  const wrapped = BigInt.asUintN(64, bNum - COINBASE_MATURITY);
  return issuances
    .filter((issuance) => issuance.bNum === bNum)
    .map(({ address, amount }) => coinbaseTransaction(wrapped, amount, address, bNum - wrapped));
}

function readGenesis(value: unknown, place: Place): Genesis {
  const object = readObject(value, place);
  const input = readOptionalText(object.mempool_genesis_tx_in, place, 'mempool_genesis_tx_in');
  const transactions = readTransactions(object.mempool_seed_utxo, input, at(place, 'mempool_seed_utxo'));
  const initialIssuance = issuedBy(transactions.values());
  if (initialIssuance > TOTAL_TOKENS) fail(place, 'mempool_seed_utxo', `issues more than ${TOTAL_TOKENS}`);
  const eras = readEras(object.eras, at(place, 'eras'));
  const least = hasOriginals(eras) ? 1n : COINBASE_MATURITY;
  const issuances = readArray(object.initial_issuances ?? [], at(place, 'initial_issuances'), (one, inside) =>
    readIssuance(one, inside, least),
  );
  return {
    transactions,
    issuances: issuances.sort((a, b) => Number(a.bNum - b.bNum)),
    walletSeeds: readArray(object.user_wallet_seeds ?? [], at(place, 'user_wallet_seeds'), (seeds, inside) =>
      readArray(seeds, inside, readWalletSeed),
    ),
    initialIssuance,
    blockRules: readBlockRules(object.block_rules, at(place, 'block_rules')),
    eras,
  };
}

function readTransactions(value: unknown, input: string | null, place: Place): Map<string, Transaction> {
  const entries = Object.entries(readObject(value, place)).sort(([a], [b]) => compareUtf8(a, b));
  return new Map(
    entries.map(([hash, seeds]) => {
      readText(hash, place, hash);
      const outputs = readArray(seeds, at(place, hash), readSeedOutput);
      const inputs = input === null ? [] : [{ previousOut: null, script: [{ kind: 'bytes' as const, text: input }] }];
      return [hash, assemble({ inputs, outputs })];
    }),
  );
}

/** Reads an output; `address_version` is optional, and an `address` may stand in place of the `public_key`. */
function readSeedOutput(value: unknown, place: Place): TxOut {
  const object = readObject(value, place);
  const locktime = object.locktime === undefined ? 0n : readU64(object.locktime, place, 'locktime');
  const amount = readU64(object.amount, place, 'amount');
  if (object.address !== undefined)
    return txOut(tokenAsset(amount), readText(object.address, place, 'address'), locktime);
  const publicKey = readBytes(object.public_key, place, 'public_key', PUBLIC_KEY_LENGTH);
  return txOut(tokenAsset(amount), addressOf(publicKey, readAddressVersion(object.address_version, place)), locktime);
}

function readIssuance(value: unknown, place: Place, least: bigint): Issuance {
  const object = readObject(value, place);
  const bNum = readU64(object.block_height, place, 'block_height');
  // The coinbase of an issuance is built for the block 100 before, so that it is spendable at once.
  if (bNum < least) fail(place, 'block_height', `must be at least ${least}`);
  return { address: readText(object.address, place, 'address'), amount: readU64(object.amount, place, 'amount'), bNum };
}

function readWalletSeed(value: unknown, place: Place): WalletSeed {
  const object = readObject(value, place);
  const match = OUT_POINT.exec(readText(object.out_point, place, 'out_point'));
  const [, n, tHash] = match ?? [];
  if (n === undefined || tHash === undefined) return fail(place, 'out_point', 'must have the form <n>-<hash>');
  return {
    tHash,
    n: Number(n),
    secretKey: readBytes(object.secret_key, place, 'secret_key'),
    publicKey: readBytes(object.public_key, place, 'public_key', PUBLIC_KEY_LENGTH),
    amount: readU64(object.amount, place, 'amount'),
    addressVersion: readAddressVersion(object.address_version, place),
  };
}

function readAddressVersion(value: unknown, place: Place): AddressVersion {
  return value === undefined || value === null ? null : addressVersionOf(readU64(value, place, 'address_version'));
}

function issuedBy(transactions: Iterable<Transaction>): bigint {
  let issued = 0n;
  for (const { outputs } of transactions) for (const { value } of outputs) issued += value.amount;
  return issued;
}

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
