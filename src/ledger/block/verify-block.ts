/**
 * The rules that a block must meet before it is stored or adopted (docs/chain.md#blocks), whoever brings it: it is the next block and follows the
 * last one; its header binds its list of transactions; the proof of work is there; every transaction is present, hashes to its name and is valid;
 * every output it spends is unspent; and tokens and items come into being only as the chain provides. A `LedgerView` gives the chain so far.
 *
 * The exact difficulty target is not checked here. It follows from the number of all winning proofs (chain/pow.ts), losers included, which no block
 * carries; so only its form and the maximum are checked.
 */

import type { BlockLimits } from '../../chain/block-rules.js';
import { encodedBefore, encodeTransaction, inBlock } from '../../chain/codec.js';
import { blockReward, coinbaseFault } from '../../chain/coinbase.js';
import { U64_MAX } from '../../chain/constants.js';
import { druidSetFault } from '../../chain/druid.js';
import { type Era, eraAt, hasOriginals } from '../../chain/eras.js';
import { issuanceTransactions } from '../../chain/genesis.js';
import { blockHash, transactionHash, transactionHashOfBytes } from '../../chain/hash.js';
import { transactionSignatureOperations } from '../../chain/signature-operations.js';
import { isCoinbase, spentOutPoints } from '../../chain/transaction.js';
import type { BlockHeader, FullBlock, Transaction } from '../../chain/types.js';
import { equalBytes } from '../../lib/bytes.js';
import { inPieces, type Pieces } from '../../lib/pieces.js';
import { TimeSlices } from '../../lib/time-slices.js';
import type { HasClock } from '../../observability/modules.js';
import {
  assertRule,
  type BlockFault,
  blockFault,
  type ChainRules,
  type ChainTip,
  layoutFault,
  listsFault,
  orderFault,
  placeFault,
  submittedFormFault,
  workFault,
} from './rules.js';
import {
  doubleSpendFault,
  type IsVerified,
  invalid,
  type LedgerView,
  LOOKUP_CHUNK,
  type ScriptVerifier,
  spendingFault,
} from './spending.js';
import { unicornFault } from './unicorn.js';
import { changesBy, type VerifiedBlock, type VerifiedTransaction } from './verified-block.js';

export interface BlockVerifierModules extends HasClock {
  readonly ledger: LedgerView;
  readonly scripts: ScriptVerifier;
  /** True for a transaction that need not be verified again; for none by default. */
  readonly isVerified?: IsVerified;
}

export class BlockVerifier {
  readonly #rules: ChainRules;
  readonly #ledger: LedgerView;
  readonly #scripts: ScriptVerifier;
  readonly #isVerified: IsVerified;
  readonly #slices: TimeSlices;

  constructor(rules: ChainRules, { ledger, scripts, isVerified = () => false, clock }: BlockVerifierModules) {
    this.#rules = rules;
    this.#ledger = ledger;
    this.#scripts = scripts;
    this.#isVerified = isVerified;
    this.#slices = new TimeSlices(clock);
  }

  /** Verifies a block. Throws `block_refused` with the broken rule and the reason. The view must be at the tip, and stay there. */
  async verify(full: FullBlock, tip: ChainTip): Promise<VerifiedBlock> {
    const { header } = full.block;
    const hash = blockHash(header);
    const era = eraAt(this.#rules.genesis.eras, tip.next);
    assertRule(placeFault(header, tip) ?? layoutFault(header, era));
    assertRule((await this.#inPieces(listsFault(full))) ?? workFault(header, this.#rules));
    const listed = tip.next === 0 ? this.#genesis(full) : await this.#formed(full, era);
    const mining = encoded(inBlock(full.miningTransaction, header));
    assertRule(miningNameFault(header, mining) ?? supplyFault(full, tip, this.#rules));
    const transactions = [...listed, mining];
    if (!era.isOriginal) assertRule(await this.#repeatedFault(transactions));
    const wrong = tip.next > 0 ? await this.#spendingFault(listed, tip.next, era) : null;
    // A repeated payment is named as such: that its inputs are spent follows from that.
    if (wrong !== null && !era.isOriginal) assertRule(await this.#repeatedFault(transactions, true));
    assertRule(wrong);
    assertRule(unicornFault(full.block, tip, era));
    const issued = issuedAfter(full, tip, this.#rules);
    const changes = await this.#inPieces(changesBy(transactions, header));
    return { hash, height: tip.next, transactions, issued, isOriginal: header.isOriginal, ...changes };
  }

  #inPieces<T>(work: Pieces<T>): Promise<T> {
    return inPieces(work, () => this.#slices.turn());
  }

  #genesis(full: FullBlock): VerifiedTransaction[] {
    assertRule(genesisFault(full, this.#rules));
    return full.transactions.map((transaction, i) => ({
      hash: full.block.transactions[i] ?? '',
      bytes: encodeTransaction(transaction),
      transaction,
    }));
  }

  /** The transactions, after checks that each is there, hashes to its name, and has a form that can be valid. */
  async #formed({ block, transactions }: FullBlock, era: Era): Promise<VerifiedTransaction[]> {
    const formed: VerifiedTransaction[] = [];
    const budget = new BlockBudget(this.#rules.genesis.blockRules);
    for (const [i, transaction] of transactions.entries()) {
      if (this.#slices.isUsedUp) await this.#slices.turn();
      const one = encoded(inBlock(transaction, block.header));
      const wrong = nameFault(i, block.transactions[i], one) ?? formFault(one, era);
      assertRule(wrong ?? (era.isOriginal ? null : budget.take(one)));
      formed.push(one);
    }
    return formed;
  }

  /**
   * Fault of a hash that is twice in the block, or is in the chain already (decision B6). Original nodes let the same bytes create an item
   * again, and spend it again. Without them a payment cannot be in the chain while its inputs are unspent, so it is looked up with `all` only.
   */
  async #repeatedFault(
    transactions: readonly VerifiedTransaction[],
    all = hasOriginals(this.#rules.genesis.eras),
  ): Promise<BlockFault | null> {
    const hashes = new Set<string>();
    const asked: string[] = [];
    for (const [i, { hash, transaction }] of transactions.entries()) {
      if (i % LOOKUP_CHUNK === 0) await this.#slices.turn();
      if (hashes.has(hash)) return blockFault('duplicate', `transaction ${hash} is in the block twice`);
      hashes.add(hash);
      const isNamed = this.#rules.genesis.transactions.has(hash);
      if (all || isNamed || spentOutPoints(transaction).length === 0) asked.push(hash);
    }
    for (let from = 0; from < asked.length; from += LOOKUP_CHUNK) {
      if (this.#slices.isUsedUp) await this.#slices.turn();
      const [known] = await this.#ledger.knownHashes(asked.slice(from, from + LOOKUP_CHUNK));
      if (known !== undefined) return blockFault('duplicate', `transaction ${known} is in an earlier block`);
    }
    return null;
  }

  /** Fault of the order, the trades and the inputs; issuances are left out: the genesis file sets them, and they spend nothing. */
  async #spendingFault(listed: readonly VerifiedTransaction[], height: number, era: Era): Promise<BlockFault | null> {
    const spending = listed.filter(({ transaction }) => !isCoinbase(transaction));
    const { originalOrder } = this.#rules.genesis.blockRules;
    const disordered = originalOrder && !era.isOriginal ? orderFault(spending) : null;
    const modules = {
      ledger: this.#ledger,
      scripts: this.#scripts,
      isVerified: this.#isVerified,
      slices: this.#slices,
    };
    const wrong = disordered ?? (await this.#inPieces(tradesFault(spending)));
    return (
      wrong ?? (await doubleSpendFault(spending, this.#slices)) ?? (await spendingFault(spending, height, era, modules))
    );
  }
}

function miningNameFault({ miningTxHash }: BlockHeader, { hash }: VerifiedTransaction): BlockFault | null {
  if (hash === miningTxHash) return null;
  return blockFault('mining-transaction', `the header names the coinbase ${miningTxHash}, not ${hash}`);
}

function nameFault(index: number, name: string | undefined, { hash }: VerifiedTransaction): BlockFault | null {
  if (hash === name) return null;
  return blockFault('transactions', `transaction ${index} hashes to ${hash}, not to its name ${name}`);
}

/** Fault that shows without the spent outputs, by the mempool's own rules (decision B6); issuances are not checked. */
function formFault({ hash, bytes, transaction }: VerifiedTransaction, era: Era): BlockFault | null {
  if (isCoinbase(transaction)) return null;
  const wrong = submittedFormFault(transaction, bytes.length, era);
  return wrong === null ? null : invalid(hash, wrong);
}

function encoded(transaction: Transaction): VerifiedTransaction {
  const bytes = encodedBefore(transaction);
  return { hash: transactionHashOfBytes(bytes), bytes, transaction };
}

/** Budget of one block (docs/chain.md#blocks), counted before anything costly is done with a transaction. */
class BlockBudget {
  readonly #limits: BlockLimits;
  #singles = 0;
  #bytes = 0;
  #operations = 0;

  constructor(limits: BlockLimits) {
    this.#limits = limits;
  }

  /** Counts a transaction; returns the fault of a block that is too large then. Issuances are the genesis file's, and not counted. */
  take({ transaction, bytes }: Pick<VerifiedTransaction, 'transaction' | 'bytes'>): BlockFault | null {
    if (isCoinbase(transaction)) return null;
    if (transaction.druidInfo === null) this.#singles += 1;
    this.#bytes += bytes.length;
    this.#operations += transactionSignatureOperations(transaction);
    const { transactions, bytes: most, signatureOperations } = this.#limits;
    if (this.#singles > transactions) return tooMuch('single transactions', transactions);
    if (this.#bytes > most) return tooMuch('bytes of transactions', most);
    return this.#operations > signatureOperations ? tooMuch('signature operations', signatureOperations) : null;
  }
}

function tooMuch(of: string, most: number): BlockFault {
  return blockFault('size', `the block has more than ${most} ${of}`);
}

/** Fault of an incomplete trade: one half must not happen without the other. The members of a set stand side by side. */
function* tradesFault(transactions: readonly VerifiedTransaction[]): Pieces<BlockFault | null> {
  for (let at = 0; at < transactions.length; ) {
    yield;
    const first = transactions[at];
    const info = first?.transaction.druidInfo ?? null;
    if (first === undefined || info === null) {
      at++;
      continue;
    }
    const left = BigInt(transactions.length - at);
    const count = info.participants > 0n && info.participants <= left ? Number(info.participants) : 0;
    const members = transactions.slice(at, at + count).map(({ transaction }) => transaction);
    if (count === 0 || members.some(({ druidInfo }) => druidInfo?.druid !== info.druid)) {
      return blockFault('trade', `the DRUID set of transaction ${first.hash} is not whole`);
    }
    const unfair = druidSetFault(info.druid, members);
    if (unfair !== null) return blockFault('trade', `the DRUID set of transaction ${first.hash}: ${unfair.message}`);
    at += count;
  }
  return null;
}

/** Fault of a block 0 whose transactions have not the names and contents of the genesis file. */
function genesisFault({ block, transactions }: FullBlock, { genesis }: ChainRules): BlockFault | null {
  const expected = [...genesis.transactions];
  const isListed = expected.length === block.transactions.length;
  if (!isListed || expected.some(([name], i) => block.transactions[i] !== name)) {
    return blockFault('genesis', 'block 0 does not list the transactions of the genesis file');
  }
  for (const [i, [name, transaction]] of expected.entries()) {
    const brought = transactions[i];
    if (brought === undefined) return blockFault('genesis', `genesis transaction ${name} is missing`);
    if (!equalBytes(encodeTransaction(brought), encodeTransaction(transaction))) {
      return blockFault('genesis', `genesis transaction ${name} is not the one of the genesis file`);
    }
  }
  return null;
}

/** Raw units issued up to and with this block, if it meets the rules. */
function issuedAfter(full: FullBlock, tip: ChainTip, { genesis }: ChainRules): bigint {
  const before = issuedBefore(full, tip);
  const due = tip.next === 0 ? [] : issuanceTransactions(genesis, full.block.header.bNum);
  return before + blockReward(before, eraAt(genesis.eras, tip.next)) + issuedBy(due);
}

/** Fault of a coinbase that does not pay exactly the reward, or of tokens issued beyond what the genesis file provides. */
function supplyFault(full: FullBlock, tip: ChainTip, rules: ChainRules): BlockFault | null {
  const era = eraAt(rules.genesis.eras, tip.next);
  const wrong = coinbaseFault(full.miningTransaction, BigInt(tip.next), blockReward(issuedBefore(full, tip), era), era);
  if (wrong !== null) return blockFault('mining-transaction', wrong.message);
  const unfounded = tip.next === 0 ? null : issuancesFault(full, rules);
  if (unfounded !== null) return unfounded;
  const isTooMuch = issuedAfter(full, tip, rules) > U64_MAX;
  return isTooMuch ? blockFault('issuance', 'more is issued than amounts can hold') : null;
}

/** Fault of a list that does not end with the issuances that fall due at this block, or that has others. */
function issuancesFault({ block, transactions }: FullBlock, { genesis }: ChainRules): BlockFault | null {
  const due = issuanceTransactions(genesis, block.header.bNum);
  const ordinary = transactions.length - due.length;
  const last = block.transactions.slice(Math.max(ordinary, 0));
  if (ordinary < 0 || due.some((tx, i) => transactionHash(tx) !== last[i])) {
    return blockFault('issuance', `the block does not end in the ${due.length} issuances that fall due`);
  }
  const stranger = transactions.slice(0, ordinary).findIndex(isCoinbase);
  if (stranger < 0) return null;
  const name = block.transactions[stranger];
  return blockFault('issuance', `transaction ${name} issues tokens that the genesis file does not provide`);
}

function issuedBefore({ transactions }: FullBlock, tip: ChainTip): bigint {
  return tip.next === 0 ? issuedBy(transactions) : tip.issued;
}

function issuedBy(transactions: readonly Transaction[]): bigint {
  let issued = 0n;
  for (const { outputs } of transactions) {
    for (const { value } of outputs) if (value.kind === 'token') issued += value.amount;
  }
  return issued;
}
