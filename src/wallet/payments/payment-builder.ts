/** Builds signed transactions from chosen coins, each input signed by the address version of its key (decision V14). Callers decide the rest. */

import { isPayableAddress } from '../../chain/address.js';
import { itemAsset, tokenAsset } from '../../chain/assets.js';
import {
  assemble,
  createItemTransaction,
  type SigningKey,
  signInputs,
  txOut,
  unsignedInput,
} from '../../chain/builders.js';
import { MAX_METADATA_BYTES, U64_MAX } from '../../chain/constants.js';
import { outputsPreimage } from '../../chain/signable.js';
import { outPointKey } from '../../chain/transaction.js';
import type { Asset, GenesisHashSpec, OutPoint, Transaction, TxIn, TxOut } from '../../chain/types.js';
import { utf8Length } from '../../lib/bytes.js';
import { TesseraError } from '../../lib/errors.js';
import { TOKENS } from '../coins/coin.js';

/** Largest amount of a payment: the API's int64 (decision V14). */
const MAX_PAYMENT = 2n ** 63n - 1n;

/** Signatures of one turn: about a millisecond. */
const SIGNATURES_PER_TURN = 16;

export interface SpentCoin {
  readonly outPoint: OutPoint;
  readonly address: string;
}

export type AddressKeys = ReadonlyMap<string, SigningKey>;

export interface PaymentPlan {
  readonly inputs: readonly SpentCoin[];
  readonly to: string;
  readonly asset: Asset;
  readonly locktime: bigint;
  /** Change; null when the inputs equal the amount exactly. */
  readonly change: { readonly amount: bigint; readonly address: string } | null;
}

/** Throws `payment_refused` with the reason unless the address, amount and locktime can be paid (decision V14). */
export function checkPayment(address: string, amount: bigint, locktime: bigint): void {
  checkAmount(amount);
  if (!isPayableAddress(address)) {
    throw refused(
      `what to pay to is not an address: 64 or 32 lower-case hexadecimal digits, or H and 63 of them (it has ${utf8Length(address)} bytes)`,
    );
  }
  if (locktime < 0n || locktime > U64_MAX) throw refused('the locktime must be between 0 and 2^64-1');
}

/** Throws `payment_refused` unless the amount is between 1 and 2^63-1 (decision V14). */
export function checkAmount(amount: bigint): void {
  if (amount <= 0n) throw refused('the amount must be at least 1');
  if (amount > MAX_PAYMENT) throw refused(`the amount must be at most ${MAX_PAYMENT} (2^63-1)`);
}

/** The asset of a payment: tokens for the id of tokens, else items with this genesis hash; spent items carry no metadata. */
export function assetOf(assetId: string, amount: bigint): Asset {
  return assetId === TOKENS ? tokenAsset(amount) : itemAsset(amount, assetId);
}

/** Builds the payment, and signs a few inputs in each turn that `turn` gives: a merge has hundreds. */
export async function buildPaymentInTurns(
  plan: PaymentPlan,
  keys: AddressKeys,
  turn: () => Promise<void>,
): Promise<Transaction> {
  const unsigned = unsignedInputs(plan);
  const outputs = paymentOutputs(plan);
  const byOutPoint = keysOfInputs(plan, keys);
  const inputs: TxIn[] = [];
  for (let at = 0; at < unsigned.length; at += SIGNATURES_PER_TURN) {
    await turn();
    inputs.push(...signInputs(unsigned.slice(at, at + SIGNATURES_PER_TURN), outputs, byOutPoint));
  }
  return assemble({ inputs, outputs });
}

/** A signed item creation to the key's own address. Throws `payment_refused` for a bad amount or metadata over 800 bytes. */
export function buildItemCreation(
  request: { readonly spec: GenesisHashSpec; readonly amount: bigint; readonly metadata: string | null },
  bNum: bigint,
  key: SigningKey,
): Transaction {
  checkAmount(request.amount);
  const { metadata } = request;
  if (metadata !== null && (!isWellFormed(metadata) || utf8Length(metadata) > MAX_METADATA_BYTES)) {
    throw refused(`metadata must be UTF-8 text of at most ${MAX_METADATA_BYTES} bytes; it has ${utf8Length(metadata)}`);
  }
  return createItemTransaction({ ...request, bNum }, key);
}

/** True for the same payment under different hashes: signatures of inputs cover the outputs, but not version and fees. */
export function isSamePayment(a: Transaction, b: Transaction): boolean {
  return outputsPreimage(a.outputs) === outputsPreimage(b.outputs);
}

function unsignedInputs({ inputs }: PaymentPlan): TxIn[] {
  return inputs.map(({ outPoint }) => unsignedInput(outPoint));
}

function keysOfInputs({ inputs }: PaymentPlan, keys: AddressKeys): Map<string, SigningKey> {
  return new Map(
    inputs.map(({ outPoint, address }) => {
      const key = keys.get(address);
      if (key === undefined) throw refused(`the wallet has no key for ${address}`);
      return [outPointKey(outPoint), key];
    }),
  );
}

function paymentOutputs({ to, asset, locktime, change }: PaymentPlan): TxOut[] {
  const payment = txOut(asset, to, locktime);
  if (change === null) return [payment];
  const rest = asset.kind === 'token' ? tokenAsset(change.amount) : itemAsset(change.amount, asset.genesisHash);
  return [payment, txOut(rest, change.address)];
}

/** False for a text with half a surrogate pair, which has no UTF-8 form. */
function isWellFormed(text: string): boolean {
  return !/\p{Surrogate}/u.test(text);
}

function refused(reason: string): TesseraError {
  return new TesseraError('payment_refused', reason);
}
