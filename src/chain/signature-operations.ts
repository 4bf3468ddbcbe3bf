/** The cost of verifying a transaction in signature verifications, as an upper bound. A rule of the network. */

import { fault, type Verdict } from '../lib/fault.js';
import { MAX_BLOCK_SIGNATURE_OPERATIONS, MAX_PUB_KEYS_PER_MULTISIG, MAX_TX_SIGNATURE_OPERATIONS } from './constants.js';
import { OP } from './script/opcodes.js';
import type { Script, StackEntry, Transaction } from './types.js';

/** The most signature verifications that the inputs of a transaction can ask for. */
export function transactionSignatureOperations({ inputs }: Transaction): number {
  return inputs.reduce((sum, { script }) => sum + scriptSignatureOperations(script), 0);
}

/** The most signature verifications that a script can ask for; skipped branches count. */
export function scriptSignatureOperations(script: Script): number {
  let count = 0;
  for (let at = 0; at < script.length; at++) {
    const entry = script[at];
    if (entry?.kind !== 'op') continue;
    if (entry.op === OP.CHECKSIG || entry.op === OP.CHECKSIGVERIFY) count++;
    if (entry.op === OP.CHECKMULTISIG || entry.op === OP.CHECKMULTISIGVERIFY) count += multiSignatureCost(script, at);
  }
  return count;
}

/** Checks the budget of a transaction; the members of a DRUID set share a block, and each gets its share. */
export function signatureBudgetFault(tx: Transaction): Verdict {
  const operations = transactionSignatureOperations(tx);
  const participants = Math.max(1, Number(tx.druidInfo?.participants ?? 1n));
  const budget = Math.min(MAX_TX_SIGNATURE_OPERATIONS, Math.floor(MAX_BLOCK_SIGNATURE_OPERATIONS / participants));
  if (operations <= budget) return null;
  return fault(
    'transaction_rejected',
    `Scripts with up to ${operations} signature operations; at most ${budget} are allowed`,
  );
}

/** Cost of a multi-signature: each of m signatures is tried on the keys left of n, at most n + (n-1) + … + (n-m+1) times. */
function multiSignatureCost(script: Script, at: number): number {
  const n = literal(script[at - 1]);
  if (n === undefined) return triangle(MAX_PUB_KEYS_PER_MULTISIG);
  if (n > MAX_PUB_KEYS_PER_MULTISIG) return 0;
  const keys = script.slice(Math.max(0, at - 1 - n), at - 1);
  const m = keys.length === n && keys.every(({ kind }) => kind === 'pubkey') ? literal(script[at - 2 - n]) : undefined;
  if (m === undefined) return triangle(n);
  return m > n ? 0 : triangle(n) - triangle(n - m);
}

/** The number that an entry pushes right before the operation; undefined when it is not fixed by the script. */
function literal(entry: StackEntry | undefined): number | undefined {
  if (entry?.kind === 'num') return Number(entry.value);
  return entry?.kind === 'op' && entry.op <= OP.OP_16 ? entry.op : undefined;
}

function triangle(n: number): number {
  return (n * (n + 1)) / 2;
}
