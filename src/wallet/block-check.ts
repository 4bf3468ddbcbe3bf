/** Checks the parts of a block that a wallet can prove: producer's signature, proof of work, the block before, own transactions. */

import { blockCertificateFault, type Certificate } from '../chain/certificate.js';
import { encodeTransaction } from '../chain/codec.js';
import { blockHash, transactionHash, txsHashPieces } from '../chain/hash.js';
import { difficultyFault, proofOfWorkFault } from '../chain/pow.js';
import { namesOf, transactionAt } from '../chain/transaction.js';
import type { BlockHeader, OpenBlock } from '../chain/types.js';
import { equalBytes } from '../lib/bytes.js';
import { type Fault, fault, type Verdict } from '../lib/fault.js';
import type { Pieces } from '../lib/pieces.js';
import type { WalletOptions } from './options.js';

export interface ToldBlock {
  readonly full: OpenBlock;
  readonly hash: string;
  readonly certificate?: Certificate | undefined;
  /** Set when a block with a certificate follows from this hash; whoever sets it has checked that. */
  readonly isProven?: true;
  /** Set when more blocks are on their way: it is too early to join small outputs, and one `sync` makes many durable. */
  readonly isPast?: true;
}

/** Fault of a block without a look at its transactions: signature, hash, proof of work, and the list of names. */
export function* headFaultInPieces(
  { full, hash, certificate, isProven }: ToldBlock,
  { activationHeight = Number.POSITIVE_INFINITY, producers }: Pick<WalletOptions, 'activationHeight' | 'producers'>,
): Pieces<Verdict> {
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
  const isListed = (yield* txsHashPieces(block.transactions)) === header.txsHash;
  return isListed ? null : faultOf(hash, 'its list is not the one of its header');
}

/**
 * Fault of the transactions with these numbers, as of `transactionAt`, whose hashes must be their names. Names in block 0 are free texts: all
 * of it is compared with the genesis file, where that is known.
 */
export function* transactionsFaultInPieces(
  { full, hash }: ToldBlock,
  places: Iterable<number>,
  { genesis }: Pick<WalletOptions, 'genesis'> = {},
): Pieces<Verdict> {
  return full.block.header.bNum === 0n ? genesisFault(hash, full, genesis) : yield* namesFault(hash, full, places);
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

function genesisFault(hash: string, { block, transactions }: OpenBlock, genesis: WalletOptions['genesis']): Verdict {
  if (genesis === undefined) return null;
  const isGenesis = block.transactions.every((name, i) => {
    const [expected, brought] = [genesis.get(name), transactions.at(i)];
    return expected && brought && equalBytes(encodeTransaction(expected), encodeTransaction(brought));
  });
  if (isGenesis && block.transactions.length === genesis.size) return null;
  return faultOf(hash, 'its transactions are not those of the genesis file');
}

function* namesFault(hash: string, full: OpenBlock, places: Iterable<number>): Pieces<Verdict> {
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
