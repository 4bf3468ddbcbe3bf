/**
 * Checks what the transactions of a block spend: every input exists, before the block or by an earlier transaction, and is spent once; locktimes,
 * sums, scripts and signatures (docs/chain.md#validation). The cheap part runs on the main thread in slices, scripts run on other threads.
 */

import type { Era } from '../../chain/eras.js';
import { createdOutPoints, isCreate, isUnspendable, outPointKey, spentOutPoints } from '../../chain/transaction.js';
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

/** Number of outputs, or hashes, that one look-up asks for. */
export const LOOKUP_CHUNK = 500;

/** State of the chain after the last block. */
export interface LedgerView {
  /** The given hashes that are names of transactions in the chain. */
  knownHashes(hashes: readonly string[]): Promise<readonly string[]>;
  /** Outputs in the order asked; undefined for those that are spent or unknown. */
  unspent(outPoints: readonly OutPoint[]): Promise<readonly (TxOut | undefined)[]>;
}

/** Runs checks beside the event loop; see `Verifier`. */
export interface ScriptVerifier {
  verify(checks: readonly ScriptCheck[], sender?: string): Promise<boolean>;
}

/** True for a transaction whose scripts and signatures are known to hold; they depend on its bytes alone. */
export type IsVerified = (transaction: VerifiedTransaction) => boolean;

export interface SpendingModules {
  readonly ledger: LedgerView;
  readonly scripts: ScriptVerifier;
  readonly isVerified: IsVerified;
  readonly slices: TimeSlices;
}

/** Fault of a block that spends an output twice. */
export async function doubleSpendFault(
  transactions: readonly VerifiedTransaction[],
  slices: TimeSlices,
): Promise<BlockFault | null> {
  const seen = new Set<string>();
  for (const { hash, transaction } of transactions) {
    if (slices.isUsedUp) await slices.turn();
    for (const outPoint of spentOutPoints(transaction)) {
      const key = outPointKey(outPoint);
      if (seen.has(key)) return blockFault('inputs', `transaction ${hash} spends ${key}, which another one spends too`);
      seen.add(key);
    }
  }
  return null;
}

/** Fault of a transaction that may not spend its inputs; null when all may. */
export async function spendingFault(
  transactions: readonly VerifiedTransaction[],
  height: number,
  era: Era,
  { ledger, scripts, isVerified, slices }: SpendingModules,
): Promise<BlockFault | null> {
  const outputs = await SpendableOutputs.read(transactions, ledger, era, slices);
  // The mempool compares locktimes with this height when it admits transactions for this block.
  const currentBlock = BigInt(Math.max(0, height - 1));
  const verdicts: Promise<BlockFault | null>[] = [];
  for (const one of transactions) {
    const { hash, transaction } = one;
    if (slices.isUsedUp) await slices.turn();
    const plan = isCreate(transaction)
      ? planCreateValidation(transaction, era)
      : planValidation(transaction, currentBlock, outputs.lookup, era);
    if (plan.fault !== null) return invalid(hash, plan.fault);
    outputs.add({ hash, transaction });
    if (isVerified(one)) continue;
    const verdict = scripts.verify(plan.checks).then((holds) => (holds ? null : invalid(hash, INVALID_SCRIPT)));
    // The block may be refused before anybody waits for this promise.
    verdict.catch(() => undefined);
    verdicts.push(verdict);
  }
  const found = await Promise.all(verdicts);
  return found.find((verdict) => verdict !== null) ?? null;
}

/** Outputs that the next transaction of a block may spend: outputs before the block, and those of earlier transactions. */
class SpendableOutputs {
  readonly #found = new Map<string, TxOut>();
  /** Names of transactions in the block whose outputs are spent in it. */
  readonly #parents = new Set<string>();
  readonly lookup: UtxoLookup = (outPoint) => this.#found.get(outPointKey(outPoint));

  private constructor() {}

  /** Reads the outputs before the block, without outputs of the block itself. In a block of original nodes, nothing spends those. */
  static async read(
    transactions: readonly VerifiedTransaction[],
    ledger: LedgerView,
    { isOriginal }: Era,
    slices: TimeSlices,
  ): Promise<SpendableOutputs> {
    const outputs = new SpendableOutputs();
    const names = new Set(isOriginal ? [] : transactions.map(({ hash }) => hash));
    const before: OutPoint[] = [];
    for (const { transaction } of transactions) {
      if (slices.isUsedUp) await slices.turn();
      for (const outPoint of spentOutPoints(transaction)) {
        if (names.has(outPoint.tHash)) outputs.#parents.add(outPoint.tHash);
        else before.push(outPoint);
      }
    }
    for (let from = 0; from < before.length; from += LOOKUP_CHUNK) {
      if (slices.isUsedUp) await slices.turn();
      const chunk = before.slice(from, from + LOOKUP_CHUNK);
      const unspent = await ledger.unspent(chunk);
      for (const [i, outPoint] of chunk.entries()) outputs.#put(outPoint, unspent[i]);
    }
    return outputs;
  }

  /** Adds the outputs of a valid transaction: later transactions may spend them. */
  add({ hash, transaction }: Pick<VerifiedTransaction, 'hash' | 'transaction'>): void {
    if (!this.#parents.has(hash)) return;
    for (const { outPoint, txOut } of createdOutPoints(transaction, hash)) {
      if (!isUnspendable(txOut)) this.#put(outPoint, txOut);
    }
  }

  #put(outPoint: OutPoint, output: TxOut | undefined): void {
    if (output !== undefined) this.#found.set(outPointKey(outPoint), output);
  }
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
