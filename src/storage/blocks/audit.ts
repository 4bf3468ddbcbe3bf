/**
 * Checking the archive again from disk, past every cache: each block by the rules that it was stored by, each index by what
 * it names. A fault is `data_corrupt`.
 */

import type { FullBlock } from '../../chain/types.js';
import { type ChainRules, type ChainTip, verifyBlock } from '../../ledger/block/verify-block.js';
import { isTesseraError, TesseraError } from '../../lib/errors.js';
import { type ArchiveReader, present, type WholeBlock } from '../archive/reader.js';
import { damaged } from '../archive/records.js';

/** Block numbers, `to` included; the whole archive by default. */
export interface AuditRange {
  readonly from?: number;
  readonly to?: number;
}

export interface AuditProgress {
  /** Number of the block checked last. */
  readonly height: number;
  /** Number of the last block to check. */
  readonly target: number;
}

export interface AuditResult {
  readonly blocks: number;
  /** Mining transactions included. */
  readonly transactions: number;
}

interface AuditedArchive {
  readonly reader: ArchiveReader;
  readonly tip: ChainTip;
  readonly rules: ChainRules;
}

/** Throws `data_corrupt` at the first fault and `aborted` when the signal says so. */
export async function auditArchive(
  archive: AuditedArchive,
  range: AuditRange = {},
  onProgress: (progress: AuditProgress) => void = () => undefined,
  signal?: AbortSignal,
): Promise<AuditResult> {
  const { reader, tip, rules } = archive;
  const from = Math.max(range.from ?? 0, 0);
  const target = Math.min(range.to ?? tip.next - 1, tip.next - 1);
  let before = await tipBefore(reader, from, target);
  let transactions = 0;
  for (let height = from; height <= target; height++) {
    if (signal?.aborted) throw new TesseraError('aborted', 'the check of the archive was cancelled');
    const whole = await reader.wholeBlock(height);
    before = await auditBlock(whole, before, rules);
    await auditIndex(reader, whole);
    transactions += whole.transactions.length;
    onProgress({ height, target });
  }
  return { blocks: Math.max(target - from + 1, 0), transactions };
}

async function tipBefore(reader: ArchiveReader, from: number, target: number): Promise<ChainTip> {
  if (from === 0 || from > target) return { next: from, hash: null, issued: 0n };
  const hash = await reader.hashAt(from - 1);
  const { issued } = present(await reader.block(hash), `block ${hash}`);
  return { next: from, hash, issued };
}

async function auditBlock(
  { record, transactions }: WholeBlock,
  before: ChainTip,
  rules: ChainRules,
): Promise<ChainTip> {
  const all = transactions.map(({ transaction }) => transaction);
  const miningTransaction = all.pop();
  if (miningTransaction === undefined) throw damaged(`block ${record.hash} has no mining transaction`);
  const full: FullBlock = { block: record.block, transactions: all, miningTransaction };
  try {
    const { issued } = await verifyBlock(full, before, rules, async () => []);
    if (issued !== record.issued) throw damaged(`block ${record.hash} says ${record.issued} are issued, not ${issued}`);
    return { next: before.next + 1, hash: record.hash, issued };
  } catch (error) {
    if (!isTesseraError(error, 'block_refused')) throw error;
    throw damaged(`stored block ${before.next} breaks a rule: ${error.message}`, error);
  }
}

/** Each transaction is where the index and its own record say. */
async function auditIndex(reader: ArchiveReader, { record, transactions }: WholeBlock): Promise<void> {
  for (const [txNum, tx] of transactions.entries()) {
    if (tx.height !== record.height || tx.txNum !== txNum) {
      throw damaged(`transaction ${tx.hash} says it is in block ${tx.height} at ${tx.txNum}`);
    }
    if ((await reader.transactionHashAt(record.height, txNum)) !== tx.hash) {
      throw damaged(`the index of block ${record.height} does not name transaction ${tx.hash} at ${txNum}`);
    }
  }
}
