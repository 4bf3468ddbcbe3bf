/**
 * Signatures of a block whose turn has not come: they are verified while the block before it is stored, and the verifier remembers what it
 * found. Nothing is believed for that. The block is held to every rule in its turn, and what it then asks for is the same check or another.
 */

import { pay2pkhParts } from '../../chain/script/builders.js';
import type { FullBlock } from '../../chain/types.js';
import type { SignatureCheck } from '../../chain/validation.js';
import type { ScriptVerifier } from '../../ledger/block/spending.js';
import { AHEAD } from '../../ledger/verifier/verifier.js';
import type { TimeSlices } from '../../lib/time-slices.js';

/** Signatures of one block that are verified ahead: half of what the verifier remembers for certain. */
const MOST = 10_000;
/** Signatures that are handed over together. */
const TOGETHER = 16;
/** Text under a valid signature: the hash of what the transaction spends and makes. */
const SIGNABLE = /^[0-9a-f]{64}$/;

/** Hands the signatures to the verifier, and does not wait for what it finds. */
export async function verifyAhead(
  { transactions }: FullBlock,
  scripts: ScriptVerifier,
  slices: Pick<TimeSlices, 'turn'>,
): Promise<void> {
  let left = MOST;
  let checks: SignatureCheck[] = [];
  const handOver = (): void => {
    // Whoever stores the block hears of what goes wrong.
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
