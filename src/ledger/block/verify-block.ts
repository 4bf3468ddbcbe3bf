/**
 * The rules that a block must meet before it is stored (docs/chain.md#blocks), whoever brings it: it is the next one, it
 * hangs on the last one, its header binds its list of transactions, the proof of work is there, every transaction is
 * present and hashes to its name and has a valid form, and tokens and items come into being only as the chain provides.
 * Pure but for the question which hashes are stored already.
 *
 * Not checked here: what ordinary transactions spend, that is signatures and sums (the mempool's business), and the exact
 * difficulty target. The latter follows from the number of all winning proofs (chain/asert.ts), losers included, which no
 * block carries; so the target is held to its form and to the maximum only.
 */

import { encodeTransaction } from '../../chain/codec.js';
import { coinbaseFault } from '../../chain/coinbase.js';
import { U64_MAX } from '../../chain/constants.js';
import { type Genesis, issuanceTransactions } from '../../chain/genesis.js';
import { blockHash, merkleRoot, transactionHash, transactionHashOfBytes, txsHash } from '../../chain/hash.js';
import { difficultyFault, proofOfWorkFault } from '../../chain/pow.js';
import { blockReward } from '../../chain/reward.js';
import { blockSignatureBudgetFault } from '../../chain/signature-operations.js';
import { isCoinbase, isCreate } from '../../chain/transaction.js';
import type { BlockHeader, FullBlock, Transaction } from '../../chain/types.js';
import {
  formFault,
  INVALID_SCRIPT,
  planCreateValidation,
  runSignatureCheck,
  type SignatureCheck,
} from '../../chain/validation.js';
import { equalBytes } from '../../lib/bytes.js';
import { TesseraError } from '../../lib/errors.js';
import { eventLoopTurn } from './event-loop.js';

/** Transactions that are hashed before others get a turn of the event loop: about 2 ms. */
const TRANSACTIONS_PER_TURN = 200;

/** Signatures of creations that are given to the thread pool at a time: asking for them costs the event loop too. */
const SIGNATURES_AT_ONCE = 64;

/** What the network's configuration says about its chain. */
export interface ChainRules {
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

export interface VerifiedTransaction {
  readonly hash: string;
  readonly bytes: Uint8Array;
  readonly transaction: Transaction;
}

export interface VerifiedBlock {
  readonly hash: string;
  readonly height: number;
  /** In block order, the mining transaction last. */
  readonly transactions: readonly VerifiedTransaction[];
  /** Raw units issued with this block. */
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
  | 'issuance';

function refused(rule: BlockRule, message: string): TesseraError {
  return new TesseraError('block_refused', message, { details: { rule } });
}

/** Throws `block_refused` with the rule and what is wrong. */
export async function verifyBlock(
  full: FullBlock,
  tip: ChainTip,
  rules: ChainRules,
  stored: (hashes: readonly string[]) => Promise<readonly string[]>,
): Promise<VerifiedBlock> {
  const { block, miningTransaction } = full;
  const { header } = block;
  const hash = blockHash(header);
  checkPlace(header, hash, tip, rules);
  checkLists(full);
  checkWork(header, rules);
  const transactions = await checkTransactions(full, rules);
  const mining = encoded(miningTransaction);
  if (mining.hash !== header.miningTxHash) {
    throw refused(
      'mining-transaction',
      `the header names the mining transaction ${header.miningTxHash}, not ${mining.hash}`,
    );
  }
  const before = tip.next === 0 ? issuedBy(full.transactions) : tip.issued;
  const reward = blockReward(before);
  const wrong = coinbaseFault(miningTransaction, BigInt(tip.next), reward);
  if (wrong !== null) throw refused('mining-transaction', wrong.message);
  const unlocked = tip.next === 0 ? 0n : checkIssuances(full, rules);
  const all = [...transactions, mining];
  await checkNew(all, stored);
  const issued = before + reward + unlocked;
  if (issued > U64_MAX) throw refused('issuance', 'more is issued than amounts can hold');
  return { hash, height: tip.next, transactions: all, issued };
}

function checkPlace(header: BlockHeader, hash: string, tip: ChainTip, rules: ChainRules): void {
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
function checkLists({ block: { header, transactions: names }, transactions }: FullBlock): void {
  if (txsHash(names) !== header.txsHash)
    throw refused('list', "the hash of the list of transactions is not the header's");
  if (merkleRoot(names) !== header.merkleRoot) throw refused('merkle', "the Merkle root is not the header's");
  if (names.length !== transactions.length) {
    throw refused('transactions', `the block names ${names.length} transactions and brings ${transactions.length}`);
  }
}

function checkWork(header: BlockHeader, { activationHeight }: ChainRules): void {
  const malformed = difficultyFault(header, activationHeight);
  if (malformed !== null) throw refused('difficulty', malformed.message);
  const weak = proofOfWorkFault(header);
  if (weak !== null) throw refused('proof', weak.message);
}

async function checkTransactions(full: FullBlock, rules: ChainRules): Promise<VerifiedTransaction[]> {
  const { block, transactions } = full;
  if (block.header.bNum === 0n) return checkGenesis(full, rules);
  const verified: VerifiedTransaction[] = [];
  const creations: [hash: string, check: SignatureCheck][] = [];
  for (const [i, name] of block.transactions.entries()) {
    if (i % TRANSACTIONS_PER_TURN === TRANSACTIONS_PER_TURN - 1) await eventLoopTurn();
    const transaction = transactions[i];
    if (transaction === undefined) throw refused('transactions', `transaction ${name} is missing`);
    const one = encoded(transaction);
    if (one.hash !== name)
      throw refused('transactions', `transaction ${i} hashes to ${one.hash}, not to its name ${name}`);
    const check = checkForm(one);
    if (check !== undefined) creations.push([name, check]);
    verified.push(one);
  }
  const costly = blockSignatureBudgetFault(transactions);
  if (costly !== null) throw refused('transactions', costly.message);
  for (let at = 0; at < creations.length; at += SIGNATURES_AT_ONCE) {
    const some = creations.slice(at, at + SIGNATURES_AT_ONCE);
    await Promise.all(some.map(([hash, check]) => checkCreationSignature(hash, check)));
  }
  return verified;
}

/**
 * What can be told of a transaction without knowing what it spends, by the mempool's own rules (decision B6). Gives the
 * signature of a creation, which makes items and therefore is verified here too. Coinbases are held against the issuances.
 */
function checkForm({ hash, transaction }: VerifiedTransaction): SignatureCheck | undefined {
  if (isCoinbase(transaction)) return undefined;
  const plan = isCreate(transaction) ? planCreateValidation(transaction) : undefined;
  const fault = plan === undefined ? formFault(transaction) : plan.fault;
  if (fault !== null) throw refused('transactions', `transaction ${hash} is not valid: ${fault.message}`);
  return plan?.checks[0];
}

async function checkCreationSignature(hash: string, check: SignatureCheck): Promise<void> {
  if (await runSignatureCheck(check)) return;
  throw refused('transactions', `transaction ${hash} is not valid: ${INVALID_SCRIPT.message}`);
}

/** The transactions of block 0 have the names and contents of the configuration. */
function checkGenesis({ block, transactions }: FullBlock, { genesis }: ChainRules): VerifiedTransaction[] {
  const names = [...genesis.transactions.keys()];
  if (names.length !== block.transactions.length || names.some((name, i) => block.transactions[i] !== name)) {
    throw refused('genesis', 'block 0 does not list the transactions of the genesis file');
  }
  return names.map((hash, i) => {
    const transaction = transactions[i];
    const expected = genesis.transactions.get(hash);
    const bytes = transaction && encodeTransaction(transaction);
    if (transaction === undefined || bytes === undefined || expected === undefined) {
      throw refused('genesis', `genesis transaction ${hash} is missing`);
    }
    if (!equalBytes(bytes, encodeTransaction(expected))) {
      throw refused('genesis', `genesis transaction ${hash} is not the one of the genesis file`);
    }
    return { hash, bytes, transaction };
  });
}

/** The issuances that fall due at this block, and no others, end the list. Gives what they issue. */
function checkIssuances({ block, transactions }: FullBlock, { genesis }: ChainRules): bigint {
  const due = issuanceTransactions(genesis, block.header.bNum);
  const ordinary = transactions.length - due.length;
  const last = block.transactions.slice(Math.max(ordinary, 0));
  if (ordinary < 0 || due.some((tx, i) => transactionHash(tx) !== last[i])) {
    throw refused('issuance', `the block does not end in the ${due.length} issuances that fall due`);
  }
  const stranger = transactions.slice(0, ordinary).findIndex(isCoinbase);
  if (stranger >= 0) {
    throw refused(
      'issuance',
      `transaction ${block.transactions[stranger]} issues tokens that the genesis file does not provide`,
    );
  }
  return issuedBy(due);
}

/** A hash has one meaning: none twice in the block, none that is stored (decision B6). */
async function checkNew(
  transactions: readonly VerifiedTransaction[],
  stored: (hashes: readonly string[]) => Promise<readonly string[]>,
): Promise<void> {
  const hashes = new Set<string>();
  for (const { hash } of transactions) {
    if (hashes.has(hash)) throw refused('duplicate', `transaction ${hash} is in the block twice`);
    hashes.add(hash);
  }
  const [known] = await stored([...hashes]);
  if (known !== undefined) throw refused('duplicate', `transaction ${known} is in an earlier block`);
}

function encoded(transaction: Transaction): VerifiedTransaction {
  const bytes = encodeTransaction(transaction);
  return { hash: transactionHashOfBytes(bytes), bytes, transaction };
}

function issuedBy(transactions: readonly Transaction[]): bigint {
  let issued = 0n;
  for (const { outputs } of transactions) {
    for (const { value } of outputs) if (value.kind === 'token') issued += value.amount;
  }
  return issued;
}
