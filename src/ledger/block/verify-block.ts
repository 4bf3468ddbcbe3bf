/**
 * The rules that a block must meet before it is stored or adopted (docs/chain.md#blocks), whoever brings it: it is the next
 * one, it follows the last one, its header binds its list of transactions, the proof of work is there, every transaction is
 * present, hashes to its name and is valid, what they spend is unspent, and tokens and items come into being only as the
 * chain provides. What the chain holds so far is asked of a `LedgerView`.
 *
 * Not checked here: the exact difficulty target. It follows from the number of all winning proofs (chain/asert.ts), losers
 * included, which no block carries; so the target is held to its form and to the maximum only.
 */

import type { BlockLimits } from '../../chain/block-rules.js';
import { encodeTransaction, inBlock } from '../../chain/codec.js';
import { type Era, eraAt } from '../../chain/eras.js';
import { blockHash, transactionHashOfBytes } from '../../chain/hash.js';
import { transactionSignatureOperations } from '../../chain/signature-operations.js';
import { isCoinbase } from '../../chain/transaction.js';
import type { BlockHeader, FullBlock, Transaction } from '../../chain/types.js';
import type { Clock } from '../../lib/clock.js';
import { inPieces, type Pieces } from '../../lib/pieces.js';
import { TimeSlices } from '../../lib/time-slices.js';
import { submittedFormFault } from './form.js';
import { genesisFault, issuedAfter, supplyFault } from './issuance.js';
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
import { tradesFault } from './trades.js';
import { unicornFault } from './unicorn.js';
import { changesBy, type VerifiedBlock, type VerifiedTransaction } from './verified-block.js';

export interface BlockVerifierModules {
  readonly ledger: LedgerView;
  readonly scripts: ScriptVerifier;
  /** Tells what need not be verified again; nothing by default. */
  readonly isVerified?: IsVerified;
  readonly clock: Clock;
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

  /** Throws `block_refused` with the rule and what is wrong. The view must be at the tip, and stay there. */
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
    assertRule(await this.#repeatedFault(transactions));
    if (tip.next > 0) assertRule(await this.#spendingFault(listed, tip.next, era));
    assertRule(unicornFault(full.block, tip, era));
    const issued = issuedAfter(full, tip, this.#rules);
    const changes = await this.#inPieces(changesBy(transactions));
    return { hash, height: tip.next, transactions, issued, ...changes };
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

  /** Every transaction is there, hashes to its name, and has a form that can be valid. */
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

  /** A hash has one meaning: none twice in the block, none that is in the chain (decision B6). */
  async #repeatedFault(transactions: readonly VerifiedTransaction[]): Promise<BlockFault | null> {
    const hashes = new Set<string>();
    for (const [i, { hash }] of transactions.entries()) {
      if (i % LOOKUP_CHUNK === 0) await this.#slices.turn();
      if (hashes.has(hash)) return blockFault('duplicate', `transaction ${hash} is in the block twice`);
      hashes.add(hash);
    }
    const all = [...hashes];
    for (let from = 0; from < all.length; from += LOOKUP_CHUNK) {
      if (this.#slices.isUsedUp) await this.#slices.turn();
      const [known] = await this.#ledger.knownHashes(all.slice(from, from + LOOKUP_CHUNK));
      if (known !== undefined) return blockFault('duplicate', `transaction ${known} is in an earlier block`);
    }
    return null;
  }

  /** Issuances are those that the genesis file sets for this block, and spend nothing. */
  async #spendingFault(listed: readonly VerifiedTransaction[], height: number, era: Era): Promise<BlockFault | null> {
    const spending = listed.filter(({ transaction }) => !isCoinbase(transaction));
    const { originalOrder } = this.#rules.genesis.blockRules;
    if (originalOrder && !era.isOriginal) assertRule(orderFault(spending));
    const modules = {
      ledger: this.#ledger,
      scripts: this.#scripts,
      isVerified: this.#isVerified,
      slices: this.#slices,
    };
    const wrong = (await this.#inPieces(tradesFault(spending))) ?? (await doubleSpendFault(spending, this.#slices));
    return wrong ?? (await spendingFault(spending, height, era, modules));
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

/**
 * Fault that shows without knowing what is spent, by the mempool's own rules (decision B6). Issuances are judged elsewhere.
 */
function formFault({ hash, bytes, transaction }: VerifiedTransaction, era: Era): BlockFault | null {
  if (isCoinbase(transaction)) return null;
  const wrong = submittedFormFault(transaction, bytes.length, era);
  return wrong === null ? null : invalid(hash, wrong);
}

function encoded(transaction: Transaction): VerifiedTransaction {
  const bytes = encodeTransaction(transaction);
  return { hash: transactionHashOfBytes(bytes), bytes, transaction };
}

/**
 * Budget of one block's transactions: single transactions, bytes, signature operations (docs/chain.md#blocks). The numbers
 * are the network's, and the mempool cuts by them. Each transaction is counted before anything costly is done with it.
 */
class BlockBudget {
  readonly #limits: BlockLimits;
  #singles = 0;
  #bytes = 0;
  #operations = 0;

  constructor(limits: BlockLimits) {
    this.#limits = limits;
  }

  /** Counts a transaction in; what is wrong with the block then. Issuances are the genesis file's, and cost nothing. */
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
