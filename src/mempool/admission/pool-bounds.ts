/**
 * The bounds of the pool (decision B14): room is reserved before a command is appended, and given back when it is applied. Each is a budget
 * of transactions and bytes:
 *
 * - The whole pool. No fee decides who is served (decision B17), so whoever has any tokens could fill it with payments to itself, chains of
 *   dust, and keep everybody else out for as long as it goes on. Each sender therefore leaves as much of it free as its transactions take.
 *   Requests over loopback, where a proxy may stand, and transactions that the node submits by itself have no share.
 * - A quarter for transactions that wait for the others of their DRUID. They claim no inputs, so that one output backs any number of them.
 * - A quarter, and never more than fits into one block, for transactions without tokens: a payment waits behind at most one block of them.
 *   An item creation spends nothing, and what it makes can be passed on to any number of outputs, so that a stranger without funds makes any
 *   number of them. Their sender leaves as much to others as it takes, from the first on.
 */

import { movesTokens } from '../../chain/transaction.js';
import { type Amount, Budget, type BudgetLimits, sum } from '../../lib/budget.js';
import { TesseraError } from '../../lib/errors.js';
import { isLoopback, LOOPBACK_GROUP } from '../../lib/ip-address.js';
import type { CandidateTx } from '../state/acceptance.js';
import type { MempoolState } from '../state/state.js';

/** The part of the pool that transactions may take while they wait for the others of their DRUID. */
export const DRUID_SHARE = 4;
/** The part of the pool that transactions without tokens may take. */
const TOKENLESS_SHARE = 4;
/** Places for transactions without tokens, however small the pool is: one, and the one that its sender leaves to others. */
const LEAST_TOKENLESS = 2;

export interface PoolBoundsOptions {
  readonly maxTransactions: number;
  readonly maxBytes: number;
}

/** Parts of the state that the bounds look at. */
type PooledState = Pick<
  MempoolState,
  'waiting' | 'waitingDruids' | 'druidSet' | 'tokenless' | 'isReady' | 'waits' | 'rules'
>;

export class PoolBounds {
  readonly #state: PooledState;
  /** Budgets of transactions on their way through the journal: of all, of those that will wait for their DRUID, of those without tokens. */
  readonly #all: Budget;
  readonly #druids: Budget;
  readonly #tokenless: Budget;
  readonly #senders: SentTransactions;
  readonly #tokenlessSenders: SentTransactions;

  constructor(options: PoolBoundsOptions, state: PooledState) {
    const { maxTransactions, maxBytes } = options;
    const { transactions, bytes } = state.rules.block;
    const total = [maxTransactions, maxBytes];
    const maxTokenless = Math.max(LEAST_TOKENLESS, Math.min(maxTransactions / TOKENLESS_SHARE, transactions));
    const tokenless: BudgetLimits = {
      total: [maxTokenless, Math.min(maxBytes / TOKENLESS_SHARE, bytes)],
      share: 'free',
      alsoFirst: true,
      refuse: () => tokenlessFull(maxTokenless),
    };
    this.#state = state;
    this.#all = new Budget({ total, refuse: () => poolFull(options) });
    this.#druids = new Budget({ total: total.map((max) => max / DRUID_SHARE), refuse: druidsFull });
    this.#tokenless = new Budget(tokenless);
    this.#senders = new SentTransactions({ total, share: 'free', refuse: ([own = 0]) => shareFull(own) }, { state });
    // Halves of trades enter the pool when their set is whole, and count for the sender who completed it.
    const arrived = { isReady: (hash: string) => state.isReady(hash), waits: () => false };
    this.#tokenlessSenders = new SentTransactions(tokenless, { state: arrived });
  }

  /** Reserves room; the result gives it back. Throws `mempool_full`. */
  reserve(candidates: readonly CandidateTx[], from = ''): () => void {
    const sender = from === LOOPBACK_GROUP || isLoopback(from) ? '' : from;
    const all = amountOf(candidates);
    const incomplete = this.#incomplete(candidates);
    const druids = amountOf(incomplete);
    const tokenless = [...candidates.filter(({ tx }) => !movesTokens(tx)), ...this.#broughtAlong(candidates)];
    const { waiting, waitingDruids } = this.#state;
    const taken = sum(this.#all.taken, [waiting.count, waiting.bytes]);
    this.#all.check(undefined, all, taken);
    if (incomplete.length > 0)
      this.#druids.check(undefined, druids, sum(this.#druids.taken, [waitingDruids.count, waitingDruids.bytes]));
    this.#checkTokenless(tokenless, from);
    if (sender !== '') this.#senders.check(candidates, sender, taken);
    const releases = [this.#all.add(undefined, all)];
    if (incomplete.length > 0) releases.push(this.#druids.add(undefined, druids));
    if (tokenless.length > 0) {
      releases.push(this.#tokenless.add(undefined, amountOf(tokenless)), this.#tokenlessSenders.add(tokenless, from));
    }
    if (sender !== '') releases.push(this.#senders.add(candidates, sender));
    return () => {
      for (const release of releases) release();
    };
  }

  #checkTokenless(tokenless: readonly SizedTx[], sender: string): void {
    if (tokenless.length === 0) return;
    const { count, bytes } = this.#state.tokenless;
    this.#tokenlessSenders.check(tokenless, sender, sum(this.#tokenless.taken, [count, bytes]));
  }

  /** Candidates that will wait for others of their DRUID set; a set that the candidates complete does not wait. */
  #incomplete(candidates: readonly CandidateTx[]): readonly CandidateTx[] {
    const brought = druidsOf(candidates);
    return candidates.filter(({ tx }) => {
      if (tx.druidInfo === null) return false;
      const { druid, participants } = tx.druidInfo;
      const set = this.#state.druidSet(druid);
      return BigInt((set?.members.length ?? 0) + (brought.get(druid) ?? 0)) < (set?.participants ?? participants);
    });
  }

  /** Members without tokens of DRUID sets that the candidates complete: they come into the pool together. */
  #broughtAlong(candidates: readonly CandidateTx[]): readonly SizedTx[] {
    return [...druidsOf(candidates)].flatMap(([druid, count]) => {
      const set = this.#state.druidSet(druid);
      return set !== undefined && BigInt(set.members.length + count) >= set.participants ? set.tokenless : [];
    });
  }
}

/** Number of candidates for each DRUID. */
export function druidsOf(candidates: readonly CandidateTx[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { tx } of candidates)
    if (tx.druidInfo !== null) counts.set(tx.druidInfo.druid, (counts.get(tx.druidInfo.druid) ?? 0) + 1);
  return counts;
}

function poolFull({ maxTransactions, maxBytes }: PoolBoundsOptions): TesseraError {
  return new TesseraError(
    'mempool_full',
    `the pool is full: it takes ${maxTransactions} transactions and ${maxBytes} bytes; try again after the next block`,
  );
}

function druidsFull(): TesseraError {
  return new TesseraError(
    'mempool_full',
    'too many DRUID transactions wait for the others of their sets; try again later, or submit the whole set together',
  );
}

/** Error of the whole pool when it fills up: tells the sender how many transactions in it are his. */
function shareFull(own: number): TesseraError {
  return new TesseraError(
    'mempool_full',
    `the pool fills up, and ${own} transactions of yours are in it: one sender leaves as much of it to others as it takes; try again after the next block`,
  );
}

function tokenlessFull(max: number): TesseraError {
  return new TesseraError(
    'mempool_full',
    `too many transactions without tokens (item creations and transfers) wait for a block; at most ${Math.floor(max / 2)} of one sender do; try again after the next block`,
  );
}

interface Sent {
  readonly forget: () => void;
  isOnItsWay: boolean;
}

export interface SentTransactionsModules {
  /** Tells whether a transaction is in the pool, or is waited for there. */
  readonly state: { isReady(hash: string): boolean; waits(hash: string): boolean };
}

/** The most transactions waiting for their DRUID that one look passes over. */
const MAX_PASSED_OVER = 1_024;

/** Transactions of each sender in the pool or on their way there, oldest first; given back when they leave the pool. */
export class SentTransactions {
  readonly #budget: Budget;
  readonly #state: SentTransactionsModules['state'];
  /** Transactions by hash, in the order of coming and leaving; members of incomplete sets move to the end. */
  readonly #sent = new Map<string, Sent>();

  constructor(limits: BudgetLimits, { state }: SentTransactionsModules) {
    this.#budget = new Budget(limits);
    this.#state = state;
  }

  /** Throws the error of the budget when it has no room for transactions of a sender. `taken`: what else is not free. */
  check(transactions: readonly SizedTx[], sender: string | undefined, taken: Amount): void {
    this.#forgetTheFirst();
    this.#budget.check(sender, amountOf(transactions), taken);
  }

  /** Counts transactions; the result is to be called when they have arrived in the pool, or were refused. */
  add(transactions: readonly SizedTx[], sender: string | undefined): () => void {
    for (const one of transactions) {
      this.#forget(one.hash);
      this.#sent.set(one.hash, { forget: this.#budget.add(sender, amountOf([one])), isOnItsWay: true });
    }
    return () => {
      for (const { hash } of transactions) this.#arrived(hash);
    };
  }

  #arrived(hash: string): void {
    const sent = this.#sent.get(hash);
    if (sent === undefined) return;
    sent.isOnItsWay = false;
    if (!this.#state.isReady(hash) && !this.#state.waits(hash)) this.#forget(hash);
  }

  /** Forgets the first transactions, as far as they went into a block. */
  #forgetTheFirst(): void {
    const passedOver = new Set<string>();
    for (const [hash, sent] of this.#sent) {
      if (sent.isOnItsWay || this.#state.isReady(hash) || passedOver.has(hash)) return;
      if (!this.#state.waits(hash)) {
        this.#forget(hash);
        continue;
      }
      // A transaction that waits for its DRUID may do so for long, and holds up nobody behind it.
      if (passedOver.size === MAX_PASSED_OVER) return;
      passedOver.add(hash);
      this.#sent.delete(hash);
      this.#sent.set(hash, sent);
    }
  }

  #forget(hash: string): void {
    this.#sent.get(hash)?.forget();
    this.#sent.delete(hash);
  }
}

type SizedTx = Pick<CandidateTx, 'hash' | 'bytes'>;

function amountOf(transactions: readonly SizedTx[]): Amount {
  return [transactions.length, transactions.reduce((sum, { bytes }) => sum + bytes.length, 0)];
}
