/**
 * Verifies signatures of a block before its turn, while the block before it is stored; the verifier remembers the results.
 * Nothing is believed for that: in its turn the block is checked by every rule, and only a check of the same signature is spared.
 */

import { pay2pkhParts } from '../../chain/script/builders.js';
import type { FullBlock } from '../../chain/types.js';
import type { SignatureCheck } from '../../chain/validation.js';
import type { ScriptVerifier } from '../../ledger/block/spending.js';
import { AHEAD } from '../../ledger/verifier/verifier.js';
import type { TimeSlices } from '../../lib/time-slices.js';

/** The most signatures of one block that are verified ahead: half of what the verifier is sure to remember. */
const MOST = 10_000;
/** Signatures that are passed to the verifier together. */
const TOGETHER = 16;
/** Form of the text that is signed: the hash of what the transaction spends and makes. */
const SIGNABLE = /^[0-9a-f]{64}$/;

/** Passes the signatures to the verifier, and does not wait for the results. */
export async function verifyAhead(
  { transactions }: FullBlock,
  scripts: ScriptVerifier,
  slices: Pick<TimeSlices, 'turn'>,
): Promise<void> {
  let left = MOST;
  let checks: SignatureCheck[] = [];
  const handOver = (): void => {
    // Errors are reported when the block is stored.
    scripts.verify(checks, AHEAD).catch(() => undefined);
    checks = [];
  };
  for (const { inputs } of transactions) {
    await slices.turn();
    for (const { script } of inputs) {
      const parts = pay2pkhParts(script);
      if (parts === undefined || !SIGNABLE.test(parts.data)) continue;
      const { data: message, signature, publicKey } = parts;
      checks.push({ kind: 'signature', message, signature, publicKey });
      if (checks.length === TOGETHER) handOver();
      if (--left === 0) return handOver();
    }
  }
  handOver();
}
