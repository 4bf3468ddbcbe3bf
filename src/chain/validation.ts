/**
 * Whether a transaction obeys the rules of the chain (chain.md §5.5 to §5.7). Validation is split in two: a plan, cheap and
 * made against the state, and the checks in it, costly and independent of any state, which may run elsewhere. The messages
 * are the reference's, and the order of the rules decides which one is given.
 */

import { verifySignature } from '../crypto/ed25519.js';
import { utf8Length } from '../lib/bytes.js';
import { addressOf, hasValidAddressLength, p2shAddress } from './address.js';
import { AssetSum, withFixedHash } from './assets.js';
import { MAX_METADATA_BYTES } from './constants.js';
import { createParts, pay2pkhParts } from './script/builders.js';
import { interpret } from './script/interpreter.js';
import { assetSignable, outputsPreimage, signableOf } from './signable.js';
import { isCreate } from './transaction.js';
import type { OutPoint, Script, Transaction, TxOut } from './types.js';

export const INVALID_SCRIPT = 'Invalid signature or script structure';
export const INVALID_ITEM_OUTPUT = 'On-spending items needs empty metadata and non-empty genesis hash';
export const NO_INPUTS_OR_OUTPUTS = 'Transaction has no inputs or outputs';
export const NO_PREVIOUS_OUT = "Transaction doesn't contain previous outpoint";
export const UNKNOWN_UTXO = "UTXO doesn't contain this transaction, or the locktime has not expired";
export const LOCKTIME_NOT_EXPIRED = 'Locktime not expired';
export const NO_PUBLIC_KEY = 'Previous outpoint has no public key';
export const INVALID_OUTPUT_ADDRESS = 'Address in output has invalid length';
export const INVALID_FEE_ADDRESS = 'Address in fee has invalid length';
export const AMOUNTS_DIFFER = "TxOuts spent don't match TxIns spent";
export const INVALID_CREATE = 'Create script is invalid';
export const CREATE_WITH_EXTRAS = 'Create transaction has fees or DRUID info';

/** The unspent output of an outpoint; undefined when there is none, or when it shall not be seen. */
export type UtxoLookup = (outPoint: OutPoint) => TxOut | undefined;

/** One thing to verify that no state can change. */
export type ScriptCheck =
  | {
      readonly kind: 'signature';
      /** The signed text; ASCII wherever the check comes from an input that can be valid. */
      readonly message: string;
      readonly signature: Uint8Array;
      readonly publicKey: Uint8Array;
    }
  | { readonly kind: 'script'; readonly script: Script };

/**
 * Every rule but the scripts, applied in order. `message` ('' = valid) holds if all `checks` pass; otherwise it is
 * INVALID_SCRIPT. Checks come only from inputs before the failing point, so the first failure wins exactly.
 */
export interface ValidationPlan {
  readonly checks: readonly ScriptCheck[];
  readonly message: string;
}

export interface Verdict {
  readonly valid: boolean;
  /** Empty when valid. */
  readonly message: string;
}

/** The rules of chain.md §5.5 for an ordinary transaction, in their order. `currentBlock` is the block number now. */
export function planValidation(tx: Transaction, currentBlock: bigint, lookup: UtxoLookup): ValidationPlan {
  const checks: ScriptCheck[] = [];
  if (tx.outputs.some(isInvalidItemOutput)) return { checks, message: INVALID_ITEM_OUTPUT };
  if (tx.inputs.length === 0 || tx.outputs.length === 0) return { checks, message: NO_INPUTS_OR_OUTPUTS };
  const preimage = outputsPreimage(tx.outputs);
  const spent = new AssetSum();
  for (const { previousOut, script } of tx.inputs) {
    if (previousOut === null) return { checks, message: NO_PREVIOUS_OUT };
    const found = lookup(previousOut);
    if (found === undefined) return { checks, message: UNKNOWN_UTXO };
    if (found.locktime > currentBlock) return { checks, message: LOCKTIME_NOT_EXPIRED };
    if (found.scriptPublicKey === null) return { checks, message: NO_PUBLIC_KEY };
    const check = inputCheck(script, signableOf(preimage, previousOut), found.scriptPublicKey);
    if (check === undefined) return { checks, message: INVALID_SCRIPT };
    checks.push(check);
    spent.add(withFixedHash(found.value, previousOut));
  }
  return { checks, message: outputsMessage(tx.outputs, tx.fees, spent) };
}

/**
 * The rule for item creations (chain.md §5.6) with what the reference leaves unchecked: no fees and no DRUID info, which
 * would mint, and an address of valid length (decision B6). Whether the hash is known already is for the caller.
 */
export function planCreateValidation(tx: Transaction): ValidationPlan {
  const [input] = tx.inputs;
  const [output] = tx.outputs;
  const refused = (message: string): ValidationPlan => ({ checks: [], message });
  if (!isCreate(tx) || input === undefined || output === undefined) return refused(INVALID_CREATE);
  if (tx.fees.length > 0 || tx.druidInfo !== null) return refused(CREATE_WITH_EXTRAS);
  const address = output.scriptPublicKey;
  if (address === null || !hasValidAddressLength(address)) return refused(INVALID_OUTPUT_ADDRESS);
  const check = createCheck(input.script, output);
  return check === undefined ? refused(INVALID_CREATE) : { checks: [check], message: '' };
}

/** Runs one check on the calling thread. Never throws. */
export function runCheck(check: ScriptCheck): boolean {
  if (check.kind === 'script') return interpret(check.script);
  return verifySignature(check.publicKey, check.message, check.signature);
}

/** The reference's `tx_is_valid`: plan and checks in one. */
export function transactionIsValid(tx: Transaction, currentBlock: bigint, lookup: UtxoLookup): Verdict {
  return verdictOf(planValidation(tx, currentBlock, lookup));
}

/** As `transactionIsValid`, for item creations. */
export function createIsValid(tx: Transaction): Verdict {
  return verdictOf(planCreateValidation(tx));
}

/** The amounts and addresses of outputs and fees against what the inputs bring (chain.md §5.7); '' when they are right. */
export function outputsMessage(outputs: readonly TxOut[], fees: readonly TxOut[], spent: AssetSum): string {
  const paid = new AssetSum();
  for (const { scriptPublicKey, value } of outputs) {
    if (scriptPublicKey !== null && !hasValidAddressLength(scriptPublicKey)) return INVALID_OUTPUT_ADDRESS;
    paid.add(value);
  }
  for (const fee of fees) {
    if (fee.scriptPublicKey !== null && !hasValidAddressLength(fee.scriptPublicKey)) return INVALID_FEE_ADDRESS;
    // The reference does not count such a fee at all, which makes items out of nothing.
    if (fee.value.kind === 'item' && fee.value.genesisHash === null) return AMOUNTS_DIFFER;
    paid.add(fee.value);
  }
  return paid.equals(spent) ? '' : AMOUNTS_DIFFER;
}

/** True when the script spends an output paid to a key (chain.md §5.6), its signature included. */
export function isPay2pkhValid(script: Script, signable: string, address: string): boolean {
  const check = pay2pkhCheck(script, signable, address);
  return check !== undefined && runCheck(check);
}

/** True when the script hashes to the address and runs (chain.md §5.6). */
export function isP2shValid(script: Script, address: string): boolean {
  return p2shAddress(script) === address && interpret(script);
}

function verdictOf(plan: ValidationPlan): Verdict {
  const message = plan.checks.every(runCheck) ? plan.message : INVALID_SCRIPT;
  return { valid: message === '', message };
}

function isInvalidItemOutput({ value }: TxOut): boolean {
  return value.kind === 'item' && (value.genesisHash === null || value.metadata !== null);
}

/**
 * What remains to be verified of an input, or undefined when it can be neither kind. No script can be both: the address of
 * a key has hex digits only, that of a script begins with `H`.
 */
function inputCheck(script: Script, signable: string, address: string): ScriptCheck | undefined {
  const check = pay2pkhCheck(script, signable, address);
  if (check !== undefined) return check;
  return p2shAddress(script) === address ? { kind: 'script', script } : undefined;
}

function pay2pkhCheck(script: Script, signable: string, address: string): ScriptCheck | undefined {
  const parts = pay2pkhParts(script);
  if (parts === undefined || parts.address !== address || parts.data !== signable) return undefined;
  // Running the script would compare exactly this hash, then verify exactly this signature.
  if (addressOf(parts.publicKey, parts.version) !== address) return undefined;
  return { kind: 'signature', message: signable, signature: parts.signature, publicKey: parts.publicKey };
}

function createCheck(script: Script, { value }: TxOut): ScriptCheck | undefined {
  if (value.kind === 'item' && value.metadata !== null && utf8Length(value.metadata) > MAX_METADATA_BYTES)
    return undefined;
  const parts = createParts(script);
  if (parts === undefined || parts.assetHash !== assetSignable(value)) return undefined;
  return { kind: 'signature', message: parts.assetHash, signature: parts.signature, publicKey: parts.publicKey };
}
