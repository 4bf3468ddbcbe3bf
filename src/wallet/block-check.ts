/** Checks the parts of a block that a wallet can prove: producer's signature, proof of work, the block before, own transactions. */

import { blockCertificateFault, type Certificate, type Producers } from '../chain/certificate.js';
import { encodeTransaction } from '../chain/codec.js';
import { blockHash, transactionHash, txsHashPieces } from '../chain/hash.js';
import { difficultyFault, proofOfWorkFault } from '../chain/pow.js';
import { namesOf, transactionAt } from '../chain/transaction.js';
import type { BlockHeader, OpenBlock, Transaction } from '../chain/types.js';
import { equalBytes } from '../lib/bytes.js';
import { type Fault, fault, type Verdict } from '../lib/fault.js';
import type { Pieces } from '../lib/pieces.js';

export interface BlockRules {
  readonly activationHeight: number;
  /** Signers of blocks; undefined in a network that names none. */
  readonly producers: Producers | undefined;
  /** The transactions of the genesis file, where it is known. */
  readonly genesis?: ReadonlyMap<string, Transaction> | undefined;
  /** Numbers of the transactions that must have their names, as of `transactionAt`: those that concern the wallet, or all. */
  readonly places: Iterable<number>;
}

export interface ToldBlock {
  readonly full: OpenBlock;
  readonly hash: string;
  readonly certificate?: Certificate | undefined;
  /** Set when a block with a certificate follows from this hash; whoever sets it has checked that. */
  readonly isProven?: true;
  /** Set when more blocks are on their way: it is too early to join small outputs, and one `sync` makes many durable. */
  readonly isPast?: true;
}

/**
 * Fault of a block: signature, hash, proof of work, list, and the hash of each transaction that concerns the wallet. The names of genesis
 * transactions are free texts: those of block 0 are compared with the genesis file.
 */
export function* contentFaultInPieces(
  { full, hash, certificate, isProven }: ToldBlock,
  rules: BlockRules,
): Pieces<Verdict> {
  const { activationHeight, producers } = rules;
  const { block, transactions } = full;
  const { header } = block;
  if (blockHash(header) !== hash) return faultOf(hash, 'its header has another hash');
  if (producers !== undefined && isProven !== true) {
    const unsigned = blockCertificateFault(producers, { height: Number(header.bNum), hash }, certificate);
    if (unsigned !== null) return unsigned;
  }
  const weak = difficultyFault(header, activationHeight) ?? proofOfWorkFault(header);
  if (weak !== null) return faultOf(hash, weak.message);
  if (transactions.length !== block.transactions.length) {
    return faultOf(hash, 'its transactions are not the ones it lists');
  }
  yield;
  if ((yield* txsHashPieces(block.transactions)) !== header.txsHash)
    return faultOf(hash, 'its list is not the one of its header');
  yield;
  return header.bNum === 0n ? genesisFault(hash, full, rules) : yield* namesFault(hash, full, rules);
}

/** Fault of a block that cannot follow the last block, as far as the wallet knows that one. */
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

function genesisFault(hash: string, { block, transactions }: OpenBlock, { genesis }: BlockRules): Verdict {
  if (genesis === undefined) return null;
  const isGenesis = block.transactions.every((name, i) => {
    const [expected, brought] = [genesis.get(name), transactions.at(i)];
    return expected && brought && equalBytes(encodeTransaction(expected), encodeTransaction(brought));
  });
  if (isGenesis && block.transactions.length === genesis.size) return null;
  return faultOf(hash, 'its transactions are not those of the genesis file');
}

function* namesFault(hash: string, full: OpenBlock, { places }: BlockRules): Pieces<Verdict> {
  const names = namesOf(full.block);
  for (const place of places) {
    yield;
    const transaction = transactionAt(full, place);
    if (transaction === undefined || transactionHash(transaction) !== names[place])
      return faultOf(hash, `${names[place]} is another transaction`);
  }
  return null;
}

function faultOf(hash: string, why: string): Fault {
  return fault('protocol_violation', `block ${hash.slice(0, 80)} is not what it says: ${why}`);
}
