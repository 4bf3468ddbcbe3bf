/** Payments of tokens and items, and creations of items, signed in this program. A node never gets a key. */

import { addressOf, isPayableAddress } from '../chain/address.js';
import { itemAsset, tokenAsset } from '../chain/assets.js';
import { assembleSigned, type SigningKey, txOut, unsignedInput } from '../chain/builders.js';
import { MAX_METADATA_BYTES } from '../chain/constants.js';
import { parseCreateTransaction, transactionToCreateJson } from '../chain/create-transaction.js';
import { transactionHash } from '../chain/hash.js';
import { assetSignable } from '../chain/signable.js';
import { outPointKey } from '../chain/transaction.js';
import type { Asset, DruidInfo, OutPoint, Transaction } from '../chain/types.js';
import { INVALID_SCRIPT, planValidation, runCheck } from '../chain/validation.js';
import { type KeyPair, sign } from '../crypto/ed25519.js';
import { toHex, utf8Length } from '../lib/bytes.js';
import { TesseraError } from '../lib/errors.js';
import type { Verdict } from '../lib/fault.js';
import { chooseUnspent, type Unspent, unspentIn } from '../wallet/coins/unspent.js';
import { checkAmount, checkPayment } from '../wallet/payments/payment-builder.js';
import type { BalancesResponse, CreateItemRequest, CreateTransaction } from './generated/operations.js';
import { byAddress } from './keys.js';

/** An unspent output: its outpoint, its address, and the asset in it. */
export type UnspentOutput = Unspent;

/** Tokens in raw units, or items of the class that `item` names by its genesis hash. */
export interface Amount {
  readonly amount: bigint;
  readonly item?: string | undefined;
}

/** Outputs that can be spent, and keys to spend them with. */
export interface Funds {
  /**
   * Outputs as `unspentOutputs` gives them, without those that a payment under way spends. Their amounts are not checked: if an output
   * holds more, whoever gets the payment can take the rest as a fee, which no signature covers. `proveOutputs` checks amounts.
   */
  readonly unspent: readonly UnspentOutput[];
  /** Keys of the addresses to spend from. Outputs of other addresses are left alone. */
  readonly keys: Iterable<KeyPair>;
  /** Address for the change. Default: the address of the first output that is spent. */
  readonly changeAddress?: string | undefined;
}

export interface PaymentOptions extends Funds, Amount {
  /** The address that is paid. */
  readonly to: string;
  /** Outputs to spend, exactly these, whatever `unspent` has. */
  readonly inputs?: readonly UnspentOutput[] | undefined;
  /** Number of the first block in which the payment can be spent; 0, the default, is at once. */
  readonly locktime?: bigint | undefined;
  /** Version of the transaction; the chain accepts any. */
  readonly version?: bigint | undefined;
}

/** A transaction that is ready to be sent, with the outputs that it spends and the change. */
export interface SignedTransaction {
  readonly transaction: Transaction;
  /** Hash of the transaction: `g` and 31 hex digits. */
  readonly hash: string;
  /** Outputs that the transaction spends. */
  readonly spent: readonly UnspentOutput[];
  /** Change, spendable in the same block; null when there is none. */
  readonly change: UnspentOutput | null;
}

/** The unspent outputs in an answer of `getBalances` or `queryBalances`. Throws `malformed_transaction`. */
export function unspentOutputs(balances: BalancesResponse): UnspentOutput[] {
  return unspentIn(balances);
}

/** The sum of the tokens, in raw units, or of the items of a class. */
export function balanceOf(unspent: readonly UnspentOutput[], item?: string): bigint {
  return unspent
    .filter(({ value }) => (value.kind === 'token' ? undefined : value.genesisHash) === item)
    .reduce((sum, { value }) => sum + value.amount, 0n);
}

/** A signed payment with change. Throws `payment_refused` for no address, amount or key, and `insufficient_funds`. */
export function buildPayment(options: PaymentOptions): SignedTransaction {
  return buildSpending(options, null);
}

/** A signed payment with change; with `druidInfo` it is part of a group that is admitted together or not at all. */
export function buildSpending(options: PaymentOptions, druidInfo: DruidInfo | null): SignedTransaction {
  const { to, amount, item, locktime = 0n, version } = options;
  checkPayment(to, amount, locktime);
  const keys = byAddress(options.keys);
  const own = options.unspent.filter(({ address }) => keys.has(address));
  const spent = options.inputs ?? chooseUnspent(own, amount, item);
  const rest = balanceOf(spent, item) - amount;
  if (rest < 0n)
    throw new TesseraError('insufficient_funds', `the inputs hold ${rest + amount}, and ${amount} are to be paid`);
  const changeAddress = options.changeAddress ?? spent[0]?.address ?? to;
  if (!isPayableAddress(changeAddress)) throw refused('what is over goes to no address');
  const outputs = [txOut(assetOf({ amount, item }), to, locktime)];
  if (rest > 0n) outputs.push(txOut(assetOf({ amount: rest, item }), changeAddress));
  const parts = { inputs: spent.map(({ outPoint }) => unsignedInput(outPoint)), outputs, druidInfo };
  const transaction = assembleSigned(version === undefined ? parts : { ...parts, version }, keysOf(spent, keys));
  const hash = transactionHash(transaction);
  const change = { outPoint: { tHash: hash, n: 1 }, address: changeAddress, value: assetOf({ amount: rest, item }) };
  return { transaction, hash, spent, change: rest > 0n ? change : null };
}

function keysOf(spent: readonly UnspentOutput[], keys: ReadonlyMap<string, SigningKey>): Map<string, SigningKey> {
  return new Map(
    spent.map(({ outPoint, address }) => {
      const key = keys.get(address);
      if (key === undefined) throw refused(`there is no key for ${address}`);
      return [outPointKey(outPoint), key];
    }),
  );
}

/** The asset, as in transactions of the chain, for an amount. */
export function assetOf({ amount, item }: Amount): Asset {
  return item === undefined ? tokenAsset(amount) : itemAsset(amount, item);
}

export interface ItemOptions {
  /** Number of items, at least 1. */
  readonly amount: bigint;
  /** Public text, at most 800 bytes of UTF-8. Neither signed nor to be trusted. */
  readonly metadata?: string | null | undefined;
  /** Class of the items. `Create`, the default, makes a new class, named by the hash of the transaction; `Default` adds to the shared one. */
  readonly genesisHash?: 'Create' | 'Default' | undefined;
}

/** The signed request for `client.createItem`, to the current address of the key. Throws `payment_refused`. */
export function signItemCreation(
  { amount, metadata = null, genesisHash = 'Create' }: ItemOptions,
  { seed, publicKey }: KeyPair,
): CreateItemRequest {
  checkAmount(amount);
  if (metadata !== null && utf8Length(metadata) > MAX_METADATA_BYTES) {
    throw refused(`metadata has at most ${MAX_METADATA_BYTES} bytes, not ${utf8Length(metadata)}`);
  }
  return {
    item_amount: amount,
    genesis_hash_spec: genesisHash,
    metadata,
    public_key: toHex(publicKey),
    script_public_key: addressOf(publicKey),
    signature: toHex(sign(seed, assetSignable(itemAsset(amount, null)))),
  };
}

/** The form in which `client.createTransactions` takes a transaction. */
export function toCreateTransaction(transaction: Transaction): CreateTransaction {
  const { inputs, ...rest } = transactionToCreateJson(transaction);
  return {
    ...rest,
    inputs: inputs.map(({ previous_out, script_signature: script }) => {
      if (!('Pay2PkH' in script)) return { previous_out, script_signature: script };
      const { address_version: version } = script.Pay2PkH;
      return {
        previous_out,
        script_signature: {
          Pay2PkH: { ...script.Pay2PkH, address_version: version === null ? null : BigInt(version) },
        },
      };
    }),
  };
}

/** The transaction in a result of `toCreateTransaction`, or in a body of another client. Throws `malformed_transaction`. */
export function parseTransaction(value: unknown): Transaction {
  return parseCreateTransaction(value);
}

/** Fault of a payment that spends these outputs (sums, addresses, signatures), or null. Only nodes know whether the outputs are unspent. */
export function transactionFault(transaction: Transaction, spent: readonly UnspentOutput[]): Verdict {
  const known = new Map(spent.map((one) => [outPointKey(one.outPoint), one]));
  const lookup = (outPoint: OutPoint) => {
    const found = known.get(outPointKey(outPoint));
    return found && txOut(found.value, found.address);
  };
  const { checks, fault } = planValidation(transaction, 0n, lookup);
  return checks.every(runCheck) ? fault : INVALID_SCRIPT;
}

function refused(reason: string): TesseraError {
  return new TesseraError('payment_refused', reason);
}
