/** The rules of a block by name, the facts they are checked against, and the rules that need only the header and lists of a block. */

import type { Producers } from '../../chain/certificate.js';
import { MAX_HEADER_VERSION } from '../../chain/codec.js';
import { MAX_TRANSACTION_BYTES } from '../../chain/constants.js';
import { type Era, OUR_ERA } from '../../chain/eras.js';
import type { Genesis } from '../../chain/genesis.js';
import { merkleRootPieces, txsHashPieces } from '../../chain/hash.js';
import { difficultyFault, proofOfWorkFault } from '../../chain/pow.js';
import { isCoinbase, isCreate, outPointKey, spentOutPoints } from '../../chain/transaction.js';
import type { BlockHeader, FullBlock, Transaction } from '../../chain/types.js';
import { formFault, planCreateValidation } from '../../chain/validation.js';
import { TesseraError } from '../../lib/errors.js';
import { type Fault, fault, type Verdict } from '../../lib/fault.js';
import type { Pieces } from '../../lib/pieces.js';
import type { VerifiedTransaction } from './verified-block.js';

/** Rules of the chain from the network's configuration. */
export interface ChainRules {
  /** Signers of blocks; undefined in a network that names none. */
  readonly producers?: Producers | undefined;
  readonly genesis: Pick<Genesis, 'transactions' | 'issuances' | 'blockRules' | 'eras'>;
  /** Blocks after this one carry a difficulty target. */
  readonly activationHeight: number;
}

/** Last block of the chain. */
export interface ChainTip {
  readonly next: number;
  /** Hash of the last block; null before the first. */
  readonly hash: string | null;
  /** Raw units issued so far. */
  readonly issued: bigint;
  /** Hash of the last coinbase, where it is at hand: the seeds of original nodes are made from it. */
  readonly coinbase?: string;
}

/** The rules by name; `details.rule` of a refusal. */
export type BlockRule =
  | 'number'
  | 'header'
  | 'link'
  | 'genesis'
  | 'list'
  | 'merkle'
  | 'difficulty'
  | 'unicorn'
  | 'proof'
  | 'mining-transaction'
  | 'transactions'
  | 'duplicate'
  | 'size'
  | 'issuance'
  | 'trade'
  | 'inputs'
  | 'certificate'
  | 'amounts'
  | 'scripts';

/** Fault of a block, with the rule that it breaks. */
export interface BlockFault extends Fault {
  readonly rule: BlockRule;
}

export function blockFault(rule: BlockRule, message: string): BlockFault {
  return { ...fault('block_refused', message), rule };
}

/** Throws `block_refused` with the rule that is broken; does nothing when there is none. */
export function assertRule(broken: BlockFault | null): void {
  if (broken === null) return;
  throw new TesseraError(broken.code, broken.message, { details: { rule: broken.rule } });
}

/** Fault of a block that is not the next one, or does not follow the last one. */
export function placeFault(header: BlockHeader, tip: ChainTip): BlockFault | null {
  if (header.bNum !== BigInt(tip.next)) {
    return blockFault('number', `block ${header.bNum} is not the next one, which is ${tip.next}`);
  }
  if (header.previousHash !== tip.hash) {
    const last = `the last block stored is ${tip.hash}`;
    return blockFault('link', `block ${tip.next} follows ${header.previousHash}, but ${last}`);
  }
  return null;
}

/** Fault of a header that has not the layout of its era, or says that others made the block. */
export function layoutFault(header: BlockHeader, era: Era): BlockFault | null {
  const { version } = header;
  const layout = header.layout ?? 'current';
  if (version > MAX_HEADER_VERSION) return blockFault('header', `the version of the header, ${version}, is too large`);
  if ((header.isOriginal ?? false) !== era.isOriginal) {
    const maker = era.isOriginal ? 'original nodes' : 'nodes of this network';
    return blockFault('header', `by the genesis file (eras), blocks of this height are made by ${maker}`);
  }
  if (layout === era.header) return null;
  return blockFault('header', `the header has the layout "${layout}", and that of its era is "${era.header}"`);
}

/** Fault of a header that does not bind the list of names, or of a list that has not a name for each transaction. */
export function* listsFault({ block, transactions }: FullBlock): Pieces<BlockFault | null> {
  const { header, transactions: names } = block;
  if ((yield* txsHashPieces(names)) !== header.txsHash) {
    return blockFault('list', "the hash of the list of transactions is not the header's");
  }
  yield;
  if ((yield* merkleRootPieces(names)) !== header.merkleRoot)
    return blockFault('merkle', "the Merkle root is not the header's");
  if (names.length === transactions.length) return null;
  const message = `the block names ${names.length} transactions and brings ${transactions.length}`;
  return blockFault('transactions', message);
}

/** Fault of transactions, without issuances, that are not in the order of original nodes (`block_rules.original_order`). */
export function orderFault(listed: readonly Pick<VerifiedTransaction, 'hash' | 'transaction'>[]): BlockFault | null {
  const druids = new Map(listed.map(({ hash, transaction }) => [hash, transaction.druidInfo?.druid]));
  let last = '';
  for (const { hash, transaction } of listed) {
    const { druidInfo } = transaction;
    const isOrdered = druidInfo === null ? hash > last : last === '';
    if (!isOrdered) return blockFault('list', `transaction ${hash} is not in the order of original nodes`);
    if (druidInfo === null) last = hash;
    const inner = spentOutPoints(transaction).find(({ tHash }) => druids.has(tHash));
    if (inner === undefined || (druidInfo !== null && druids.get(inner.tHash) === druidInfo.druid)) continue;
    return blockFault('inputs', `transaction ${hash} spends an output of the same block, ${outPointKey(inner)}`);
  }
  return null;
}

/** Fault of a target without its form, or of a proof of work that does not meet it. */
export function workFault(header: BlockHeader, { activationHeight }: ChainRules): BlockFault | null {
  const malformed = difficultyFault(header, activationHeight);
  if (malformed !== null) return blockFault('difficulty', malformed.message);
  const weak = proofOfWorkFault(header);
  return weak === null ? null : blockFault('proof', weak.message);
}

const ISSUES = fault('transaction_rejected', 'Only a miner can make a coinbase transaction');

const TOO_LONG = fault('transaction_rejected', `Transaction has more than ${MAX_TRANSACTION_BYTES} bytes`);

/** Fault of a submitted transaction of `bytes` bytes, or of one in a block of the era, its scripts not included (decision B6). */
export function submittedFormFault(tx: Transaction, bytes: number, era: Era = OUR_ERA): Verdict {
  if (bytes > MAX_TRANSACTION_BYTES && !era.isOriginal) return TOO_LONG;
  if (isCoinbase(tx)) return ISSUES;
  return isCreate(tx) ? planCreateValidation(tx, era).fault : formFault(tx, era);
}
