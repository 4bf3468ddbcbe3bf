/**
 * Validates transactions (docs/chain.md#validation) in two parts: a cheap plan, made against the state, and its checks, which are costly and may run
 * elsewhere. Messages and order of the rules are the reference's. Mempool and storage use the same functions.
 */

import { verifySignature } from '../crypto/ed25519.js';
import { utf8Length } from '../lib/bytes.js';
import { type Fault, fault, type Verdict } from '../lib/fault.js';
import { addressOf, hasValidAddressLength, p2shAddress } from './address.js';
import { AssetSum, withFixedHash } from './assets.js';
import { DEFAULT_GENESIS_HASH, MAX_METADATA_BYTES } from './constants.js';
import { type Era, OUR_ERA } from './eras.js';
import { createParts, isImpersonation, pay2pkhParts } from './script/builders.js';
import { interpret } from './script/interpreter.js';
import { assetSignable, outPointSignable, signablesFor } from './signable.js';
import { signatureBudgetFault } from './signature-operations.js';
import { hasDuplicateInputs, isCreate } from './transaction.js';
import type { OutPoint, Script, Transaction, TxIn, TxOut } from './types.js';

function rejected(message: string): Fault {
  return fault('transaction_rejected', message);
}

export const INVALID_SCRIPT = fault('invalid_signature', 'Invalid signature or script structure');
export const INVALID_ITEM_OUTPUT = rejected('On-spending items needs empty metadata and non-empty genesis hash');
export const NO_INPUTS_OR_OUTPUTS = rejected('Transaction has no inputs or outputs');
export const NO_PREVIOUS_OUT = rejected("Transaction doesn't contain previous outpoint");
export const UNKNOWN_UTXO = fault(
  'unknown_input',
  "UTXO doesn't contain this transaction, or the locktime has not expired",
);
export const LOCKTIME_NOT_EXPIRED = rejected('Locktime not expired');
export const NO_PUBLIC_KEY = rejected('Previous outpoint has no public key');
export const INVALID_OUTPUT_ADDRESS = rejected('Address in output has invalid length');
export const INVALID_FEE_ADDRESS = rejected('Address in fee has invalid length');
export const AMOUNTS_DIFFER = rejected("TxOuts spent don't match TxIns spent");
export const DUPLICATE_INPUTS = fault('double_spend', 'Two inputs spend the same output');
export const INVALID_CREATE = rejected('Create script is invalid');
export const CREATE_WITH_EXTRAS = rejected('Create transaction has fees or DRUID info');
const FOREIGN_GENESIS_HASH = rejected(
  `Create transaction names a genesis hash other than null or ${DEFAULT_GENESIS_HASH}`,
);
export const METADATA_TOO_LONG = rejected(`Metadata of created items has more than ${MAX_METADATA_BYTES} bytes`);

/** The unspent output of an outpoint; undefined when there is none, or when it must not be seen. */
export type UtxoLookup = (outPoint: OutPoint) => TxOut | undefined;

/** A signature to verify; no state can change the result. */
export interface SignatureCheck {
  readonly kind: 'signature';
  /** The signed text; ASCII wherever the check comes from an input that can be valid. */
  readonly message: string;
  readonly signature: Uint8Array;
  readonly publicKey: Uint8Array;
}

/** A script or signature to verify; no state can change the result. */
export type ScriptCheck = SignatureCheck | { readonly kind: 'script'; readonly script: Script };

/** Result of every rule but the scripts, in order. `fault` is the verdict if all `checks` pass; else it is INVALID_SCRIPT. */
export interface ValidationPlan<Check extends ScriptCheck = ScriptCheck> {
  readonly checks: readonly Check[];
  readonly fault: Verdict;
}

/** Applies the rules of docs/chain.md#validation for an ordinary transaction, in their order. `currentBlock`: the block number now. */
export function planValidation(
  tx: Transaction,
  currentBlock: bigint,
  lookup: UtxoLookup,
  { signatures, isOriginal, impersonation }: Pick<Era, 'signatures' | 'isOriginal' | 'impersonation'> = OUR_ERA,
): ValidationPlan {
  const checks: ScriptCheck[] = [];
  if (tx.outputs.some(isInvalidItemOutput)) return { checks, fault: INVALID_ITEM_OUTPUT };
  if (tx.inputs.length === 0 || tx.outputs.length === 0) return { checks, fault: NO_INPUTS_OR_OUTPUTS };
  const signableOf = signatures === 'outpoint' ? outPointSignable : signablesFor(tx.outputs);
  const spent = new AssetSum({ isOriginal });
  for (const { previousOut, script } of tx.inputs) {
    if (previousOut === null) return { checks, fault: NO_PREVIOUS_OUT };
    const found = lookup(previousOut);
    if (found === undefined) return { checks, fault: UNKNOWN_UTXO };
    if (found.locktime > currentBlock) return { checks, fault: LOCKTIME_NOT_EXPIRED };
    if (found.scriptPublicKey === null) return { checks, fault: NO_PUBLIC_KEY };
    const check = inputCheck(script, signableOf(previousOut), found.scriptPublicKey);
    if (check !== undefined) checks.push(check);
    else if (!(impersonation && isImpersonation(script))) return { checks, fault: INVALID_SCRIPT };
    spent.add(withFixedHash(found.value, previousOut));
  }
  return { checks, fault: outputsFault(tx.outputs, tx.fees, spent, isOriginal) };
}

/**
 * The rule for item creations (docs/chain.md#creations), with what the reference does not check (decision B6): no fees and
 * no DRUID info, which would mint; an address of valid length; and no genesis hash of its own choice, which would make more
 * of an item that exists. Blocks of original nodes have all of that. The caller checks whether the transaction hash is already known.
 */
export function planCreateValidation(
  tx: Transaction,
  { isOriginal }: Pick<Era, 'isOriginal'> = OUR_ERA,
): ValidationPlan<SignatureCheck> {
  const [input] = tx.inputs;
  const [output] = tx.outputs;
  if (!isCreate(tx) || input === undefined || output === undefined) return { checks: [], fault: INVALID_CREATE };
  const wrong = createOutputFault(tx, output, isOriginal);
  if (wrong !== null) return { checks: [], fault: wrong };
  const parts = createParts(input.script);
  if (parts === undefined || parts.assetHash !== assetSignable(output.value)) {
    return { checks: [], fault: INVALID_CREATE };
  }
  const { assetHash: message, signature, publicKey } = parts;
  return { checks: [{ kind: 'signature', message, signature, publicKey }], fault: null };
}

/** Fault of an ordinary transaction in any state: the rules that need no previous output, and no double input (decision B7). */
export function formFault(tx: Transaction, { isOriginal }: Pick<Era, 'isOriginal'> = OUR_ERA): Verdict {
  if (tx.outputs.some(isInvalidItemOutput)) return INVALID_ITEM_OUTPUT;
  if (tx.inputs.length === 0 || tx.outputs.length === 0) return NO_INPUTS_OR_OUTPUTS;
  if (tx.inputs.some(hasNoPreviousOut)) return NO_PREVIOUS_OUT;
  if (hasDuplicateInputs(tx)) return DUPLICATE_INPUTS;
  const wrong = addressesFault(tx.outputs, INVALID_OUTPUT_ADDRESS) ?? feesFault(tx.fees, isOriginal);
  return wrong ?? (isOriginal ? null : signatureBudgetFault(tx));
}

/** Runs one check on the calling thread. Never throws. */
export function runCheck(check: ScriptCheck): boolean {
  if (check.kind === 'script') return interpret(check.script);
  return verifySignature(check.publicKey, check.message, check.signature);
}

/** Checks amounts and addresses of outputs and fees against what the inputs spend (docs/chain.md#conservation). */
export function outputsFault(
  outputs: readonly TxOut[],
  fees: readonly TxOut[],
  spent: AssetSum,
  isOriginal = false,
): Verdict {
  const wrong = addressesFault(outputs, INVALID_OUTPUT_ADDRESS) ?? feesFault(fees, isOriginal);
  if (wrong !== null) return wrong;
  const paid = new AssetSum({ isOriginal });
  for (const { value } of outputs) paid.add(value);
  for (const { value } of fees) paid.add(value);
  return paid.equals(spent) ? null : AMOUNTS_DIFFER;
}

function addressesFault(outputs: readonly TxOut[], wrong: Fault): Verdict {
  const sound = ({ scriptPublicKey }: TxOut): boolean =>
    scriptPublicKey === null || hasValidAddressLength(scriptPublicKey);
  return outputs.every(sound) ? null : wrong;
}

/** Fault of the fees. The reference does not count a fee in items without genesis hash, which makes items out of nothing. */
function feesFault(fees: readonly TxOut[], isOriginal: boolean): Verdict {
  const nameless = ({ value }: TxOut): boolean => !isOriginal && value.kind === 'item' && value.genesisHash === null;
  return addressesFault(fees, INVALID_FEE_ADDRESS) ?? (fees.some(nameless) ? AMOUNTS_DIFFER : null);
}

/** Fault of a creation apart from its script. Original nodes looked at the metadata only. */
function createOutputFault(tx: Transaction, { scriptPublicKey, value }: TxOut, isOriginal: boolean): Verdict {
  if (value.kind !== 'item') return INVALID_CREATE;
  if (!isOriginal) {
    if (tx.fees.length > 0 || tx.druidInfo !== null) return CREATE_WITH_EXTRAS;
    if (scriptPublicKey === null || !hasValidAddressLength(scriptPublicKey)) return INVALID_OUTPUT_ADDRESS;
    if (value.genesisHash !== null && value.genesisHash !== DEFAULT_GENESIS_HASH) return FOREIGN_GENESIS_HASH;
  }
  return value.metadata !== null && utf8Length(value.metadata) > MAX_METADATA_BYTES ? METADATA_TOO_LONG : null;
}

function isInvalidItemOutput({ value }: TxOut): boolean {
  return value.kind === 'item' && (value.genesisHash === null || value.metadata !== null);
}

function hasNoPreviousOut({ previousOut }: TxIn): boolean {
  return previousOut === null;
}

/** Check that remains for an input, or undefined. No script can be both kinds: the address of a script begins with `H`. */
function inputCheck(script: Script, signable: string, address: string): ScriptCheck | undefined {
  const check = pay2pkhCheck(script, signable, address);
  if (check !== undefined) return check;
  return p2shAddress(script) === address ? { kind: 'script', script } : undefined;
}

function pay2pkhCheck(script: Script, signable: string, address: string): SignatureCheck | undefined {
  const parts = pay2pkhParts(script);
  if (parts === undefined || parts.address !== address || parts.data !== signable) return undefined;
  // Running the script would compare exactly this hash, then verify exactly this signature.
  if (addressOf(parts.publicKey, parts.version) !== address) return undefined;
  return { kind: 'signature', message: signable, signature: parts.signature, publicKey: parts.publicKey };
}

const ZERO_AMOUNT: Fault = fault('transaction_rejected', 'An output or fee has an amount of zero');
const LOCKED_TRADE: Fault = fault('transaction_rejected', 'A DRUID transaction has an output with a locktime');

/** Fault by the rules for new transactions: a token output below `minOutputAmount` (decision B18), or a locked one in a trade. */
export function policyFault({ outputs, fees, druidInfo }: Transaction, minOutputAmount: bigint): Verdict {
  if (outputs.some(isZero) || fees.some(isZero)) return ZERO_AMOUNT;
  if (druidInfo !== null && outputs.some(({ locktime }) => locktime !== 0n)) return LOCKED_TRADE;
  const isSmall = ({ value }: TxOut): boolean => value.kind === 'token' && value.amount < minOutputAmount;
  const small = outputs.find(isSmall) ?? fees.find(isSmall);
  if (small === undefined) return null;
  const message = `An output or fee has ${small.value.amount} raw units; this network asks for at least ${minOutputAmount}`;
  return fault('transaction_rejected', message);
}

function isZero({ value }: TxOut): boolean {
  return value.amount === 0n;
}
