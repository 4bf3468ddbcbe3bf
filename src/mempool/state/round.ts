/** One round of making a block: its transactions, the header for miners, the draw, the finished block (docs/chain.md#blocks). */

import type { BlockRules } from '../../chain/block-rules.js';
import { decodeTransaction, encodeBlockPieces, joinFullBlockPieces } from '../../chain/codec.js';
import { blockReward } from '../../chain/coinbase.js';
import { NETWORK_VERSION } from '../../chain/constants.js';
import { type Era, eraAt } from '../../chain/eras.js';
import { blockHash, merkleRootPieces, txsHashPieces } from '../../chain/hash.js';
import { difficultyFor, proofOfWorkFault } from '../../chain/pow.js';
import { spentOutPoints } from '../../chain/transaction.js';
import type { Block, BlockHeader, OutPoint } from '../../chain/types.js';
import {
  drawBasis,
  drawOne,
  drawSelection,
  seedValueOf,
  type Unicorn,
  USAGE_PARTICIPANTS,
  USAGE_WINNER,
  unicornSeedPieces,
} from '../../chain/unicorn.js';
import { atOnce, type Pieces } from '../../lib/pieces.js';
import type { CutBlockCommand } from './commands.js';
import type { Pool, PooledTx } from './pool.js';

const PIECE_UNITS = 1_024;

/** A transaction that comes from the configuration of the network, with what it issues in raw units. */
export interface IssuedTx {
  readonly hash: string;
  readonly bytes: Uint8Array;
  readonly amount: bigint;
}

export interface RoundRules {
  readonly genesis: readonly IssuedTx[];
  /** Transactions that unlock supply, by the number of their block (docs/chain.md#genesis). */
  readonly issuances: ReadonlyMap<number, readonly IssuedTx[]>;
  /** Limits of one block, and when its round starts. */
  readonly block: BlockRules;
  /** Most miners that take part in one round (decision B12). */
  readonly partitionSize: number;
  /** Blocks above this number carry a difficulty target (decision B10). */
  readonly asertActivationHeight: number;
  readonly eras: readonly Era[];
}

/** The chain as far as it is stored, and what the next header is computed from. */
export interface ChainHead {
  /** Number of the last stored block, -1 before the first. */
  readonly height: number;
  readonly hash: string | null;
  /** Unix seconds of the last stored block. */
  readonly timestamp: number;
  /** Raw units issued, the blocks being made included. */
  readonly issued: bigint;
  /** Winning proofs in blocks from the activation height on (docs/chain.md#difficulty). */
  readonly asertHashes: number;
  /** Participants of the last round, and the coinbases of its proofs: input of the unicorn. */
  readonly participants: readonly string[];
  readonly proofHashes: readonly string[];
}

/** Transaction as the pool held it; or a genesis or issuance transaction, whose arrival number is 0. */
export type RoundTx = PooledTx;

export interface Proof {
  readonly miner: string;
  readonly nonce: Uint8Array;
  readonly coinbase: Uint8Array;
  readonly hash: string;
}

export interface Round {
  readonly height: number;
  readonly header: BlockHeader;
  /** Raw units that the coinbase must pay. */
  readonly reward: bigint;
  /** The unicorn's output `g`, from which participants and winner are drawn. */
  readonly draw: string;
  readonly participants: readonly string[];
  readonly transactions: readonly RoundTx[];
  readonly proofs: readonly Proof[];
  /** Index of the proof that won; null while the round is open. */
  readonly winner: number | null;
}

/** Contents of the next block, before the unicorn is computed. */
export interface RoundPlan {
  readonly height: number;
  readonly transactions: readonly RoundTx[];
  readonly issued: bigint;
  readonly seed: bigint;
}

/** The content of the block after `head`; the pool must not change between pieces. */
export function* planRound(rules: RoundRules, head: ChainHead, pool: Pool): Pieces<RoundPlan> {
  const height = head.height + 1;
  const unlocks = (rules.issuances.get(height) ?? []).map(toRoundTx);
  const waiting = height === 0 ? rules.genesis.map(toRoundTx) : yield* chooseTransactions(pool, rules.block);
  const transactions = [...waiting, ...unlocks];
  yield;
  const seed = yield* unicornSeedPieces({
    transactions: transactions.map((tx) => tx.hash),
    participants: head.participants,
    winners: head.proofHashes,
  });
  return { height, transactions, issued: issuedAt(rules, height), seed };
}

/** Raw units that a block issues by the configuration, its coinbase left out. */
export function issuedAt({ genesis, issuances }: RoundRules, height: number): bigint {
  const sources = [...(height === 0 ? genesis : []), ...(issuances.get(height) ?? [])];
  return sources.reduce((sum, tx) => sum + tx.amount, 0n);
}

function toRoundTx({ hash, bytes }: IssuedTx): RoundTx {
  return { hash, bytes, arrival: 0, time: 0, unit: 0, operations: 0, fault: null, height: 0 };
}

/**
 * The oldest units until the next one does not fit: none is passed over. In the order of original nodes, units that spend
 * from waiting transactions are passed over, and go into a later block.
 */
function* chooseTransactions(
  pool: Pool,
  { transactions, bytes: mostBytes, signatureOperations, originalOrder }: BlockRules,
): Pieces<RoundTx[]> {
  const chosen: RoundTx[] = [];
  let bytes = 0;
  let operations = 0;
  const take = (unit: readonly PooledTx[]): boolean => {
    const size = unit.reduce((sum, tx) => sum + tx.bytes.length, bytes);
    const cost = unit.reduce((sum, tx) => sum + tx.operations, operations);
    if (size > mostBytes || cost > signatureOperations) return false;
    bytes = size;
    operations = cost;
    chosen.push(...unit);
    return true;
  };
  let singles = 0;
  let looked = 0;
  for (const unit of pool.units()) {
    if (++looked % PIECE_UNITS === 0) yield;
    if (originalOrder && waitsForOthers(pool, unit)) continue;
    // A set with one member counts as a single transaction.
    const isSingle = unit.length === 1;
    if ((isSingle && singles === transactions) || !take(unit)) break;
    if (isSingle) singles++;
  }
  return originalOrder ? inOriginalOrder(chosen) : chosen;
}

/** True if a member spends an output of a transaction that waits and is not of the same set. */
function waitsForOthers(pool: Pool, unit: readonly PooledTx[]): boolean {
  const isOther = ({ tHash }: OutPoint): boolean =>
    pool.get(tHash) !== undefined && unit.every(({ hash }) => hash !== tHash);
  return unit.some(({ bytes }) => spentOutPoints(decodeTransaction(bytes)).some(isOther));
}

/** The transactions in the order of original nodes: sets by arrival, their members by hash, then single transactions by hash. */
function inOriginalOrder(chosen: readonly PooledTx[]): PooledTx[] {
  const byHash = (a: PooledTx, b: PooledTx): number => a.unit - b.unit || (a.hash < b.hash ? -1 : 1);
  const isSet = ({ bytes }: PooledTx): boolean => decodeTransaction(bytes).druidInfo !== null;
  const [sets, singles] = [chosen.filter(isSet), chosen.filter((tx) => !isSet(tx))];
  return [...sets.sort(byHash), ...singles.sort((a, b) => (a.hash < b.hash ? -1 : 1))];
}

/** The round that miners work on. */
export function* openRound(
  rules: RoundRules,
  head: ChainHead,
  plan: RoundPlan,
  unicorn: Unicorn,
  command: CutBlockCommand,
): Pieces<Round> {
  const { height, transactions, issued } = plan;
  const draw = drawBasis(unicorn, eraAt(rules.eras, height).draw);
  const hashes = transactions.map((tx) => tx.hash);
  const header: BlockHeader = {
    version: NETWORK_VERSION,
    bits: 0n,
    nonce: new Uint8Array(),
    miningTxHash: '',
    bNum: BigInt(height),
    // Block 0 has no time; the times of later blocks never go back.
    timestamp: height === 0 ? 0n : BigInt(Math.max(command.time, head.timestamp)),
    difficulty: difficultyFor({
      bNum: BigInt(height),
      activationHeight: BigInt(rules.asertActivationHeight),
      winningProofs: BigInt(head.asertHashes),
    }),
    seedValue: seedValueOf(unicorn),
    previousHash: head.hash,
    merkleRoot: yield* merkleRootPieces(hashes),
    txsHash: yield* txsHashPieces(hashes),
  };
  return {
    height,
    header,
    // Tokens that a block unlocks count from the next block on.
    reward: blockReward(height === 0 ? issued : head.issued),
    draw,
    participants: drawSelection(command.miners, rules.partitionSize, draw, USAGE_PARTICIPANTS),
    transactions,
    proofs: [],
    winner: null,
  };
}

/** True if a checked proof is one of this round, not of another one of this height that was given up. */
export function isProofOf({ header, reward }: Round, { nonce, coinbase, hash }: Omit<Proof, 'miner'>): boolean {
  const [output] = decodeTransaction(coinbase).outputs;
  return output?.value.amount === reward && proofOfWorkFault({ ...header, nonce, miningTxHash: hash }) === null;
}

/** Index of the proof that wins (decision B11). Throws `internal_error` when there is none. */
export function drawWinner(round: Round): number {
  return drawOne([...round.proofs.keys()], round.draw, USAGE_WINNER);
}

/** The finished header of a round that has a winner. */
export function closedHeader(round: Round): BlockHeader {
  const proof = round.winner === null ? undefined : round.proofs[round.winner];
  if (proof === undefined) throw new Error('broken invariant: the round has no winner');
  return { ...round.header, nonce: proof.nonce, miningTxHash: proof.hash };
}

/** Hash of the finished block. */
export function closedHash(round: Round): string {
  return blockHash(closedHeader(round));
}

/** Bytes of rounds that are still in use: storage, the archive of kept blocks and the wallets get the same bytes. */
const closedBytes = new WeakMap<Round, Uint8Array>();

/** The finished block as `FullBlock` bytes, assembled once from parts that are already encoded. */
export function closedBlockBytes(round: Round): Uint8Array {
  return atOnce(closedBlockPieces(round));
}

/** Assembles the finished block in pieces: a later `closedBlockBytes` has it at once. */
export function* closedBlockPieces(round: Round): Pieces<Uint8Array> {
  const bytes = closedBytes.get(round) ?? (yield* joinClosedBlock(round));
  closedBytes.set(round, bytes);
  return bytes;
}

function* joinClosedBlock(round: Round): Pieces<Uint8Array> {
  const header = closedHeader(round);
  const block: Block = { header, transactions: round.transactions.map((tx) => tx.hash) };
  const mining = round.proofs[round.winner ?? 0]?.coinbase ?? new Uint8Array();
  const transactions = round.transactions.map((tx) => tx.bytes);
  return yield* joinFullBlockPieces(yield* encodeBlockPieces(block), transactions, mining);
}
