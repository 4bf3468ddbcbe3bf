/**
 * Checks the archive again from disk, past every cache: each block by the rules under which it was stored, each index by
 * the records that it names. A fault is `data_corrupt`.
 */

import type { FullBlock } from '../../chain/types.js';
import type { Kv } from '../../db/kv.js';
import type { ChainRules, ChainTip } from '../../ledger/block/rules.js';
import type { ScriptVerifier } from '../../ledger/block/spending.js';
import type { VerifiedBlock } from '../../ledger/block/verified-block.js';
import { BlockVerifier } from '../../ledger/block/verify-block.js';
import { isTesseraError, TesseraError } from '../../lib/errors.js';
import type { HasClock } from '../../observability/modules.js';
import type { Certificates } from '../archive/certificates.js';
import type { ArchiveReader, WholeBlock } from '../archive/reader.js';
import { damaged, present } from '../archive/records.js';
import { CountedOutputs, RecordedOutputs } from './audited-outputs.js';

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
  /** Number of transactions, coinbases included. */
  readonly transactions: number;
}

interface AuditedArchive extends HasClock {
  readonly kv: Kv;
  readonly reader: ArchiveReader;
  readonly tip: ChainTip;
  readonly rules: ChainRules;
  readonly scripts: ScriptVerifier;
  readonly certificates: Certificates;
  /** Number of blocks that the account of unspent outputs covers now. */
  counted(): number;
}

/** Audits a range of blocks. Throws `data_corrupt` at the first fault and `aborted` when the signal says so. */
export async function auditArchive(
  archive: AuditedArchive,
  range: AuditRange = {},
  onProgress: (progress: AuditProgress) => void = () => undefined,
  signal?: AbortSignal,
): Promise<AuditResult> {
  const { reader, tip } = archive;
  const from = Math.max(range.from ?? 0, 0);
  const target = Math.min(range.to ?? tip.next - 1, tip.next - 1);
  const outputs = from === 0 ? new CountedOutputs() : new RecordedOutputs(reader, from);
  const verifier = new BlockVerifier(archive.rules, { ...archive, ledger: outputs });
  let before = await tipBefore(reader, from, target);
  let transactions = 0;
  for (let height = from; height <= target; height++) {
    if (signal?.aborted) throw new TesseraError('aborted', 'the check of the archive was cancelled');
    const whole = await reader.wholeBlock(height);
    await auditNumber(reader, whole);
    const block = await auditBlock(whole, before, verifier);
    await auditIndex(reader, whole);
    await auditCertificate(archive.certificates, block);
    outputs.apply(block);
    const { miningTxHash: coinbase } = whole.record.block.header;
    before = { next: height + 1, hash: block.hash, issued: block.issued, coinbase };
    transactions += whole.transactions.length;
    onProgress({ height, target });
  }
  // The account is compared if it is at the last block read: an older archive has none yet, a growing one may be ahead.
  if (outputs instanceof CountedOutputs && archive.counted() === target + 1) await outputs.compareWith(archive.kv);
  return { blocks: Math.max(target - from + 1, 0), transactions };
}

async function tipBefore(reader: ArchiveReader, from: number, target: number): Promise<ChainTip> {
  if (from === 0 || from > target) return { next: from, hash: null, issued: 0n };
  const hash = await reader.hashAt(from - 1);
  const { issued, block } = present(await reader.block(hash), `block ${hash}`);
  return { next: from, hash, issued, coinbase: block.header.miningTxHash };
}

async function auditBlock(
  { record, transactions }: WholeBlock,
  before: ChainTip,
  verifier: BlockVerifier,
): Promise<VerifiedBlock> {
  const all = transactions.map(({ transaction }) => transaction);
  const miningTransaction = all.pop();
  if (miningTransaction === undefined) throw damaged(`block ${record.hash} has no coinbase`);
  const full: FullBlock = { block: record.block, transactions: all, miningTransaction };
  try {
    const block = await verifier.verify(full, before);
    if (block.issued !== record.issued)
      throw damaged(`block ${record.hash} says ${record.issued} are issued, not ${block.issued}`);
    return block;
  } catch (error) {
    if (!isTesseraError(error, 'block_refused')) throw error;
    throw damaged(`stored block ${before.next} breaks a rule: ${error.message}`, error);
  }
}

async function auditCertificate(certificates: Certificates, { height, hash }: VerifiedBlock): Promise<void> {
  try {
    certificates.keepable({ height, hash }, await certificates.at(height));
  } catch (error) {
    if (!isTesseraError(error, 'block_refused')) throw error;
    throw damaged(`the certificate of block ${height}: ${error.message}`, error);
  }
}

/** Checks that the index of hashes agrees with a block. */
async function auditNumber(reader: ArchiveReader, { record: { height, hash } }: WholeBlock): Promise<void> {
  if ((await reader.hashAt(height)) !== hash) throw damaged(`block ${height} has two hashes`);
  if ((await reader.block(hash))?.height !== height) throw damaged(`the hash of block ${height} does not lead to it`);
}

/** Checks that each transaction is where the index and its own record say. */
async function auditIndex(reader: ArchiveReader, { record, transactions }: WholeBlock): Promise<void> {
  const { height } = record;
  const names = await reader.namesAt(transactions.map((_, txNum) => ({ height, txNum })));
  const found = await reader.transactions(transactions.map(({ hash }) => hash));
  for (const [txNum, { hash }] of transactions.entries()) {
    const tx = present(found[txNum], `transaction ${hash}`);
    // A transaction that original nodes accepted twice by the same bytes, in one block or two, keeps its first place.
    const isTwice = tx.height === height && transactions[tx.txNum]?.hash === hash;
    if (record.block.header.isOriginal && (tx.height < height || isTwice)) continue;
    if (tx.height !== record.height || tx.txNum !== txNum) {
      throw damaged(`transaction ${tx.hash} says it is in block ${tx.height} at ${tx.txNum}`);
    }
    if (names[txNum] !== tx.hash) {
      throw damaged(`the index of block ${record.height} does not name transaction ${tx.hash} at ${txNum}`);
    }
  }
}
