/** What a signature takes to be verified: the measure of a machine, by which figures of another one are scaled. */

import { tokenAsset } from '../src/chain/assets.js';
import type { Transaction } from '../src/chain/types.js';
import { planValidation, runCheck, type ScriptCheck } from '../src/chain/validation.js';

/** µs of a verification with libsodium where the original node was measured. */
export const VERIFICATION_THERE = 39;

/** The checks of payments whose inputs spend what their own scripts name. */
export function checksOf(transactions: readonly Transaction[]): readonly ScriptCheck[] {
  const out = { value: tokenAsset(1_000n), locktime: 0n };
  return transactions.flatMap((tx) => {
    const script = tx.inputs[0]?.script ?? [];
    const address = script[5]?.kind === 'bytes' ? script[5].text : '';
    return planValidation(tx, 0n, () => ({ ...out, scriptPublicKey: address })).checks;
  });
}

/** µs of one thread for the signature of each of these payments; the first half of them is not counted. */
export function verificationCost(transactions: readonly Transaction[]): number {
  const checks = checksOf(transactions);
  const half = checks.length / 2;
  verifyAll(checks.slice(0, half));
  const before = process.cpuUsage();
  verifyAll(checks.slice(half));
  const { user, system } = process.cpuUsage(before);
  return (user + system) / half;
}

export function verifyAll(checks: readonly ScriptCheck[]): void {
  for (const check of checks) if (!runCheck(check)) throw new Error('a signature does not verify');
}
