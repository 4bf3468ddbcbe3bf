/**
 * What a wallet can prove of a block that a mempool node tells of: that a producer of the network has signed it, that it
 * carries its proof of work, follows the block before, and holds the transactions that concern the wallet. What it cannot
 * prove: that the transactions of others are valid, and that the target is the one that the chain demands.
 */

import { blockCertificateFault, type Certificate, type Producers } from '../chain/certificate.js';
import { blockHash, transactionHash, txsHash } from '../chain/hash.js';
import { difficultyFault, proofOfWorkFault } from '../chain/pow.js';
import type { BlockHeader, FullBlock, Transaction } from '../chain/types.js';
import { TesseraError } from '../lib/errors.js';
import { assertSound, type Fault, fault, type Verdict } from '../lib/fault.js';

export interface BlockRules {
  /** Blocks after this one carry a difficulty target. */
  readonly activationHeight: number;
  /** Undefined in a network that names none. */
  readonly producers: Producers | undefined;
  /** True for a transaction that pays to the wallet or spends from it. */
  concerns(transaction: Transaction): boolean;
}

/** A block as a mempool node tells of it. */
export interface ToldBlock {
  readonly full: FullBlock;
  readonly hash: string;
  readonly certificate?: Certificate | undefined;
}

/**
 * Throws `protocol_violation` unless a producer has signed the block, the header has the hash and the proof of work, the list is the one that the header
 * binds, and every transaction that concerns the wallet has the hash under which it stands. Names of genesis transactions
 * are free texts.
 */
export function checkBlock({ full, hash, certificate }: ToldBlock, rules: BlockRules): void {
  const { activationHeight, producers, concerns } = rules;
  const { block, transactions, miningTransaction } = full;
  const { header } = block;
  if (blockHash(header) !== hash) throw wrong(hash, 'its header has another hash');
  if (producers !== undefined) {
    assertSound(blockCertificateFault(producers, { height: Number(header.bNum), hash }, certificate));
  }
  const weak = difficultyFault(header, activationHeight) ?? proofOfWorkFault(header);
  if (weak !== null) throw wrong(hash, weak.message);
  if (transactions.length !== block.transactions.length)
    throw wrong(hash, 'its transactions are not the ones it lists');
  if (txsHash(block.transactions) !== header.txsHash) throw wrong(hash, 'its list is not the one of its header');
  if (header.bNum === 0n) return;
  transactions.forEach((transaction, i) => {
    checkName(hash, block.transactions[i] ?? '', transaction, concerns);
  });
  checkName(hash, header.miningTxHash, miningTransaction, concerns);
}

/** Whether the block can stand where it says, by what the wallet knows of the last block. */
export function placeFault(
  header: BlockHeader,
  hash: string,
  tip: { readonly height: number; readonly hash: string | undefined },
): Verdict {
  const height = Number(header.bNum);
  if (height === 0 && header.previousHash !== null) return faultOf(hash, 'it is block 0 and follows another');
  if (tip.hash === undefined) return null;
  if (height === tip.height && hash !== tip.hash) return faultOf(hash, `block ${height} is ${tip.hash}`);
  if (height === tip.height + 1 && header.previousHash !== tip.hash)
    return faultOf(hash, `it does not follow ${tip.hash}`);
  return null;
}

function checkName(
  hash: string,
  name: string,
  transaction: Transaction,
  concerns: (transaction: Transaction) => boolean,
): void {
  if (concerns(transaction) && transactionHash(transaction) !== name)
    throw wrong(hash, `${name} is another transaction`);
}

function wrong(hash: string, why: string): TesseraError {
  const { code, message } = faultOf(hash, why);
  return new TesseraError(code, message);
}

function faultOf(hash: string, why: string): Fault {
  return fault('protocol_violation', `block ${hash.slice(0, 80)} is not what it says: ${why}`);
}
