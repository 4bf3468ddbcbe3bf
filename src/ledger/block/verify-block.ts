/**
 * The rules that a block must meet before it is stored or adopted (docs/chain.md#blocks), whoever brings it: it is the next
 * one, it follows the last one, its header binds its list of transactions, the proof of work is there, every transaction is
 * present, hashes to its name and is valid, what they spend is unspent, and tokens and items come into being only as the
 * chain provides. What the chain holds so far is asked of a `LedgerView`.
 *
 * Not checked here: the exact difficulty target. It follows from the number of all winning proofs (chain/asert.ts), losers
 * included, which no block carries; so the target is held to its form and to the maximum only.
 */

import { encodeTransaction } from '../../chain/codec.js';
import { blockHash, transactionHashOfBytes } from '../../chain/hash.js';
import { blockSignatureBudgetFault } from '../../chain/signature-operations.js';
import { isCoinbase } from '../../chain/transaction.js';
import type { FullBlock, OutPoint, Transaction } from '../../chain/types.js';
import type { Clock } from '../../lib/clock.js';
import { TimeSlices } from '../../lib/time-slices.js';
import { submittedFormFault } from './form.js';
import { checkGenesis, checkSupply } from './issuance.js';
import { type ChainRules, type ChainTip, checkLists, checkPlace, checkWork, refused } from './rules.js';
import { checkSpending, type LedgerView, notValid, type ScriptVerifier, spentBy } from './spending.js';
import { checkTrades } from './trades.js';
import { createdBy, type VerifiedBlock, type VerifiedTransaction } from './verified-block.js';

export interface BlockVerifierModules {
  readonly ledger: LedgerView;
  readonly scripts: ScriptVerifier;
  readonly clock: Clock;
}

export class BlockVerifier {
  readonly #rules: ChainRules;
  readonly #ledger: LedgerView;
  readonly #scripts: ScriptVerifier;
  readonly #slices: TimeSlices;

  constructor(rules: ChainRules, { ledger, scripts, clock }: BlockVerifierModules) {
    this.#rules = rules;
    this.#ledger = ledger;
    this.#scripts = scripts;
    this.#slices = new TimeSlices(clock);
  }

  /** Throws `block_refused` with the rule and what is wrong. The view must stand behind the tip, and stay there. */
  async verify(full: FullBlock, tip: ChainTip): Promise<VerifiedBlock> {
    const { header } = full.block;
    const hash = blockHash(header);
    checkPlace(header, hash, tip, this.#rules);
    checkLists(full);
    checkWork(header, this.#rules);
    const listed = tip.next === 0 ? this.#genesis(full) : await this.#formed(full);
    const mining = encoded(full.miningTransaction);
    if (mining.hash !== header.miningTxHash) {
      throw refused(
        'mining-transaction',
        `the header names the mining transaction ${header.miningTxHash}, not ${mining.hash}`,
      );
    }
    const issued = checkSupply(full, tip, this.#rules);
    const transactions = [...listed, mining];
    await this.#checkNew(transactions);
    const spent = tip.next === 0 ? [] : await this.#checkSpent(listed, tip.next);
    return { hash, height: tip.next, transactions, issued, spent, created: createdBy(transactions) };
  }

  #genesis(full: FullBlock): VerifiedTransaction[] {
    return checkGenesis(full, this.#rules).map(([hash, transaction]) => ({
      hash,
      bytes: encodeTransaction(transaction),
      transaction,
    }));
  }

  /** Every transaction is there, hashes to its name, and has a form that can be valid. */
  async #formed({ block, transactions }: FullBlock): Promise<VerifiedTransaction[]> {
    const formed: VerifiedTransaction[] = [];
    for (const [i, name] of block.transactions.entries()) {
      await this.#slices.turn();
      const transaction = transactions[i];
      if (transaction === undefined) throw refused('transactions', `transaction ${name} is missing`);
      const one = encoded(transaction);
      if (one.hash !== name)
        throw refused('transactions', `transaction ${i} hashes to ${one.hash}, not to its name ${name}`);
      checkForm(one);
      formed.push(one);
    }
    const costly = blockSignatureBudgetFault(transactions);
    if (costly !== null) throw refused('transactions', costly.message);
    return formed;
  }

  /** A hash has one meaning: none twice in the block, none that is in the chain (decision B6). */
  async #checkNew(transactions: readonly VerifiedTransaction[]): Promise<void> {
    const hashes = new Set<string>();
    for (const { hash } of transactions) {
      if (hashes.has(hash)) throw refused('duplicate', `transaction ${hash} is in the block twice`);
      hashes.add(hash);
    }
    const [known] = await this.#ledger.knownHashes([...hashes]);
    if (known !== undefined) throw refused('duplicate', `transaction ${known} is in an earlier block`);
  }

  /** Issuances are those that the genesis file sets for this block, and spend nothing. */
  async #checkSpent(listed: readonly VerifiedTransaction[], height: number): Promise<OutPoint[]> {
    const spending = listed.filter(({ transaction }) => !isCoinbase(transaction));
    checkTrades(spending);
    const spent = spentBy(spending);
    await checkSpending(spending, height, spent, {
      ledger: this.#ledger,
      scripts: this.#scripts,
      slices: this.#slices,
    });
    return spent;
  }
}

/** What can be told without knowing what is spent, by the mempool's own rules (decision B6). Issuances are judged elsewhere. */
function checkForm({ hash, transaction }: VerifiedTransaction): void {
  if (isCoinbase(transaction)) return;
  const fault = submittedFormFault(transaction);
  if (fault !== null) throw notValid(hash, fault);
}

function encoded(transaction: Transaction): VerifiedTransaction {
  const bytes = encodeTransaction(transaction);
  return { hash: transactionHashOfBytes(bytes), bytes, transaction };
}
