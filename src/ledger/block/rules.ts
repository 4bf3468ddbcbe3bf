/** The rules of a block by name, what they are checked against, and those that need nothing but its header and lists. */

import type { Producers } from '../../chain/certificate.js';
import type { Genesis } from '../../chain/genesis.js';
import { merkleRoot, txsHash } from '../../chain/hash.js';
import { difficultyFault, proofOfWorkFault } from '../../chain/pow.js';
import type { BlockHeader, FullBlock } from '../../chain/types.js';
import { TesseraError } from '../../lib/errors.js';

/** What the network's configuration says about its chain. */
export interface ChainRules {
  /** Who signs blocks; undefined in a network that names none. */
  readonly producers?: Producers | undefined;
  readonly genesis: Pick<Genesis, 'transactions' | 'issuances'>;
  /** Blocks after this one carry a difficulty target. */
  readonly activationHeight: number;
  /** Hash of block 0, when the network is known to have it: keeps a node from catching up on another chain. */
  readonly genesisHash?: string;
}

/** Where the archive stands. */
export interface ChainTip {
  /** Number of the block that comes next. */
  readonly next: number;
  /** Hash of the last block; null before the first. */
  readonly hash: string | null;
  /** Raw units issued so far. */
  readonly issued: bigint;
}

/** The rules by name; `details.rule` of a refusal. */
export type BlockRule =
  | 'number'
  | 'link'
  | 'genesis'
  | 'list'
  | 'merkle'
  | 'difficulty'
  | 'proof'
  | 'mining-transaction'
  | 'transactions'
  | 'duplicate'
  | 'issuance'
  | 'trade'
  | 'inputs'
  | 'certificate'
  | 'amounts'
  | 'scripts';

/** The error that refuses a block. */
export function refused(rule: BlockRule, message: string): TesseraError {
  return new TesseraError('block_refused', message, { details: { rule } });
}

/** The block is the next one and follows the last one. */
export function checkPlace(header: BlockHeader, hash: string, tip: ChainTip, rules: ChainRules): void {
  if (header.bNum !== BigInt(tip.next)) {
    throw refused('number', `block ${header.bNum} is not the next one, which is ${tip.next}`);
  }
  if (header.previousHash !== tip.hash) {
    throw refused('link', `block ${tip.next} follows ${header.previousHash}, but the last block stored is ${tip.hash}`);
  }
  if (tip.next === 0 && rules.genesisHash !== undefined && hash !== rules.genesisHash) {
    throw refused('genesis', `block 0 is ${hash}, but this network begins with ${rules.genesisHash}`);
  }
}

/** The header binds the list, and the list names what is there. */
export function checkLists({ block: { header, transactions: names }, transactions }: FullBlock): void {
  if (txsHash(names) !== header.txsHash)
    throw refused('list', "the hash of the list of transactions is not the header's");
  if (merkleRoot(names) !== header.merkleRoot) throw refused('merkle', "the Merkle root is not the header's");
  if (names.length !== transactions.length) {
    throw refused('transactions', `the block names ${names.length} transactions and brings ${transactions.length}`);
  }
}

/** The target has its form and the proof of work meets it. */
export function checkWork(header: BlockHeader, { activationHeight }: ChainRules): void {
  const malformed = difficultyFault(header, activationHeight);
  if (malformed !== null) throw refused('difficulty', malformed.message);
  const weak = proofOfWorkFault(header);
  if (weak !== null) throw refused('proof', weak.message);
}
