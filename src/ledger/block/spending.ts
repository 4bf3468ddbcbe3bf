/**
 * What the transactions of a block spend, against what is unspent after the block before: every input exists and is spent
 * once, its locktime has passed, sums are equal, and every script and signature holds (docs/chain.md#validation). The
 * cheap part runs on the main thread in slices; the scripts run beside it while the next transactions are planned.
 */

import { isCreate, outPointKey, spentOutPoints } from '../../chain/transaction.js';
import type { OutPoint, TxOut } from '../../chain/types.js';
import {
  AMOUNTS_DIFFER,
  INVALID_SCRIPT,
  LOCKTIME_NOT_EXPIRED,
  NO_PUBLIC_KEY,
  planCreateValidation,
  planValidation,
  type ScriptCheck,
  UNKNOWN_UTXO,
  type UtxoLookup,
} from '../../chain/validation.js';
import type { Fault } from '../../lib/fault.js';
import type { TimeSlices } from '../../lib/time-slices.js';
import { type BlockFault, type BlockRule, blockFault } from './rules.js';
import type { VerifiedTransaction } from './verified-block.js';

/** Outputs that are asked for at a time. */
const LOOKUP_CHUNK = 500;

/** What is known of the chain after the last block. */
export interface LedgerView {
  /** Those of the hashes that are names of transactions in the chain. */
  knownHashes(hashes: readonly string[]): Promise<readonly string[]>;
  /** In the order asked; undefined for what is not unspent. */
  unspent(outPoints: readonly OutPoint[]): Promise<readonly (TxOut | undefined)[]>;
}

/** Runs checks beside the event loop; see `Verifier`. */
export interface ScriptVerifier {
  verify(checks: readonly ScriptCheck[]): Promise<boolean>;
}

export interface SpendingModules {
  readonly ledger: LedgerView;
  readonly scripts: ScriptVerifier;
  readonly slices: TimeSlices;
}

/** The outputs that a block spends, in order. */
export function spentBy(transactions: readonly VerifiedTransaction[]): OutPoint[] {
  return transactions.flatMap(({ transaction }) => spentOutPoints(transaction));
}

/** No output is spent twice. */
export function doubleSpendFault(transactions: readonly VerifiedTransaction[]): BlockFault | null {
  const seen = new Set<string>();
  for (const { hash, transaction } of transactions) {
    for (const outPoint of spentOutPoints(transaction)) {
      const key = outPointKey(outPoint);
      if (seen.has(key)) return blockFault('inputs', `transaction ${hash} spends ${key}, which another one spends too`);
      seen.add(key);
    }
  }
  return null;
}

/** What is wrong with a transaction that may not spend what it spends; null when all may. */
export async function spendingFault(
  transactions: readonly VerifiedTransaction[],
  height: number,
  spent: readonly OutPoint[],
  { ledger, scripts, slices }: SpendingModules,
): Promise<BlockFault | null> {
  const lookup = await lookUp(spent, ledger);
  // What the mempool compares locktimes with when it admits what can be in this block.
  const currentBlock = BigInt(Math.max(0, height - 1));
  const verdicts: Promise<BlockFault | null>[] = [];
  for (const { hash, transaction } of transactions) {
    await slices.turn();
    const plan = isCreate(transaction)
      ? planCreateValidation(transaction)
      : planValidation(transaction, currentBlock, lookup);
    if (plan.fault !== null) return invalid(hash, plan.fault);
    const verdict = scripts.verify(plan.checks).then((holds) => (holds ? null : invalid(hash, INVALID_SCRIPT)));
    // The block may be refused before anybody waits for this promise.
    verdict.catch(() => undefined);
    verdicts.push(verdict);
  }
  const found = await Promise.all(verdicts);
  return found.find((verdict) => verdict !== null) ?? null;
}

async function lookUp(outPoints: readonly OutPoint[], ledger: LedgerView): Promise<UtxoLookup> {
  const found = new Map<string, TxOut>();
  for (let from = 0; from < outPoints.length; from += LOOKUP_CHUNK) {
    const chunk = outPoints.slice(from, from + LOOKUP_CHUNK);
    const outputs = await ledger.unspent(chunk);
    for (const [i, outPoint] of chunk.entries()) {
      const output = outputs[i];
      if (output !== undefined) found.set(outPointKey(outPoint), output);
    }
  }
  return (outPoint) => found.get(outPointKey(outPoint));
}

const RULES = new Map<Fault, BlockRule>([
  [UNKNOWN_UTXO, 'inputs'],
  [LOCKTIME_NOT_EXPIRED, 'inputs'],
  [NO_PUBLIC_KEY, 'inputs'],
  [AMOUNTS_DIFFER, 'amounts'],
  [INVALID_SCRIPT, 'scripts'],
]);

/** The fault of a block for one of its transactions. */
export function invalid(hash: string, wrong: Fault): BlockFault {
  return blockFault(RULES.get(wrong) ?? 'transactions', `transaction ${hash} is not valid: ${wrong.message}`);
}
